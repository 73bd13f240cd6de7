"""Rebase of a plan from a caller's base over later changes of other writers.

Both sides are merged three-way (`merge3`). The plan is applied only if, however equal lines are matched, an unchanged
line lies between it and the other changes. A splice that another writer has already made identically counts as done.
Over the caller's own changes the plan is mapped line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from quire_journal.text import Block, Splice, Text, apply, clash, diff, merge


class ByOthers(tuple[Splice, ...]):
    """Change made by other writers alone."""


class ByCaller(tuple[Splice, ...]):
    """Change made by the caller, who therefore knows the lines next to it."""


class RebaseConflict(msgspec.Struct, frozen=True):
    """A splice that cannot be rebased, and the conflicting splice of another writer, both of the text `base`."""

    mine: Splice
    theirs: Splice
    index: int  # index of `mine` in the plan
    base: Text


def carried(
    splices: Sequence[Splice],
    steps: Sequence[Sequence[Splice]],
    texts: Sequence[Text],
    final_break: bool | None = None,
    alone: bool = False,
) -> tuple[Splice, ...] | RebaseConflict:
    """Return `splices` rebased over every step, or the first conflict. `texts` has the text before the first step and
    after each; `alone` means that all steps are the caller's. A splice that another writer has already made loses its
    effect.
    """
    at = tuple(splices)
    stop = 0
    for kind, run in groupby(steps, type):
        start, stop = stop, stop + sum(1 for _ in run)
        if kind is ByCaller or alone:
            moved = _over_own(at, steps[start:stop], texts[start:stop])
        else:
            moved = _over_others(at, texts[start], texts[stop], final_break, known=kind is ByOthers)
        if isinstance(moved, RebaseConflict):
            return moved
        at = moved
    return at


def without_others(steps: Sequence[Sequence[Splice]], texts: Sequence[Text]) -> Text | None:
    """Return the first text with only the caller's steps applied; None if they conflict with those of other writers."""
    view = texts[0]
    for step, before, after in zip(steps, texts, texts[1:], strict=False):
        if isinstance(step, ByCaller):
            merged = merge(before, after, view)
            if merged.conflicts:
                return None
            view = merged.text
    return view


def _over_own(
    splices: Sequence[Splice], steps: Sequence[Sequence[Splice]], texts: Sequence[Text]
) -> tuple[Splice, ...] | RebaseConflict:
    at = [*splices]
    for step, before in zip(steps, texts, strict=True):
        for index, mine in enumerate(at):
            if (own := next((own for own in step if clash(mine, own)), None)) is not None:
                return RebaseConflict(mine, own, index, before)
            at[index] = _at(mine, sum(own.shift for own in step if own.stop <= mine.start))
    return tuple(at)


def _over_others(
    splices: Sequence[Splice], before: Text, after: Text, final_break: bool | None, known: bool
) -> tuple[Splice, ...] | RebaseConflict:
    """Return splices of `before` as splices of `after`, or a conflict. `known`: certainly no change between the two
    texts is the caller's.
    """
    merged = merge(before, apply(before, splices, final_break), after)
    theirs = diff(before, after)
    if merged.conflicts:
        return _conflict(splices, theirs, before, merged.conflicts[0].start, merged.conflicts[0].stop)
    for start, stop, *_ in merged.met:
        removed = [s for s in splices if start <= s.start and s.stop <= stop]
        if not known or any(_moved(s, before, theirs) for s in removed):
            return _conflict(splices, theirs, before, start, stop)
    moved = _placed(splices, theirs, merged.met, after)
    if _lands(moved, after, final_break, merged.text):
        return moved
    moved = diff(after, merged.text)  # splices may include unchanged lines
    if _lands(moved, after, final_break, merged.text):
        return moved
    last = len(before)  # `final_break` contradicts another writer's change of the last line
    return _conflict(splices, theirs, before, last, last)


def _lands(splices: Sequence[Splice], after: Text, final_break: bool | None, merged: Text) -> bool:
    try:
        return apply(after, splices, final_break).data == merged.data
    except ValueError:
        return False


def _placed(
    splices: Sequence[Splice], theirs: Sequence[Splice], met: Sequence[Block], after: Text
) -> tuple[Splice, ...]:
    """Return each splice at its new line number; a splice that another writer has already made replaces lines by
    themselves.
    """
    placed = [Splice(k, m, tuple(after.lines[k:m]), tuple(after.breaks[k:m])) for _, _, k, m in met]
    rest = (mine for mine in splices if not any(i <= mine.start and mine.stop <= j for i, j, *_ in met))
    placed += [_at(mine, sum(s.shift for s in theirs if s.stop <= mine.start)) for mine in rest]
    return tuple(sorted(placed, key=lambda s: (s.start, s.stop)))


def _at(splice: Splice, offset: int) -> Splice:
    return replace(splice, start=splice.start + offset, stop=splice.stop + offset)


def _conflict(
    splices: Sequence[Splice], theirs: Sequence[Splice], before: Text, start: int, stop: int
) -> RebaseConflict:
    length = len(before)
    last = Splice(max(length - 1, 0), length, tuple(before.lines[-1:]))
    splices = splices or (last,)  # only the last line's break differs

    def far(s: Splice) -> int:
        return max(s.start - stop, start - s.stop, 0)

    index = min(range(len(splices)), key=lambda at: far(splices[at]))
    nearest = min(theirs, key=far, default=Splice(start, start))  # a byte order mark is no splice
    return RebaseConflict(splices[index], nearest, index, before)


def _moved(removal: Splice, before: Text, theirs: Sequence[Splice]) -> bool:
    lines = tuple(before.lines[removal.start : removal.stop])
    if removal.lines or not lines:
        return False
    return any(
        other.lines[at : at + len(lines)] == lines
        for other in theirs
        for at in range(len(other.lines) - len(lines) + 1)
    )


def touched(splices: Iterable[Splice], length: int) -> list[tuple[int, int]]:
    """Return the ranges of lines that a plan replaces, and of the lines next to its insertions."""
    return [(s.start, s.stop) if s.start < s.stop else (max(s.start - 1, 0), min(s.start + 1, length)) for s in splices]
