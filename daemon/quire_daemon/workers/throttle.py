"""The pace of long work on a thread: Python runs one thread at a time, and the loop has others to serve."""

from __future__ import annotations

from typing import Final, Protocol

from quire_daemon.clock import Clock
from quire_daemon.workers.pool import Cancellation

SLICE_S: Final = 0.0005
"""Longest CPU slice of a worker thread before it yields."""

REST_S: Final = 0.0015
"""Length of the rest after a slice."""

SYNC_S: Final = 0.008
"""A slice longer than this probably waited for the disk."""

DISK_SHARE: Final = 2
"""The rest after a slice that waited for the disk, in lengths of that slice."""


class Throttle(Protocol):
    """The daemon's state that long work needs."""

    clock: Clock

    @property
    def stopping(self) -> bool: ...


class Breather:
    """Yields to other threads after each slice, and ends the work when the daemon stops."""

    def __init__(self, host: Throttle) -> None:
        self._host, self._clock = host, host.clock
        self._until = 0.0
        self._called = self._clock.mono_s()

    def __call__(self) -> None:
        if self._host.stopping:
            raise Cancellation
        if self._clock.mono_s() >= self._until:
            self._clock.sleep(REST_S)
            self._until = self._clock.mono_s() + SLICE_S

    def paced(self) -> None:
        """Like a call; after a slice that waited for the disk, the rest is longer. For a process without other threads:
        a compaction beside a busy loop must not rest for lack of CPU.
        """
        took = self._clock.mono_s() - self._called
        if took > SYNC_S:
            self.rest(DISK_SHARE * took)
        self()
        self._called = self._clock.mono_s()

    def rest(self, seconds: float) -> None:
        """Rest for so many seconds."""
        until = self._clock.mono_s() + seconds
        while (left := until - self._clock.mono_s()) > 0:
            self()
            self._clock.sleep(min(left, 0.05))
