"""Pace of long work on threads. Python runs one thread at a time, so such work yields to the main loop often."""

from __future__ import annotations

from typing import Final, Protocol

from quire_daemon.clock import Clock
from quire_daemon.workers.pool import Cancellation

SLICE_S: Final = 0.0005
"""Seconds that long work runs before it yields."""

REST_S: Final = 0.0015
SYNC_S: Final = 0.008
"""Duration in seconds from which a step of long work probably waited for the disk."""

DISK_SHARE: Final = 2
"""Length of the sleep after a step that waited for the disk, as a multiple of the step."""


class Throttle(Protocol):
    """Interface of the daemon: a clock, and whether it stops."""

    clock: Clock

    @property
    def stopping(self) -> bool: ...


class Breather:
    """Called between steps of long work: rests briefly after each time slice, and raises `Cancellation` when the daemon
    stops.
    """

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
        """Rest, longer after a step that waited for the disk."""
        took = self._clock.mono_s() - self._called
        if took > SYNC_S:
            self.rest(DISK_SHARE * took)
        self()
        self._called = self._clock.mono_s()

    def rest(self, seconds: float) -> None:
        until = self._clock.mono_s() + seconds
        while (left := until - self._clock.mono_s()) > 0:
            self()
            self._clock.sleep(min(left, 0.05))
