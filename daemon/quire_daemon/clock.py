"""The clock of the daemon, passed to its parts so that tests can fake time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now_ns(self) -> int:
        """Wall-clock time (UTC) in nanoseconds since 1970. Wall-clock time may jump."""

    def set_ns(self) -> int:
        """Nanoseconds by which the wall clock was adjusted since the start; negative: back."""

    def mono_s(self) -> float:
        """Monotonic time in seconds."""

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""


class SystemClock:
    mono_s = staticmethod(time.monotonic)  # the function itself: each call uses it some thirty times
    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self._began_ns = _wall_minus_running_ns()

    def now_ns(self) -> int:
        return time.time_ns()  # looked up each time, so that tests may freeze `time`

    def set_ns(self) -> int:
        return _wall_minus_running_ns() - self._began_ns


def _wall_minus_running_ns() -> int:
    """Wall-clock time minus time since boot, in nanoseconds. Only setting the wall clock changes it."""
    running = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(running)
