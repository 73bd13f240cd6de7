"""Texts at hand: what was read, shown or written last, taken apart into lines already."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from quire_journal.text import Text

MOST_BYTES: Final = 80 << 20  # of memory, as `weight` has it


def weight(text: Text) -> int:
    """About how many bytes of memory a text takes that is edited and shown: of a file of short lines ten times its own.

    Each line is an object, and so are its hash and what a read shows of it. Measured, by what the process takes more:
    100 lines of 16 bytes 21 kB, 2,000 lines of 45 bytes 530 kB, five lines of 20 bytes 1 to 5 kB.
    """
    return 3 * len(text.data) + 120 * len(text) + 4096


class Texts:
    """The texts used last, by blob, within a bound of the memory that they take."""

    def __init__(self, limit_bytes: int = MOST_BYTES) -> None:
        self._texts: OrderedDict[bytes, Text] = OrderedDict()
        self._limit = limit_bytes
        self._held = 0

    def find(self, blob: bytes) -> Text | None:
        text = self._texts.get(blob)
        if text is not None:
            self._texts.move_to_end(blob)
        return text

    def forget(self, blob: bytes) -> None:
        """Hold this text no longer."""
        text = self._texts.pop(blob, None)
        self._held -= 0 if text is None else weight(text)

    def keep(self, text: Text) -> None:
        """Remember `text`; the one used longest ago goes. A text that is over the bound by itself is not kept."""
        if text.blob in self._texts:
            return
        size = weight(text)
        if size > self._limit:
            return
        self._texts[text.blob] = text
        self._held += size
        while self._held > self._limit:
            _, old = self._texts.popitem(last=False)
            self._held -= weight(old)
