"""The pace of long work on a thread: Python runs one thread at a time, and the loop has others to serve."""

from __future__ import annotations

from typing import Final, Protocol

from quire_daemon.clock import Clock
from quire_daemon.workers.pool import Cancellation

SLICE_S: Final = 0.0005
"""How long a worker goes on before it lets the loop have its turn,"""

REST_S: Final = 0.0015
"""and for how long."""

SYNC_S: Final = 0.008
"""A slice that takes longer has waited for the disk,"""

DISK_SHARE: Final = 2
"""which is left to others for so many times as long."""


class Throttle(Protocol):
    """What long work on a thread needs to know of the daemon."""

    clock: Clock

    @property
    def stopping(self) -> bool: ...


class Breather:
    """Lets other threads run when a slice is over, and ends the work when the daemon stops."""

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
        """As a call; after a slice that took long (it was synced) the disk is left to others for longer.

        For a process without other threads: beside a busy loop a slice takes as long for want of the interpreter, and
        to rest for that let the changes of four clients run away from a compaction that was to catch up with them.
        """
        took = self._clock.mono_s() - self._called
        if took > SYNC_S:
            self.rest(DISK_SHARE * took)
        self()
        self._called = self._clock.mono_s()

    def rest(self, seconds: float) -> None:
        """Do nothing for so long."""
        until = self._clock.mono_s() + seconds
        while (left := until - self._clock.mono_s()) > 0:
            self()
            self._clock.sleep(min(left, 0.05))
