"""A clock for tests."""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1_000_000_000


@dataclass
class SetClock:
    """It stands still until a test lets time pass."""

    ns: int = 1_700_000_000 * SECOND

    def now_ns(self) -> int:
        return self.ns

    def mono_s(self) -> float:
        return self.ns / SECOND

    def pass_s(self, seconds: float) -> None:
        self.ns += int(seconds * SECOND)
