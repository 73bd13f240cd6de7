"""Rebase: a plan made on a caller's base, carried over what others wrote since.

Stricter than a merge: a splice is carried only when the lines it touches and the lines beside them are what they
were, and still stand together. Each splice moves by an offset of its own. One that somebody else made already, exactly
so, is met: nothing is left to do, as long as what it made stays what it is. Who moves lines has not removed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from quire_journal.splice import Splice


class ByOthers(tuple[Splice, ...]):
    """A step that is known to be the work of others alone. The caller's own never meets a splice: it asks for more."""


class ByCaller(tuple[Splice, ...]):
    """A step that is known to be the caller's own work. It knows what stands beside what it did."""


class Conflict(msgspec.Struct, frozen=True):
    """A splice that cannot be carried, and the one by others that is in its way, in the coordinates before that one."""

    mine: Splice
    theirs: Splice
    index: int  # of `mine` in the plan
    step: int  # of `theirs` among those that were carried over


def carried(
    splices: Sequence[Splice], steps: Iterable[Sequence[Splice]], beside: int = 1, base: Sequence[bytes] = ()
) -> tuple[Splice, ...] | Conflict:
    """`splices` after every step in turn, or the first conflict. `base`: the lines that they were made for.

    `beside` is how many lines on either side must be unchanged too: 1 over the work of others; over what is known to
    be one's own it is 0.
    A splice that was met replaces what it made by the same.
    """
    at = tuple(splices)
    for number, step in enumerate(steps):
        moved: list[Splice] = []
        near = 0 if isinstance(step, ByCaller) else beside
        for index, mine in enumerate(at):
            offset, length = 0, mine.stop - mine.start
            for theirs in step:
                if isinstance(step, ByOthers) and _is_met(mine, theirs) and not _moved(splices[index], base, step):
                    length = len(mine.lines)
                elif _in_the_way(mine, theirs, near):
                    return Conflict(mine, theirs, index, number)
                elif theirs.stop <= mine.start:
                    offset += theirs.shift
            start = mine.start + offset
            moved.append(replace(mine, start=start, stop=start + length))
        at = tuple(moved)
    return at


def _is_met(mine: Splice, theirs: Splice) -> bool:
    """Is `theirs` the very change that `mine` is?"""
    same = (theirs.start, theirs.stop, theirs.lines) == (mine.start, mine.stop, mine.lines)
    return same and (mine.breaks is None or mine.breaks == theirs.breaks)


def _moved(removal: Splice, base: Sequence[bytes], step: Sequence[Splice]) -> bool:
    """Does `step` put the lines that `removal` removes from `base` somewhere else? False of what adds lines itself."""
    lines = tuple(base[removal.start : removal.stop])
    if removal.lines or not lines:
        return False
    return any(
        other.lines[at : at + len(lines)] == lines for other in step for at in range(len(other.lines) - len(lines) + 1)
    )


def _in_the_way(mine: Splice, theirs: Splice, beside: int) -> bool:
    """Does `theirs` change a line that `mine` needs, or put one between them?"""
    if theirs.start == theirs.stop:
        first, last = mine.start - beside, mine.stop + beside
        return first < theirs.start < last or (theirs.start == mine.start == mine.stop)
    return theirs.start < mine.stop + beside and theirs.stop > mine.start - beside


def touched(splices: Iterable[Splice], length: int) -> list[tuple[int, int]]:
    """The lines that a plan depends on: those it replaces, and for an insertion the ones on both sides."""
    return [(s.start, s.stop) if s.start < s.stop else (max(s.start - 1, 0), min(s.start + 1, length)) for s in splices]
