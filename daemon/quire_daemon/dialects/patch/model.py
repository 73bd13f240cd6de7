"""Data types of a parsed patch (files, hunks, lines), and helpers of its parsers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NoReturn

import msgspec
from msgspec.structs import replace

from quire_journal.model import Refusal
from quire_journal.text import BOM, Text

_OWN_LINES: Final = (b"*** ", b"diff --git ", b"--- ", b"+++ ", b"@@")
_HEREDOC: Final = re.compile(r"""\s*<<(EOF|'EOF'|"EOF")\s*""")
BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"

HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)
"""Matches the header of a hunk with line numbers, such as `@@ -1,3 +1,4 @@`."""

ANY_LINES: Final = re.compile(r"@@\s*(?:\.\.\.)?\s*@@\s*")

Kind = Literal["add", "update", "delete", "move"]

QUOTED_CHARS: Final = 60


class Line(msgspec.Struct, frozen=True):
    """A line of a hunk. As in files, a lone CR also ends a line."""

    mark: str  # " ", "-" or "+"
    text: bytes
    ends: bytes  # line break in the patch; b"" for a line without one

    @property
    def old(self) -> bool:
        """True if the line is in the file before the patch."""
        return self.mark != "+"

    @property
    def new(self) -> bool:
        """True if the line is in the file after the patch."""
        return self.mark != "-"


class PatchHunk(msgspec.Struct, frozen=True):
    """One hunk of a patch: changed lines and the unchanged lines around them."""

    number: int  # number of the first line in the patch, 1-based
    lines: tuple[Line, ...]
    headers: tuple[str, ...] = ()  # texts behind `@@`: lines of the enclosing sections
    at_end: bool = False  # `*** End of File`
    start: int | None = None  # old line number (0-based) from the header

    @property
    def old(self) -> list[Line]:
        """The hunk's lines of the file before the patch."""
        return [line for line in self.lines if line.old]

    @property
    def new(self) -> list[Line]:
        """The hunk's lines of the file after the patch."""
        return [line for line in self.lines if line.new]

    @property
    def opens(self) -> bool:
        """True if the file's last line, before or after the patch, has no line break."""
        return any(not line.ends for line in self.lines)


class FilePatch(msgspec.Struct, frozen=True):
    """Change of one file by a patch: kind, paths, and hunks or content."""

    kind: Kind
    path: str
    number: int  # number of its first line in the patch, 1-based
    to: str = ""  # the new name, of a "move"
    hunks: tuple[PatchHunk, ...] = ()
    content: bytes = b""  # of an "add"
    executable: bool = False  # of an "add"
    unified: bool = False  # line ends are the file's own; a "delete" lists all lines

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, self.to) if self.to else (self.path,)


class PatchLines:
    """The lines of a patch. If they end with CRLF, the CR is removed."""

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
        return self.raw[index].decode() if index < len(self.raw) else ""

    def blank(self, index: int) -> bool:
        return not self.raw[index].strip()

    def unwrap(self) -> None:
        """Blank the first and last line if they begin and end a shell here-document (`<<EOF`, `EOF`), so that line
        numbers stay.
        """
        filled = [index for index in range(len(self)) if not self.blank(index)]
        if len(filled) > 1 and _HEREDOC.fullmatch(self.at(filled[0])) and self.at(filled[-1]).strip() == "EOF":
            self.raw[filled[0]] = self.raw[filled[-1]] = b""

    def last_filled(self) -> int:
        return next(index for index in reversed(range(len(self))) if not self.blank(index))

    def first_filled(self) -> int:
        """Return the index of the first line that is not blank. Raises `Refusal` for an empty patch."""
        found = next((index for index in range(len(self)) if not self.blank(index)), None)
        if found is None:
            fail(1, "it is empty.")
        return found


def sent(mark: str, text: bytes) -> list[Line]:
    """Return the lines that one line of a patch becomes in the file: several if `text` contains a lone CR."""
    if b"\r" not in text and not text.startswith(BOM):
        return [Line(mark, text, b"\n")]
    split = Text.of(text + b"\n")
    texts = list(split.lines)
    if split.bom:
        texts[0] = BOM + texts[0]
    return [Line(mark, line, ends) for line, ends in zip(texts, split.breaks, strict=True)]


def fail(number: int, message: str, **details: object) -> NoReturn:
    """Raise `Refusal` because of line `number` (from 1) of the patch."""
    raise Refusal("patch_parse_error", f"Line {number} of the patch: {message}", "fix_patch", line=number, **details)


def quoted(line: str) -> str:
    return repr(line if len(line) <= QUOTED_CHARS else line[:QUOTED_CHARS] + "…")


NO_NEWLINE: Final = "\\ "


def start_of(numbers: re.Match[str]) -> int:
    """Return the old line number (from 0) that a hunk's header states. For a hunk without old lines, this is the line
    before which the hunk inserts.
    """
    return int(numbers[1]) - (numbers[2] is None or int(numbers[2]) > 0)


def open_last(lines: list[Line], number: int) -> None:
    r"""Remove the line break of the last line in `lines` (`\ No newline at end of file`). Raises `Refusal` with patch
    line `number` if there is no line, or it has no line break.
    """
    if not lines or not lines[-1].ends:
        fail(number, "there is no line that this could be said of.")
    # An apparent CRLF is a CR of the file and the patch's own LF.
    lines[-1] = replace(lines[-1], ends=lines[-1].ends.removesuffix(b"\n"))


def require_one_end(lines: Sequence[Line], number: int) -> None:
    """Raise `Refusal` if a line without line break is not the last line of the old or of the new side."""
    for side in ([line for line in lines if line.old], [line for line in lines if line.new]):
        if any(not line.ends for line in side[:-1]):
            fail(number, "a line without newline is followed by another one.")
