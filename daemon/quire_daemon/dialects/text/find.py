"""Finds quoted texts in a file. Positions are byte offsets in `Text.normalised`: LF line ends, no byte order mark."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from quire_journal.model import Refusal, cached_property
from quire_journal.text import BOM, Text

MOST_REPLACEMENTS: Final = 200_000
MOST_EDITS: Final = 5_000
SEARCHED_BYTES: Final = 256 * 1024 * 1024
"""Maximum number of bytes that one request may search in all."""

FEW_EDITS: Final = 256

_UNREADABLE: Final = "\ufffd"


def normalised(sent: str) -> bytes:
    """Encode a text as UTF-8, with CRLF and CR converted to LF."""
    return sent.replace("\r\n", "\n").replace("\r", "\n").encode()


class LineIndex:
    """Map from byte offsets of a text with LF line ends to line numbers from 0. A final line break begins one more,
    empty line. Fast for ascending offsets.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._whole = text.normalised
        self._offset = self._line = 0  # last result of `at`, for ascending offsets

    def at(self, offset: int) -> int:
        if offset < self._offset:
            return bisect_right(self.starts, offset) - 1
        self._line += self._whole.count(b"\n", self._offset, offset)
        self._offset = offset
        return self._line

    @cached_property
    def starts(self) -> list[int]:
        lengths = [len(line) + 1 for line in self.text.lines]
        if not self.text.final_break:
            lengths.pop()
        return [*accumulate(lengths, initial=0)]

    @cached_property
    def _crlfs(self) -> list[int]:
        return [*accumulate((end == b"\r\n" for end in self.text.breaks), initial=0)]

    def begin(self, offset: int) -> int:
        return self._whole.rfind(b"\n", 0, offset) + 1

    def end(self, offset: int) -> int:
        found = self._whole.find(b"\n", offset)
        return len(self._whole) if found < 0 else found

    def on_disk(self, offset: int) -> int:
        """Convert an offset in the text with LF line ends to one in the file, which may have CRLF and a byte order
        mark.
        """
        crlf = self._crlfs[self.at(offset)] if self.text.has_cr else 0
        return offset + crlf + (len(BOM) if self.text.bom else 0)


def occurrences(text: Text, old: str, most: int | None = None) -> list[tuple[int, int]]:
    """Return the byte ranges (start, stop) in `text.normalised` of the first `most` non-overlapping matches of `old`
    (None: of all).
    """
    wanted = sought(old)
    if not wanted:
        return []
    whole, size = text.normalised, len(wanted)
    if most is None or most > FEW_EDITS:
        parts = whole.split(wanted, -1 if most is None else most)
        return [(end - size, end) for end in accumulate(len(part) + size for part in parts[:-1])]
    found: list[tuple[int, int]] = []
    at = whole.find(wanted)
    while at >= 0 and len(found) < most:
        found.append((at, at + size))
        at = whole.find(wanted, at + size) if len(found) < most else -1
    return found


def count_of(text: Text, old: str) -> int:
    wanted = sought(old)
    return text.normalised.count(wanted) if wanted else 0


def sought(old: str) -> bytes:
    """Return the bytes to search for; b"", which matches nothing, for a text with U+FFFD, as reads show it for bytes
    that are not UTF-8.
    """
    return b"" if _UNREADABLE in old else normalised(old)


def require_few(replacements: int) -> None:
    """Raise `Refusal` `too_many_edits` for more replacements than `MOST_REPLACEMENTS`."""
    if replacements > MOST_REPLACEMENTS:
        message = f"The call would make {replacements} replacements; the limit of one call is {MOST_REPLACEMENTS}."
        details = {"matchCount": replacements, "limit": MOST_REPLACEMENTS}
        raise Refusal("too_many_edits", message, "split_the_call", **details)


def require_searchable(text: Text, edits: int) -> None:
    """Raise `Refusal` `too_many_edits` if a request has too many edits for the size of the file: one search per edit
    would make other callers wait.
    """
    limit = min(max(SEARCHED_BYTES // max(len(text.data), 1), 1), MOST_EDITS)
    if edits > limit:
        message = f"The call has {edits} edits; for a file of {len(text.data)} bytes the limit of one call is {limit}."
        raise Refusal("too_many_edits", message, "split_the_call", editCount=edits, limit=limit)
