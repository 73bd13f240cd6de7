"""Time, injected: decisions and tests get `now` as a value, and only what begins a process makes a real clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the daemon asks of time."""

    def now_ns(self) -> int:
        """Wall clock, UTC, nanoseconds since 1970. It may jump; order in the journal is by seq."""

    def set_ns(self) -> int:
        """By how much the wall clock was set since this clock was made, forward or (below 0) back."""

    def mono_s(self) -> float:
        """Seconds that never go back, for waits and deadlines."""

    def sleep(self, seconds: float) -> None:
        """Wait for so long. On a thread of its own: the loop never does."""


class SystemClock:
    """The machine's clocks."""

    mono_s = staticmethod(time.monotonic)  # the very function: each call asks some thirty times
    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self._began_ns = _wall_minus_running_ns()

    def now_ns(self) -> int:
        return time.time_ns()  # looked up each time, so that who stops the clock of Python stops this one

    def set_ns(self) -> int:
        return _wall_minus_running_ns() - self._began_ns


def _wall_minus_running_ns() -> int:
    """What only a step of the wall clock changes: the other clock goes on through a sleep of the machine."""
    running = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(running)
