"""States of the writes of one request, and what a start does with writes that a crash interrupted.

    decided → logged → staged → landed → settled
       └────────┴────────┴───→ abandoned

The log distinguishes decided (its records are incomplete), logged, abandoned and settled. Whether a logged write is
staged or landed shows only on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple


class WriteState(Enum):
    DECIDED = "decided"
    LOGGED = "logged"
    STAGED = "staged"
    LANDED = "landed"
    SETTLED = "settled"
    ABANDONED = "abandoned"


class AtStart(Enum):
    WITHDRAW = "withdraw"  # record that no file was written
    FINISH = "finish"  # write the logged files whose bases are unchanged
    CONFIRM = "confirm"  # record that the files are on disk
    NOTHING = "nothing"  # the log has its outcome


class Stage(NamedTuple):
    """Meaning of a write state: content of log and disk, states that may follow, and what a daemon's start does."""

    log: str  # records of the writes in the log
    disk: str  # content of their paths
    following: frozenset[WriteState]
    at_start: AtStart


_D, _L, _S, _N = WriteState.DECIDED, WriteState.LOGGED, WriteState.STAGED, WriteState.LANDED
_OVER, _BACK = WriteState.SETTLED, WriteState.ABANDONED

LIFE: Final[Mapping[WriteState, Stage]] = {
    _D: Stage("nothing, or a part of many records", "the bases", frozenset({_L, _BACK}), AtStart.WITHDRAW),
    _L: Stage("all records and bytes", "the bases", frozenset({_S, _BACK}), AtStart.FINISH),
    _S: Stage("the same", "the bases, or some of the new files", frozenset({_N, _BACK}), AtStart.FINISH),
    _N: Stage("the same", "the new files", frozenset({_OVER}), AtStart.CONFIRM),
    _OVER: Stage("and that all is on disk", "whatever came later", frozenset(), AtStart.NOTHING),
    _BACK: Stage("and that it is withdrawn, all or in parts", "the bases", frozenset(), AtStart.WITHDRAW),
}


class ImpossibleTransition(Exception):
    """Raised for a write state that cannot follow the current one: a fault of the daemon."""


def following(now: WriteState, then: WriteState) -> WriteState:
    """Return `then` if that state may follow `now`; else raise `ImpossibleTransition`."""
    if then not in LIFE[now].following:
        raise ImpossibleTransition(f"a write that is {now.value} cannot become {then.value}")
    return then
