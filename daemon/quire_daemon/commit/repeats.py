"""What happens again and again and is not noted each time, so that it does not fill the log."""

from __future__ import annotations

from typing import Final

from quire_journal.model import ReadServed, WriterId

REPEAT_S: Final = 60.0  # for so long a read that a writer repeats, of the same lines of the same version, is not noted
MOST_READS: Final = 1000  # that are remembered for this, the last ones
REFUSALS: Final = 120  # of one caller that are noted however fast they come
REFUSALS_A_SECOND: Final = 1.0  # and those that are noted besides
MOST_CALLERS: Final = 1000  # of which it is known how many there were: those that were refused last


class LastReads:
    """What each writer read last of each path, and when: to say that again would only make the log longer."""

    def __init__(self) -> None:
        self._reads: dict[tuple[WriterId, str], tuple[ReadServed, float]] = {}

    def keep(self, read: ReadServed, writer: WriterId, batch: int, now_s: float) -> None:
        """It is being noted. What the reply to a write showed is no read: one that follows tells more of the caller."""
        self._reads.pop((writer, read.path), None)
        if len(self._reads) >= MOST_READS:
            del self._reads[next(iter(self._reads))]
        if read.version < batch:
            self._reads[writer, read.path] = read, now_s

    def told(self, read: ReadServed, writer: WriterId, now_s: float) -> bool:
        """Is the same, of the same lines of the same version, in the log already, and young?"""
        last, at_s = self._reads.get((writer, read.path), (None, 0.0))
        return last == read and now_s - at_s < REPEAT_S

    def forget(self) -> None:
        """The log may tell none of them any more."""
        self._reads.clear()


class Refusals:
    """How many more refusals of each caller are noted: an agent that tries again and again would fill the disk."""

    def __init__(self) -> None:
        self._left: dict[bytes, tuple[float, float]] = {}  # caller → how many, and when that was so

    def take(self, caller: bytes, now_s: float) -> bool:
        """Is this one noted?"""
        left, at_s = self._left.pop(caller, (float(REFUSALS), now_s))
        if len(self._left) >= MOST_CALLERS:
            del self._left[next(iter(self._left))]
        left = min(float(REFUSALS), left + (now_s - at_s) * REFUSALS_A_SECOND)
        self._left[caller] = (left - 1 if left >= 1 else left), now_s
        return left >= 1
