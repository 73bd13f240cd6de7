"""Time, injected: decisions and tests get `now` as a value, and only what begins a process makes a real clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the daemon asks of time."""

    def now_ns(self) -> int:
        """Wall clock, UTC, nanoseconds since 1970. It may jump; order in the journal is by seq."""

    def mono_s(self) -> float:
        """Seconds that never go back, for waits and deadlines."""

    def sleep(self, seconds: float) -> None:
        """Wait for so long. On a thread of its own: the loop never does."""


class SystemClock:
    """The machine's clocks."""

    mono_s = staticmethod(time.monotonic)  # the very function: each call asks some thirty times
    sleep = staticmethod(time.sleep)

    def now_ns(self) -> int:
        return time.time_ns()  # looked up each time, so that who stops the clock of Python stops this one
