"""Texts that a call names by themselves, and where they stand in a file.

Everything is matched against `Text.normalised`: LF at the end of each line, no byte order mark. Positions in it are
byte offsets. What replacing them does to the lines is in `replace`, what is said of one that is nowhere in `suggest`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final

from quire_journal.model import Refusal
from quire_journal.text import BOM, Text

MOST_REPLACEMENTS: Final = 200_000
"""Replacements of one call."""

MOST_EDITS: Final = 5_000
"""Edits of one call that each bring their own text."""

SEARCHED_BYTES: Final = 256 * 1024 * 1024
"""Bytes of one text that are searched in one call: each edit goes through all of it."""

FEW_EDITS: Final = 256
"""Edits of which it is looked up line by line what they leave as it is; of more, only what can be seen at once."""

_UNREADABLE: Final = "\ufffd"


def normalised(sent: str) -> bytes:
    """A text that a caller sent, with LF at its line ends."""
    return sent.replace("\r\n", "\n").replace("\r", "\n").encode()


class LineIndex:
    """Which line of a text holds which byte of its normalised form. Fast for offsets that are asked for in order.

    Lines are 0-based. Behind a final break begins a line that the text does not have; it is numbered all the same.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._whole = text.normalised
        self._offset = self._line = 0  # the last answer of `at`

    def at(self, offset: int) -> int:
        """The line that holds the byte at `offset`, or that ends there."""
        if offset < self._offset:
            return bisect_right(self.starts, offset) - 1
        self._line += self._whole.count(b"\n", self._offset, offset)
        self._offset = offset
        return self._line

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins; for offsets that are not asked for in order."""
        lengths = [len(line) + 1 for line in self.text.lines]
        if not self.text.final_break:
            lengths.pop()
        return [*accumulate(lengths, initial=0)]

    @cached_property
    def _crlfs(self) -> list[int]:
        """How many lines before each one end with CRLF."""
        return [*accumulate((end == b"\r\n" for end in self.text.breaks), initial=0)]

    def begin(self, offset: int) -> int:
        """Where the line at `offset` begins."""
        return self._whole.rfind(b"\n", 0, offset) + 1

    def end(self, offset: int) -> int:
        """Where the line at `offset` ends, its break not counted."""
        found = self._whole.find(b"\n", offset)
        return len(self._whole) if found < 0 else found

    def on_disk(self, offset: int) -> int:
        """Where the byte at `offset` stands in the file as it is: with its BOM, and CRLF as two bytes."""
        crlf = self._crlfs[self.at(offset)] if self.text.has_cr else 0
        return offset + crlf + (len(BOM) if self.text.bom else 0)


def occurrences(text: Text, old: str, most: int | None = None) -> list[tuple[int, int]]:
    """Where `old` stands in the normalised text, from left to right and without overlap; at most `most` of them."""
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
    """How often `old` stands in the normalised text, without overlap. Cheap where `occurrences` would be many."""
    wanted = sought(old)
    return text.normalised.count(wanted) if wanted else 0


def sought(old: str) -> bytes:
    """What is looked for. Nothing for a text with U+FFFD: it is what bytes are shown as that are not UTF-8."""
    return b"" if _UNREADABLE in old else normalised(old)


def require_few(replacements: int) -> None:
    """Refuse more replacements than one call may make."""
    if replacements > MOST_REPLACEMENTS:
        message = f"The call would make {replacements} replacements; the limit of one call is {MOST_REPLACEMENTS}."
        details = {"matchCount": replacements, "limit": MOST_REPLACEMENTS}
        raise Refusal("too_many_edits", message, "split_the_call", **details)


def require_searchable(text: Text, edits: int) -> None:
    """Refuse more edits than can be looked for in a text of this size without keeping other callers waiting."""
    limit = min(max(SEARCHED_BYTES // max(len(text.data), 1), 1), MOST_EDITS)
    if edits > limit:
        message = f"The call has {edits} edits; for a file of {len(text.data)} bytes the limit of one call is {limit}."
        raise Refusal("too_many_edits", message, "split_the_call", editCount=edits, limit=limit)
