"""What the loop does now and then, each thing at its own time: one that fails keeps no other from its turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from quire_daemon.workers import Guarded


class Chore(msgspec.Struct):
    """One of them. `act` may say in how many seconds it comes again, where that is not `every_s`."""

    name: str  # in the log
    every_s: float
    act: Callable[[], float | None]
    at_s: float = 0.0  # monotonic: not before


class Chores:
    """All of them, in the order in which they are done."""

    def __init__(self, guarded: Guarded, *chores: Chore) -> None:
        self._guarded, self._chores = guarded, chores

    def do(self, now_s: float) -> None:
        """Do those whose time has come."""
        for chore in self._chores:
            if now_s >= chore.at_s:
                chore.at_s = now_s + chore.every_s  # before it: something may ask for another meanwhile
                self._guarded(chore.name, partial(_do, chore, now_s))


def _do(chore: Chore, now_s: float) -> None:
    later_s = chore.act()
    if later_s is not None:
        chore.at_s = now_s + later_s
