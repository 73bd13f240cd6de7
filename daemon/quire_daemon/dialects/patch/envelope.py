"""Parser of the patch format that begins with `*** Begin Patch`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from quire_daemon.dialects.patch.model import (
    ANY_LINES,
    BEGIN,
    END,
    HUNK,
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

_END_OF_FILE: Final = "*** End of File"
_MOVE_TO: Final = "*** Move to:"
_SECTION: Final = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move File):(.*)", re.DOTALL)
_ARROW: Final = " -> "


class Envelope:
    """Parser of a patch from `*** Begin Patch` to `*** End Patch`."""

    def __init__(self, lines: PatchLines) -> None:
        self.lines = lines
        self.index = 0
        last = lines.last_filled()
        self.end = last if lines.at(last).strip() == END else None

    def files(self, first: int) -> tuple[FilePatch, ...]:
        if self.lines.at(first).strip() != BEGIN:
            if self.lines.at(first).startswith(f"{BEGIN}\\n"):
                fail(first + 1, "its line breaks are written out as `\\n`; send them as line breaks.")
            fail(first + 1, f"a patch begins with `{BEGIN}`, not {quoted(self.lines.at(first))}.", expected=BEGIN)
        self.index = first + 1
        found: list[FilePatch] = []
        while not self._ended():
            found.append(self._file())
        if not found:
            fail(first + 1, "there is no file in the patch.", expected="*** Update File: path")
        for index in range(self.index + 1, len(self.lines)):
            if not self.lines.blank(index):
                fail(index + 1, f"nothing follows `{END}`, but there is {quoted(self.lines.at(index))}.")
        return tuple(found)

    def _line(self) -> str:
        return self.lines.at(self.index)

    def _more(self) -> bool:
        if self.index >= len(self.lines):
            fail(len(self.lines), f"the patch stops without `{END}`.", expected=END)
        return self.index != self.end and not self.lines.raw[self.index].startswith(b"***")

    def _skip_blank(self) -> None:
        while self.index < len(self.lines) and self.lines.blank(self.index):
            self.index += 1

    def _ended(self) -> bool:
        self._skip_blank()
        return not self._more() and self._line().strip() == END

    def _file(self) -> FilePatch:
        number = self.index + 1
        section = _SECTION.fullmatch(self._line().strip())
        if section is None:
            fail(number, f"a file begins with `*** Update File: path` or the like, not {quoted(self._line())}.")
        name, path = section[1], section[2].strip()
        to = ""
        if name == "Move File":
            path, arrow, to = (part.strip() for part in path.partition(_ARROW))
            if not arrow or not to:
                fail(number, "it is `*** Move File: old -> new`.", expected="->")
        if not path:
            fail(number, f"`*** {name}:` names no path.")
        self.index += 1
        if name == "Add File":
            return FilePatch("add", path, number, content=self._content())
        if name == "Delete File":
            self._nothing_more(name)
            return FilePatch("delete", path, number)
        if name == "Update File" and self._line().startswith(_MOVE_TO):
            to = self._line()[len(_MOVE_TO) :].strip()
            if not to:
                fail(self.index + 1, f"`{_MOVE_TO}` names no path.")
            self.index += 1
        hunks = tuple(self._hunks())
        if not hunks and not to:
            fail(number, f"the update of {path} has no hunk.", expected="@@")
        return FilePatch("move" if to else "update", path, number, to, hunks)

    def _content(self) -> bytes:
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
        first = self.index
        self._skip_blank()
        if self._more() and not _SECTION.fullmatch(self._line().strip()):
            if self.index > first and name == "Add File" and self._line().startswith("+"):
                what = f"a blank line of a new file is a `+` alone, which line {first + 1} has not"
                fail(self.index + 1, f"{what}; the file would end there.")
            what = "every line of a new file begins with `+`" if name == "Add File" else f"`*** {name}` has no lines"
            fail(self.index + 1, f"{what}; this is {quoted(self._line())}.")

    def _hunks(self) -> Iterator[PatchHunk]:
        self._skip_blank()
        while self._more():
            yield self._hunk()
            self._skip_blank()

    def _hunk(self) -> PatchHunk:
        number = self.index + 1
        headers: list[str] = []
        start: int | None = None
        while self._more() and self._line().startswith("@@"):
            told = "" if ANY_LINES.fullmatch(self._line()) else self._line()[2:].strip()
            numbers = HUNK.match(self._line())
            if numbers is not None:
                start = start_of(numbers)
            elif told:
                headers.append(told)
            self.index += 1
            if not told:
                break
        lines: list[Line] = []
        blank_end = 0  # unmarked blank lines at the end, which separate hunks
        while self._more() and not self.lines.raw[self.index].startswith(b"@@"):
            raw = self.lines.raw[self.index]
            if raw.startswith(b"\\ "):
                open_last(lines, self.index + 1)
            else:
                mark = chr(raw[0]) if raw else " "
                if mark not in " +-":
                    message = f"a line of a hunk begins with a blank, `+` or `-`; this is {quoted(self._line())}."
                    fail(self.index + 1, message)
                lines += sent(mark, raw[1:])
                blank_end = 0 if raw else blank_end + 1
            self.index += 1
        at_end = self._line().rstrip() == _END_OF_FILE
        if at_end:
            self.index += 1
        elif blank_end:
            del lines[-blank_end:]
        if all(line.mark == " " for line in lines):
            fail(number, "the hunk has no line that begins with `+` or `-`.")
        require_one_end(lines, number)
        return PatchHunk(number, tuple(lines), tuple(headers), at_end, start)
