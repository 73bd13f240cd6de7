"""Periodic tasks of the main loop. A task that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from quire_daemon.workers import Guarded


class Chore(msgspec.Struct):
    """A periodic task: `act` runs every `every_s` seconds, or after the delay in seconds that it returns."""

    name: str  # in the log
    every_s: float
    act: Callable[[], float | None]
    at_s: float = 0.0  # monotonic time when it is due


class Chores:
    def __init__(self, guarded: Guarded, *chores: Chore) -> None:
        self._guarded, self._chores = guarded, chores

    def do(self, now_s: float) -> None:
        for chore in self._chores:
            if now_s >= chore.at_s:
                chore.at_s = now_s + chore.every_s  # before the act, which may set another time
                self._guarded(chore.name, partial(_do, chore, now_s))


def _do(chore: Chore, now_s: float) -> None:
    later_s = chore.act()
    if later_s is not None:
        chore.at_s = now_s + later_s
