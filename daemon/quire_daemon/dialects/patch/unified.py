"""Parser of unified diffs, as written by `diff -u` and `git diff`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from quire_daemon.dialects.patch.model import (
    ANY_LINES,
    BEGIN,
    END,
    HUNK,
    NO_NEWLINE,
    FilePatch,
    Line,
    PatchHunk,
    PatchLines,
    fail,
    open_last,
    quoted,
    require_one_end,
    sent,
    start_of,
)
from quire_journal.model import journal_path

_NULL: Final = "/dev/null"
_EXTENDED: Final = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index"
    r"|dissimilarity index|index) ?(.*)",
    re.DOTALL,
)
_SIGNATURE: Final = re.compile(r"-- ?")
_BETWEEN: Final = re.compile(r"(Index: |=====|diff )")
_NO_NUMBERS: Final = f"in the envelope of `{BEGIN}` hunks need no numbers"
_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


class UnifiedParser:
    def __init__(self, lines: PatchLines) -> None:
        self.lines = lines
        self.index = 0

    def files(self) -> tuple[FilePatch, ...]:
        while self.index < len(self.lines) and not self._file_begins():
            if self._line().startswith(("@@ ", "@@@ ")):
                fail(self.index + 1, "the hunk belongs to no file: `--- old` and `+++ new` come first.")
            if self._line().strip() == BEGIN:
                message = (
                    f"a patch begins with `{BEGIN}`, which is line {self.index + 1} of this; leave out what stands"
                )
                fail(1, f"{message} before it and behind `{END}`.", expected=BEGIN)
            self.index += 1
        if self.index >= len(self.lines):
            fail(1, f"this is neither a patch (`{BEGIN}`) nor a unified diff (`--- old`, `+++ new`).", expected=BEGIN)
        found: list[FilePatch] = []
        while self._next_file():
            found.append(self._git_file() if self._line().startswith("diff --git ") else self._plain_file())
        return tuple(found)

    def _line(self, ahead: int = 0) -> str:
        return self.lines.at(self.index + ahead)

    def _file_begins(self) -> bool:
        return self._line().startswith("diff --git ") or self._names_follow()

    def _names_follow(self) -> bool:
        return self._line().startswith("--- ") and self._line(1).startswith("+++ ")

    def _next_file(self) -> bool:
        """Advance to the next file, past blank lines and a mail signature; False at the end of the patch. Raises
        `Refusal` for other lines.
        """
        while self.index < len(self.lines) and not self._file_begins():
            line = self._line()
            if _SIGNATURE.fullmatch(line):
                self._skip_signature()
            elif line.strip() and not _BETWEEN.match(line):
                if line[0] in " +-\\":
                    fail(self.index + 1, f"the hunk before it has more lines than its header says; {_NO_NUMBERS}.")
                fail(self.index + 1, f"a file or a hunk was expected, not {quoted(line)}.")
            else:
                self.index += 1
        return self.index < len(self.lines)

    def _skip_signature(self) -> None:
        while self.index < len(self.lines):
            if self._file_begins():
                fail(self.index + 1, "another patch begins; send one at a time.")
            self.index += 1

    def _plain_file(self) -> FilePatch:
        number = self.index + 1
        old, new = self._names()
        if old.startswith("a/") and new.startswith("b/"):
            old, new = old[2:], new[2:]
        elif old == _NULL:
            new = new.removeprefix("b/")
        elif new == _NULL:
            old = old.removeprefix("a/")
        if old != new and _NULL not in (old, new):
            message = f"{quoted(old)} and {quoted(new)}: it is not said which file is meant, or that it is renamed."
            fail(number, message)
        return _put_together(number, old, new, tuple(self._hunks()), executable=False)

    def _git_file(self) -> FilePatch:
        number = self.index + 1
        said = self._line().removeprefix("diff --git ")
        self.index += 1
        extended: dict[str, str] = {}
        while (found := _EXTENDED.fullmatch(self._line())) is not None and self.index < len(self.lines):
            extended[found[1]] = found[2].rstrip()
            self.index += 1
        self._require_known(extended)
        if self._line().startswith(("GIT binary patch", "Binary files ")):
            fail(self.index + 1, "changes of binary files are not made.")
        old, new = self._git_names(number, said, extended)
        hunks = tuple(self._hunks())
        return _put_together(number, old, new, hunks, extended.get("new file mode") == "100755")

    def _require_known(self, extended: dict[str, str]) -> None:
        if "copy from" in extended:
            fail(self.index, "copies are not made; add the file with its content.")
        if "new mode" in extended:
            fail(self.index, "modes are not changed by a patch.")
        for key in ("new file mode", "deleted file mode"):
            if extended.get(key, "100644")[:3] != "100":
                fail(self.index, "links and submodules are not made or removed by a patch.")

    def _git_names(self, number: int, said: str, extended: dict[str, str]) -> tuple[str, str]:
        names = self._names() if self._names_follow() else None
        if "rename from" in extended and "rename to" in extended:
            return _unquoted(extended["rename from"]), _unquoted(extended["rename to"])
        old, new = self._of_the_header(said, number) if names is None or _NULL in names else names
        prefixed = old[1:2] == new[1:2] == "/" and old[0] != new[0] and old[2:] == new[2:]
        old, new = (old[2:], new[2:]) if prefixed else (old, new)
        if old != new:
            fail(number, f"{quoted(old)} becomes {quoted(new)}, but no `rename from` and `rename to` says so.")
        added = "new file mode" in extended or (names is not None and names[0] == _NULL)
        removed = "deleted file mode" in extended or (names is not None and names[1] == _NULL)
        return _NULL if added else old, _NULL if removed else new

    def _of_the_header(self, said: str, number: int) -> tuple[str, str]:
        both = re.fullmatch(r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")', said)
        if both is not None:
            return _unquoted(both[1]), _unquoted(both[2])
        half, odd = divmod(len(said), 2)
        old, new = said[:half], said[half + 1 :]
        if not odd or said[half] != " " or old.split("/")[1:] != new.split("/")[1:]:
            fail(number, f"the names in {quoted(said)} cannot be told apart.")
        return old, new

    def _names(self) -> tuple[str, str]:
        found = []
        for _ in range(2):
            name = _unquoted(self._line()[4:].split("\t")[0].rstrip())
            if not name:
                fail(self.index + 1, "there is no name.")
            found.append(name)
            self.index += 1
        return found[0], found[1]

    def _hunks(self) -> Iterator[PatchHunk]:
        while self._line().startswith("@@"):
            yield self._hunk()

    def _hunk(self) -> PatchHunk:
        number = self.index + 1
        if ANY_LINES.fullmatch(self._line()):
            return self._hunk_without_numbers(number)
        header = HUNK.match(self._line())
        if header is None:
            message = f"the header of a hunk is `@@ -1,3 +1,4 @@`, not {quoted(self._line())}"
            fail(number, f"{message}; {_NO_NUMBERS}.")
        left = {"-": int(header[2] or 1), "+": int(header[4] or 1)}
        self.index += 1
        lines: list[Line] = []
        while left["-"] or left["+"] or self._line().startswith(NO_NEWLINE):
            if self.index >= len(self.lines):
                fail(number, f"the hunk has fewer lines than its header says; {_NO_NUMBERS}.")
            raw = self.lines.raw[self.index]
            mark = chr(raw[0]) if raw else " "
            if mark == "\\":
                open_last(lines, self.index + 1)
            else:
                self._count(mark, left, number)
                lines += sent(mark, raw[1:])
            self.index += 1
        require_one_end(lines, number)
        return PatchHunk(number, tuple(lines), start=start_of(header))

    def _hunk_without_numbers(self, number: int) -> PatchHunk:
        self.index += 1
        lines: list[Line] = []
        kept = 0
        while self.index < len(self.lines) and not self._line().startswith("@@") and not self._file_begins():
            raw = self.lines.raw[self.index]
            mark = chr(raw[0]) if raw else " "
            if mark == "\\":
                open_last(lines, self.index + 1)
            elif mark in " +-":
                lines += sent(mark, raw[1:])
            else:
                break
            kept = len(lines) if raw else kept
            self.index += 1
        del lines[kept:]
        if all(line.mark == " " for line in lines):
            fail(number, "the hunk has no line that begins with `+` or `-`.")
        require_one_end(lines, number)
        return PatchHunk(number, tuple(lines))

    def _count(self, mark: str, left: dict[str, int], number: int) -> None:
        for side in {" ": "-+", "-": "-", "+": "+"}.get(mark, ""):
            left[side] -= 1
            if left[side] < 0:
                message = f"the hunk at line {number} has other numbers of lines than its header says"
                fail(self.index + 1, f"{message}; {_NO_NUMBERS}.")
        if mark not in " +-":
            message = (
                f"the hunk at line {number} has fewer lines than its header says, and {quoted(self._line())} is none"
            )
            fail(self.index + 1, f"{message}; {_NO_NUMBERS}.")


def _put_together(number: int, old: str, new: str, hunks: tuple[PatchHunk, ...], executable: bool) -> FilePatch:
    if old == new == _NULL:
        fail(number, "there is no name.")
    if old == _NULL:
        content = b"".join(line.text + line.ends for hunk in hunks for line in hunk.lines)
        if len(hunks) > 1 or any(line.old for hunk in hunks for line in hunk.lines):
            fail(number, f"{new} is new, but the hunk has lines that were there before.")
        return FilePatch("add", journal_path(new), number, content=content, executable=executable, unified=True)
    if new == _NULL:
        if any(line.new for hunk in hunks for line in hunk.lines):
            fail(number, f"{old} is removed, but the hunk has lines that stay.")
        return FilePatch("delete", journal_path(old), number, hunks=hunks, unified=True)
    if old == new and not hunks:
        fail(number, f"the change of {old} has no hunk.", expected="@@ -1,3 +1,3 @@")
    old, new = journal_path(old), journal_path(new)
    to = new if new != old else ""
    numbered = not hunks or any(hunk.start is not None for hunk in hunks)
    return FilePatch("move" if to else "update", old, number, to, hunks, unified=numbered)


def _unquoted(name: str) -> str:
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = re.sub(rb"\\([0-7]{3}|.)", _unescape, name[1:-1].encode())
    return raw.decode("utf-8", "surrogateescape")


def _unescape(found: re.Match[bytes]) -> bytes:
    said = found[1].decode("latin-1")
    return bytes([int(said, 8) & 255 if len(said) > 1 else _ESCAPES.get(said, ord(said))])
