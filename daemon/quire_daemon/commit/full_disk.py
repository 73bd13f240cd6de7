"""Whether the journal's disk has room, as its commits tell: since when it has had none, and when it has again."""

from __future__ import annotations

from typing import Final

from quire_daemon.clock import Clock
from quire_journal.history import to_the_second
from quire_journal.storage import StoreFailure

FULL_S: Final = 60.0
"""After the last commit that found the disk full it has room again, if it takes anything."""


class FullDisk:
    """What commits found, since one found no room. Where files find none, a few records may."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ns = 0  # of the first commit that found no room; 0: there is room
        self._bytes = 0  # of files, in the smallest of those that had any
        self._last_s = 0.0  # monotonic: when the last of them was
        self._takes_some = False  # were smaller ones made since?

    @property
    def full(self) -> bool:
        """Did the last commits find no room?"""
        return bool(self._since_ns)

    def failed(self, error: BaseException, size: int) -> None:
        """A commit with so many bytes of files failed."""
        if isinstance(error, StoreFailure) and error.disk_full:
            before = self._bytes if self._since_ns else 0
            self._bytes = min(size, before) if size and before else size or before
            self._since_ns = self._since_ns or self._clock.now_ns()
            self._last_s = self._clock.mono_s()

    def taken(self, size: int) -> None:
        """One was made. What found no room is tried again soon."""
        if not self._since_ns:
            return
        self._takes_some = True
        if size >= self._bytes or self._clock.mono_s() - self._last_s > FULL_S:
            self._since_ns, self._takes_some = 0, False

    def told(self) -> str:
        """Why the journal takes no records at the moment, and since when; "" where it does."""
        if not self._since_ns:
            return ""
        since = to_the_second(self._since_ns)
        taken = "nothing but a few records" if self._takes_some else "nothing"
        return (
            f"the journal has taken {taken} since {since}, when its disk was full; what is there is recorded with room"
        )
