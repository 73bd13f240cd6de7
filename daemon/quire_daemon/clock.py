"""Clocks, injected: only entry points make a real clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The clock interface of the daemon."""

    def now_ns(self) -> int:
        """Wall clock, UTC, nanoseconds since 1970. It may jump."""

    def set_ns(self) -> int:
        """Nanoseconds by which the wall clock was set, negative: back."""

    def mono_s(self) -> float:
        """Seconds of a clock that never goes back."""

    def sleep(self, seconds: float) -> None:
        """Block this thread. The loop never calls it."""


class SystemClock:
    """The machine's clocks."""

    mono_s = staticmethod(time.monotonic)  # the function itself: each call uses it some thirty times
    sleep = staticmethod(time.sleep)

    def __init__(self) -> None:
        self._began_ns = _wall_minus_running_ns()

    def now_ns(self) -> int:
        return time.time_ns()  # looked up each time, so that tests may freeze `time`

    def set_ns(self) -> int:
        return _wall_minus_running_ns() - self._began_ns


def _wall_minus_running_ns() -> int:
    """Wall clock minus boot time (with suspend), which only setting the wall clock changes."""
    running = time.CLOCK_BOOTTIME if hasattr(time, "CLOCK_BOOTTIME") else time.CLOCK_MONOTONIC
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(running)
