"""Repeated reads and refusals that need no record."""

from __future__ import annotations

from typing import Final

from quire_journal.model import ReadServed, WriterId

REPEAT_S: Final = 60.0  # seconds for which a repeated read of the same lines of a version is not recorded
MOST_READS: Final = 1000  # reads remembered, the latest
REFUSALS: Final = 120  # burst of recorded refusals of one caller
REFUSALS_A_SECOND: Final = 1.0  # rate of further ones
MOST_CALLERS: Final = 1000  # callers remembered, the latest


class LastReads:
    def __init__(self) -> None:
        self._reads: dict[tuple[WriterId, str], tuple[ReadServed, float]] = {}

    def keep(self, read: ReadServed, writer: WriterId, batch: int, now_s: float) -> None:
        """Remember a recorded read, to recognise its repeats, unless it comes from the reply to a write."""
        self._reads.pop((writer, read.path), None)
        if len(self._reads) >= MOST_READS:
            del self._reads[next(iter(self._reads))]
        if read.version < batch:
            self._reads[writer, read.path] = read, now_s

    def told(self, read: ReadServed, writer: WriterId, now_s: float) -> bool:
        last, at_s = self._reads.get((writer, read.path), (None, 0.0))
        return last == read and now_s - at_s < REPEAT_S

    def forget(self) -> None:
        self._reads.clear()


class Refusals:
    """Limits the rate of recorded refusals for each caller (token bucket)."""

    def __init__(self) -> None:
        self._left: dict[bytes, tuple[float, float]] = {}  # caller → (refusals left, when)

    def take(self, caller: bytes, now_s: float) -> bool:
        left, at_s = self._left.pop(caller, (float(REFUSALS), now_s))
        if len(self._left) >= MOST_CALLERS:
            del self._left[next(iter(self._left))]
        left = min(float(REFUSALS), left + (now_s - at_s) * REFUSALS_A_SECOND)
        self._left[caller] = (left - 1 if left >= 1 else left), now_s
        return left >= 1
