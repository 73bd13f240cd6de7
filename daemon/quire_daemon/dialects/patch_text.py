"""Patches as text: the `*** Begin Patch` envelope and unified diffs, read into one value per file.

Nothing is known of any file in here, and nothing is repaired: a line that has no meaning at its place is a
`patch_parse_error` with its number in the patch. What a patch means for a text is said in `apply_patch.py`.

As in the first tool that took such envelopes, there may be blanks around the lines that begin and end one and around
those that begin a file (below an update, a line behind a blank is one of the file), and a here-document around it all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal, NoReturn

import msgspec
from msgspec.structs import replace

from quire_journal.ids import journal_path
from quire_journal.refusals import Refused
from quire_journal.text import BOM, Text

Kind = Literal["add", "update", "delete", "move"]

QUOTED_CHARS: Final = 60
"""How much of a line a refusal quotes."""


class Line(msgspec.Struct, frozen=True):
    """A line of a hunk, which is one of the file, too: what a lone CR ends is a line."""

    mark: str  # " ", "-" or "+"
    text: bytes
    ends: bytes  # its break in the patch; b"" where the patch says that there is none

    @property
    def old(self) -> bool:
        """Is it a line of the file before?"""
        return self.mark != "+"

    @property
    def new(self) -> bool:
        """Is it a line of the file afterwards?"""
        return self.mark != "-"


class Hunk(msgspec.Struct, frozen=True):
    """Lines that stand together in a file, and what becomes of them."""

    number: int  # of its first line in the patch, 1-based
    lines: tuple[Line, ...]
    headers: tuple[str, ...] = ()  # texts behind `@@`: lines that it stands under
    at_end: bool = False  # `*** End of File`
    start: int | None = None  # the line (0-based) of the file before at which it stands, as its header says

    @property
    def old(self) -> list[Line]:
        """The lines of the file before."""
        return [line for line in self.lines if line.old]

    @property
    def new(self) -> list[Line]:
        """The lines of the file afterwards."""
        return [line for line in self.lines if line.new]

    @property
    def opens(self) -> bool:
        """Does it say of its last line, before or afterwards, that it has no break?"""
        return any(not line.ends for line in self.lines)


class FilePatch(msgspec.Struct, frozen=True):
    """What a patch does to one file."""

    kind: Kind
    path: str
    number: int  # of the line in the patch that begins it, 1-based
    to: str = ""  # the new name, of a "move"
    hunks: tuple[Hunk, ...] = ()
    content: bytes = b""  # of an "add"
    executable: bool = False  # of an "add"
    unified: bool = False  # the line ends of its lines are those of the file; a "delete" names all lines

    @property
    def paths(self) -> tuple[str, ...]:
        """The names that it touches."""
        return (self.path, self.to) if self.to else (self.path,)


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """The files that `patch` is about, in its order. Raises `Refused("patch_parse_error")`."""
    lines = _Lines(patch)
    lines.unwrap()
    first = lines.first_filled()
    begins = lines.at(first)
    if begins.strip() == _BEGIN or begins.startswith("***"):
        return _Envelope(lines).files(first)
    return _Unified(lines).files()


class _Lines:
    """The lines of a patch. Where its own lines end with CRLF, the CR is not part of any."""

    def __init__(self, patch: str) -> None:
        self.raw = patch.encode().split(b"\n")
        if not self.raw[-1]:
            self.raw.pop()
        own = next((line for line in self.raw if line.startswith(_OWN_LINES)), b"")
        if own.endswith(b"\r"):
            self.raw = [line.removesuffix(b"\r") for line in self.raw]

    def __len__(self) -> int:
        return len(self.raw)

    def at(self, index: int) -> str:
        """Line `index` (0-based); "" behind the end."""
        return self.raw[index].decode() if index < len(self.raw) else ""

    def blank(self, index: int) -> bool:
        """Is there nothing on that line?"""
        return not self.raw[index].strip()

    def unwrap(self) -> None:
        """Leave out the first and the last line of a here-document; the others keep their numbers."""
        filled = [index for index in range(len(self)) if not self.blank(index)]
        if len(filled) > 1 and _HEREDOC.fullmatch(self.at(filled[0])) and self.at(filled[-1]).strip() == "EOF":
            self.raw[filled[0]] = self.raw[filled[-1]] = b""

    def last_filled(self) -> int:
        """The last line that is not blank; there is one."""
        return next(index for index in reversed(range(len(self))) if not self.blank(index))

    def first_filled(self) -> int:
        """The first line that is not blank."""
        found = next((index for index in range(len(self)) if not self.blank(index)), None)
        if found is None:
            _fail(1, "it is empty.")
        return found


def _sent(mark: str, text: bytes) -> list[Line]:
    """The lines of the file that a line of the patch stands for: several, where it holds a lone CR."""
    if b"\r" not in text and not text.startswith(BOM):
        return [Line(mark, text, b"\n")]
    split = Text.of(text + b"\n")
    texts = list(split.lines)
    if split.bom:
        texts[0] = BOM + texts[0]
    return [Line(mark, line, ends) for line, ends in zip(texts, split.breaks, strict=True)]


def _fail(number: int, message: str, **details: object) -> NoReturn:
    raise Refused("patch_parse_error", f"Line {number} of the patch: {message}", "fix_patch", line=number, **details)


def _quoted(line: str) -> str:
    return repr(line if len(line) <= QUOTED_CHARS else line[:QUOTED_CHARS] + "…")


_NO_NEWLINE: Final = "\\ "
"""How the line begins that says that the one before it has no break (diff translates the rest)."""


# ── the envelope ─────────────────────────────────────────────────────────────

_HEREDOC: Final = re.compile(r"""\s*<<(EOF|'EOF'|"EOF")\s*""")
_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_MOVE_TO: Final = "*** Move to:"
_SECTION: Final = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move File):(.*)", re.DOTALL)
_ARROW: Final = " -> "
_OWN_LINES: Final = (b"*** ", b"diff --git ", b"--- ", b"+++ ", b"@@")


class _Envelope:
    """Reads `*** Begin Patch` … `*** End Patch`."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.index = 0
        last = lines.last_filled()
        self.end = last if lines.at(last).strip() == _END else None

    def files(self, first: int) -> tuple[FilePatch, ...]:
        if self.lines.at(first).strip() != _BEGIN:
            _fail(first + 1, f"a patch begins with `{_BEGIN}`, not {_quoted(self.lines.at(first))}.", expected=_BEGIN)
        self.index = first + 1
        found: list[FilePatch] = []
        while not self._ended():
            found.append(self._file())
        if not found:
            _fail(first + 1, "there is no file in the patch.", expected="*** Update File: path")
        for index in range(self.index + 1, len(self.lines)):
            if not self.lines.blank(index):
                _fail(index + 1, f"nothing follows `{_END}`, but there is {_quoted(self.lines.at(index))}.")
        return tuple(found)

    def _line(self) -> str:
        return self.lines.at(self.index)

    def _more(self) -> bool:
        """Is there another line before the next one that begins with `***`?"""
        if self.index >= len(self.lines):
            _fail(len(self.lines), f"the patch stops without `{_END}`.", expected=_END)
        return self.index != self.end and not self.lines.raw[self.index].startswith(b"***")

    def _skip_blank(self) -> None:
        while self.index < len(self.lines) and self.lines.blank(self.index):
            self.index += 1

    def _ended(self) -> bool:
        self._skip_blank()
        return not self._more() and self._line().strip() == _END

    def _file(self) -> FilePatch:
        number = self.index + 1
        section = _SECTION.fullmatch(self._line().strip())
        if section is None:
            _fail(number, f"a file begins with `*** Update File: path` or the like, not {_quoted(self._line())}.")
        name, path = section[1], section[2].strip()
        to = ""
        if name == "Move File":
            path, arrow, to = (part.strip() for part in path.partition(_ARROW))
            if not arrow or not to:
                _fail(number, "it is `*** Move File: old -> new`.", expected="->")
        if not path:
            _fail(number, f"`*** {name}:` names no path.")
        self.index += 1
        if name == "Add File":
            return FilePatch("add", path, number, content=self._content())
        if name == "Delete File":
            self._nothing_more(name)
            return FilePatch("delete", path, number)
        if name == "Update File" and self._line().startswith(_MOVE_TO):
            to = self._line()[len(_MOVE_TO) :].strip()
            if not to:
                _fail(self.index + 1, f"`{_MOVE_TO}` names no path.")
            self.index += 1
        hunks = tuple(self._hunks())
        if not hunks and not to:
            _fail(number, f"the update of {path} has no hunk.", expected="@@")
        return FilePatch("move" if to else "update", path, number, to, hunks)

    def _content(self) -> bytes:
        """The lines of a new file."""
        made = bytearray()
        open_ended = False
        while self._more() and not self.lines.blank(self.index):
            raw = self.lines.raw[self.index]
            if raw.startswith(b"\\ ") and made and not open_ended:
                del made[-1]
                open_ended = True
            elif raw.startswith(b"+") and not open_ended:
                made += raw[1:] + b"\n"
            else:
                break
            self.index += 1
        if self._line().rstrip() == _END_OF_FILE:
            self.index += 1
        self._nothing_more("Add File")
        return bytes(made)

    def _nothing_more(self, name: str) -> None:
        self._skip_blank()
        if self._more() and not _SECTION.fullmatch(self._line().strip()):
            what = "every line of a new file begins with `+`" if name == "Add File" else f"`*** {name}` has no lines"
            _fail(self.index + 1, f"{what}; this is {_quoted(self._line())}.")

    def _hunks(self) -> Iterator[Hunk]:
        self._skip_blank()
        while self._more():
            yield self._hunk()
            self._skip_blank()

    def _hunk(self) -> Hunk:
        number = self.index + 1
        headers: list[str] = []
        start: int | None = None
        while self._more() and self._line().startswith("@@"):
            told = self._line()[2:].strip()
            numbers = _HUNK.match(self._line())
            if numbers is not None:
                start = _start(numbers)
            elif told:
                headers.append(told)
            self.index += 1
            if not told:
                break
        lines: list[Line] = []
        blank_end = 0  # lines at the end that have not even a mark: they part this hunk from what follows
        while self._more() and not self.lines.raw[self.index].startswith(b"@@"):
            raw = self.lines.raw[self.index]
            if raw.startswith(b"\\ "):
                _open_last(lines, self.index + 1)
            else:
                mark = chr(raw[0]) if raw else " "
                if mark not in " +-":
                    message = f"a line of a hunk begins with a blank, `+` or `-`; this is {_quoted(self._line())}."
                    _fail(self.index + 1, message)
                lines += _sent(mark, raw[1:])
                blank_end = 0 if raw else blank_end + 1
            self.index += 1
        at_end = self._line().rstrip() == _END_OF_FILE
        if at_end:
            self.index += 1
        elif blank_end:
            del lines[-blank_end:]
        if all(line.mark == " " for line in lines):
            _fail(number, "the hunk has no line that begins with `+` or `-`.")
        _require_one_end(lines, number)
        return Hunk(number, tuple(lines), tuple(headers), at_end, start)


def _open_last(lines: list[Line], number: int) -> None:
    """The last line has no break."""
    if not lines or not lines[-1].ends:
        _fail(number, "there is no line that this could be said of.")
    # What looks like CRLF in the patch is a CR: the LF belongs to the patch.
    lines[-1] = replace(lines[-1], ends=lines[-1].ends.removesuffix(b"\n"))


def _require_one_end(lines: Sequence[Line], number: int) -> None:
    """A line without a break is the last of its side."""
    for side in ([line for line in lines if line.old], [line for line in lines if line.new]):
        if any(not line.ends for line in side[:-1]):
            _fail(number, "a line without newline is followed by another one.")


# ── unified diffs ────────────────────────────────────────────────────────────

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)
_NULL: Final = "/dev/null"
_EXTENDED: Final = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index"
    r"|dissimilarity index|index) ?(.*)",
    re.DOTALL,
)
_SIGNATURE: Final = re.compile(r"-- ?")
_BETWEEN: Final = re.compile(r"(Index: |=====|diff )")
_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def _start(numbers: re.Match[str]) -> int:
    """The line (0-based) of the file before that a hunk's header names; of an insertion, the one it comes before."""
    return int(numbers[1]) - (numbers[2] is None or int(numbers[2]) > 0)


class _Unified:
    """Reads what `diff -u` and `git diff` write."""

    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.index = 0

    def files(self) -> tuple[FilePatch, ...]:
        while self.index < len(self.lines) and not self._file_begins():
            if self._line().startswith(("@@ ", "@@@ ")):
                _fail(self.index + 1, "the hunk belongs to no file: `--- old` and `+++ new` come first.")
            self.index += 1
        if self.index >= len(self.lines):
            _fail(
                1, f"this is neither a patch (`{_BEGIN}`) nor a unified diff (`--- old`, `+++ new`).", expected=_BEGIN
            )
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
        """Go to the next file. Between two there are blank lines, and behind the last a mail's signature."""
        while self.index < len(self.lines) and not self._file_begins():
            line = self._line()
            if _SIGNATURE.fullmatch(line):
                self._skip_signature()
            elif line.strip() and not _BETWEEN.match(line):
                if line[0] in " +-\\":
                    _fail(self.index + 1, "the hunk before it has more lines than its header says.")
                _fail(self.index + 1, f"a file or a hunk was expected, not {_quoted(line)}.")
            else:
                self.index += 1
        return self.index < len(self.lines)

    def _skip_signature(self) -> None:
        """Go to the end. What follows a signature may be another mail, which is not left out in silence."""
        while self.index < len(self.lines):
            if self._file_begins():
                _fail(self.index + 1, "another patch begins; send one at a time.")
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
            message = f"{_quoted(old)} and {_quoted(new)}: it is not said which file is meant, or that it is renamed."
            _fail(number, message)
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
            _fail(self.index + 1, "changes of binary files are not made.")
        old, new = self._git_names(number, said, extended)
        hunks = tuple(self._hunks())
        return _put_together(number, old, new, hunks, extended.get("new file mode") == "100755")

    def _require_known(self, extended: dict[str, str]) -> None:
        """Refuse what would have to be ignored."""
        if "copy from" in extended:
            _fail(self.index, "copies are not made; add the file with its content.")
        if "new mode" in extended:
            _fail(self.index, "modes are not changed by a patch.")
        for key in ("new file mode", "deleted file mode"):
            if extended.get(key, "100644")[:3] != "100":
                _fail(self.index, "links and submodules are not made or removed by a patch.")

    def _git_names(self, number: int, said: str, extended: dict[str, str]) -> tuple[str, str]:
        """The names before and afterwards, without the prefixes."""
        names = self._names() if self._names_follow() else None
        if "rename from" in extended and "rename to" in extended:
            return _unquoted(extended["rename from"]), _unquoted(extended["rename to"])
        old, new = self._of_the_header(said, number) if names is None or _NULL in names else names
        prefixed = old[1:2] == new[1:2] == "/" and old[0] != new[0] and old[2:] == new[2:]
        old, new = (old[2:], new[2:]) if prefixed else (old, new)
        if old != new:
            _fail(number, f"{_quoted(old)} becomes {_quoted(new)}, but no `rename from` and `rename to` says so.")
        added = "new file mode" in extended or (names is not None and names[0] == _NULL)
        removed = "deleted file mode" in extended or (names is not None and names[1] == _NULL)
        return _NULL if added else old, _NULL if removed else new

    def _of_the_header(self, said: str, number: int) -> tuple[str, str]:
        """The two names behind `diff --git`, which are equal but for a prefix: a blank may be in them, too."""
        quoted = re.fullmatch(r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")', said)
        if quoted is not None:
            return _unquoted(quoted[1]), _unquoted(quoted[2])
        half, odd = divmod(len(said), 2)
        old, new = said[:half], said[half + 1 :]
        if not odd or said[half] != " " or old.split("/")[1:] != new.split("/")[1:]:
            _fail(number, f"the names in {_quoted(said)} cannot be told apart.")
        return old, new

    def _names(self) -> tuple[str, str]:
        """The names of `---` and `+++`; what follows a tab is a time."""
        found = []
        for _ in range(2):
            name = _unquoted(self._line()[4:].split("\t")[0].rstrip())
            if not name:
                _fail(self.index + 1, "there is no name.")
            found.append(name)
            self.index += 1
        return found[0], found[1]

    def _hunks(self) -> Iterator[Hunk]:
        while self._line().startswith("@@"):
            yield self._hunk()

    def _hunk(self) -> Hunk:
        number = self.index + 1
        header = _HUNK.match(self._line())
        if header is None:
            message = f"the header of a hunk is `@@ -1,3 +1,4 @@`, not {_quoted(self._line())}"
            _fail(number, f"{message}; in the envelope of `{_BEGIN}` hunks need no numbers.")
        left = {"-": int(header[2] or 1), "+": int(header[4] or 1)}
        self.index += 1
        lines: list[Line] = []
        while left["-"] or left["+"] or self._line().startswith(_NO_NEWLINE):
            if self.index >= len(self.lines):
                _fail(number, "the hunk has fewer lines than its header says.")
            raw = self.lines.raw[self.index]
            mark = chr(raw[0]) if raw else " "
            if mark == "\\":
                _open_last(lines, self.index + 1)
            else:
                self._count(mark, left, number)
                lines += _sent(mark, raw[1:])
            self.index += 1
        _require_one_end(lines, number)
        return Hunk(number, tuple(lines), start=_start(header))

    def _count(self, mark: str, left: dict[str, int], number: int) -> None:
        for side in {" ": "-+", "-": "-", "+": "+"}.get(mark, ""):
            left[side] -= 1
            if left[side] < 0:
                _fail(self.index + 1, f"the hunk at line {number} has other numbers of lines than its header says.")
        if mark not in " +-":
            message = (
                f"the hunk at line {number} has fewer lines than its header says; {_quoted(self._line())} is none."
            )
            _fail(self.index + 1, message)


def _put_together(number: int, old: str, new: str, hunks: tuple[Hunk, ...], executable: bool) -> FilePatch:
    """The value for a file that is called `old` before and `new` afterwards."""
    if old == new == _NULL:
        _fail(number, "there is no name.")
    if old == _NULL:
        content = b"".join(line.text + line.ends for hunk in hunks for line in hunk.lines)
        if len(hunks) > 1 or any(line.old for hunk in hunks for line in hunk.lines):
            _fail(number, f"{new} is new, but the hunk has lines that were there before.")
        return FilePatch("add", journal_path(new), number, content=content, executable=executable, unified=True)
    if new == _NULL:
        if any(line.new for hunk in hunks for line in hunk.lines):
            _fail(number, f"{old} is removed, but the hunk has lines that stay.")
        return FilePatch("delete", journal_path(old), number, hunks=hunks, unified=True)
    if old == new and not hunks:
        _fail(number, f"the change of {old} has no hunk.", expected="@@ -1,3 +1,3 @@")
    old, new = journal_path(old), journal_path(new)
    to = new if new != old else ""
    return FilePatch("move" if to else "update", old, number, to, hunks, unified=True)


def _unquoted(name: str) -> str:
    """A name as git writes it: one with unusual bytes is quoted like a string in C."""
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = re.sub(rb"\\([0-7]{3}|.)", _unescape, name[1:-1].encode())
    return raw.decode("utf-8", "surrogateescape")


def _unescape(found: re.Match[bytes]) -> bytes:
    said = found[1].decode("latin-1")
    return bytes([int(said, 8) & 255 if len(said) > 1 else _ESCAPES.get(said, ord(said))])
