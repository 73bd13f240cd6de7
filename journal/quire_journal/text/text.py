"""Text: the bytes of a file and its lines.

A line ends at LF, CRLF or a lone CR, and nowhere else. A final break begins no further line, and a UTF-8 byte order
mark precedes the first line. Lines are bytes, never decoded to be written back. Line numbers are 0-based and half-open
inside, 1-based for callers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from quire_journal.model import BlobId, blob_id, cached_property

BOM: Final = b"\xef\xbb\xbf"
_BREAK: Final = re.compile(rb"\r\n|\n|\r")
_STYLES: Final = {b"\n": "lf", b"\r\n": "crlf", b"\r": "cr"}

HASHED_STEP: Final = 8192
"""Interval in bytes of stored hash states. Storing one takes 1 µs, hashing these bytes 20 to 35."""

BINARY_PROBE: Final = 8192
"""First bytes in which a NUL makes a file binary (git's rule)."""


class Text:
    """Immutable bytes of a file, with its lines. `lines[i]` is line i without its break, `breaks[i]` its break: `b""`
    only for an unfinished last line.
    """

    __slots__ = ("__dict__", "bom", "breaks", "lines")  # a dict for values computed from the text

    def __init__(self, bom: bool, lines: Sequence[bytes], breaks: Sequence[bytes]) -> None:
        self.bom = bom
        self.lines = lines
        self.breaks = breaks

    @classmethod
    def of(cls, data: bytes, blob: BlobId | None = None) -> Text:
        bom = data.startswith(BOM)
        body = data[len(BOM) :] if bom else data
        if b"\r" not in body:
            lines = body.split(b"\n")
            breaks = [b"\n"] * (len(lines) - 1)
            if lines[-1]:
                breaks.append(b"")
            else:
                lines.pop()
        else:
            lines, breaks, at = [], [], 0
            for found in _BREAK.finditer(body):
                lines.append(body[at : found.start()])
                breaks.append(found.group())
                at = found.end()
            if at < len(body):
                lines.append(body[at:])
                breaks.append(b"")
        text = cls(bom, lines, breaks)
        text.__dict__["data"] = data
        if blob is not None:
            text.__dict__["blob"] = blob
        return text

    def __len__(self) -> int:
        return len(self.lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    @cached_property
    def data(self) -> bytes:
        if self.breaks.count(b"\n") == len(self.lines) - (not self.final_break):  # fast path for most files
            body = b"\n".join(self.lines) + (b"\n" if self.lines and self.final_break else b"")
            return BOM + body if self.bom else body
        parts = [b""] * (2 * len(self.lines) + 1)
        parts[0] = BOM if self.bom else b""
        parts[1::2], parts[2::2] = self.lines, self.breaks
        return b"".join(parts)

    @property
    def has_cr(self) -> bool:
        return b"\r" in self.data

    def offset(self, line: int) -> int:
        """Return the offset in `data` of a line, also of the line after the last; fast near the
        line of the last call.
        """
        mark: tuple[int, int] = self.__dict__.get("mark", (0, len(BOM) if self.bom else 0))
        known, at = mark
        start, stop = (known, line) if known <= line else (line, known)
        size = len(b"".join(self.lines[start:stop])) + len(b"".join(self.breaks[start:stop]))
        at += size if known <= line else -size
        self.__dict__["mark"] = line, at
        return at

    @cached_property
    def blob(self) -> BlobId:
        """Content address (sha256). After an edit, only bytes after the change are hashed (`take_bytes`)."""
        if len(self.data) <= HASHED_STEP:
            return blob_id(self.data)
        data = memoryview(self.data)
        states: list[Any] = self.__dict__.setdefault("hashed", [])
        at = len(states) * HASHED_STEP
        state = states[-1].copy() if states else sha256()
        while at + HASHED_STEP <= len(data):
            state.update(data[at : at + HASHED_STEP])
            states.append(state.copy())
            at += HASHED_STEP
        state.update(data[at:])
        return BlobId(state.digest())

    def take_bytes(self, data: bytes, base: Text, line: int) -> None:
        """Set the bytes of this text, which are those of `base` up to line `line`, to reuse the
        hash states of `base`.
        """
        at = base.offset(line)
        self.__dict__["data"] = data
        self.__dict__["mark"] = line, at
        self.__dict__["hashed"] = base.__dict__.get("hashed", [])[: at // HASHED_STEP]

    @cached_property
    def normalised(self) -> bytes:
        """Bytes without BOM and with LF breaks."""
        if not self.has_cr:  # most files
            return self.data[len(BOM) :] if self.bom else self.data
        return self.slice(0, len(self.lines))

    def slice(self, start: int, stop: int) -> bytes:
        """Return lines start..stop with LF between, and a final LF only at the end of a file that has one."""
        stop = min(stop, len(self.lines))
        if start >= stop:
            return b""
        ends = stop == len(self.lines) and self.final_break
        return b"\n".join(self.lines[start:stop]) + (b"\n" if ends else b"")

    @property
    def final_break(self) -> bool:
        """True if the last line ends with a break, and for an empty file."""
        return not self.breaks or bool(self.breaks[-1])

    @cached_property
    def newline_style(self) -> str:
        """`lf`, `crlf`, `cr`, `mixed`, or `none` without breaks."""
        styles = {*self.breaks} - {b""}
        return "none" if not styles else _STYLES[styles.pop()] if len(styles) == 1 else "mixed"

    @property
    def binary(self) -> bool:
        return self.data.find(b"\0", 0, BINARY_PROBE) >= 0

    @cached_property
    def lossy(self) -> bool:
        """True if some bytes are not UTF-8."""
        try:
            self.data.decode()
        except UnicodeDecodeError:
            return True
        return False

    def break_for(self, line: int) -> bytes:
        """Return the break for a new line at `line`: of that line, else the nearest before, else after, else LF."""
        for i in range(min(line, len(self.breaks) - 1), -1, -1):
            if self.breaks[i]:
                return self.breaks[i]
        for found in self.breaks[max(line, 0) :]:
            if found:
                return found
        return b"\n"


def content_lines(content: str) -> list[bytes]:
    """Return the lines of a text sent by an agent. One trailing newline is no extra line; `""` is one blank line; a
    byte order mark is text.
    """
    sent = Text.of(content.encode("utf-8"))
    lines = list(sent.lines) or [b""]
    if sent.bom:
        lines[0] = BOM + lines[0]
    return lines


def shown(line: bytes) -> str:
    """Return a line as shown: bytes that are not UTF-8 become U+FFFD."""
    return line.decode("utf-8", "replace")
