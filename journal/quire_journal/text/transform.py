"""Transform: transfer of changes from one version of a text to a later version. A splice keeps its lines, or is
reported as blocked by another change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from quire_journal.model import pause
from quire_journal.text.line_diff import diff
from quire_journal.text.splice import Along, Splice, apply, clash
from quire_journal.text.text import Text


class BlockedSplice(msgspec.Struct, frozen=True):
    """Splice blocked by another change of its lines, which are now `start..stop`."""

    splice: Splice  # in the line numbers of the base
    start: int
    stop: int
    cause: Splice | None = None  # the other half of a moved block, which was blocked or met (`three_way`)


class CarriedSplices(msgspec.Struct, frozen=True):
    splices: tuple[Splice, ...]  # in the line numbers of the result
    blocked: tuple[BlockedSplice, ...] = ()
    met: tuple[Splice, ...] = ()  # splices of the base that the other side made, too


def changes(a: Text, b: Text) -> tuple[Splice, ...]:
    """Return the splices that turn `a` into `b`; a line of which only the break differs is changed. Byte order mark and
    final break belong to no line.
    """
    return diff(_ended(a), _ended(b))


def _ended(text: Text) -> Text:
    if text.final_break:
        return text
    return Text(text.bom, text.lines, [*text.breaks[:-1], text.break_for(len(text) - 1)])


def carry(splices: Sequence[Splice], over: Sequence[Splice]) -> CarriedSplices:
    """Return `splices` in the line numbers after `over`, and those that are blocked; both are sorted splices of one
    text. Touching changes are no conflict; two unequal insertions into one gap are.
    """
    done: list[Splice] = []
    blocked: list[BlockedSplice] = []
    met: list[Splice] = []
    moved = i = 0
    for s in splices:
        while i < len(over) and _before(over[i], s):
            moved += over[i].shift
            i += 1
        other = over[i] if i < len(over) else None
        if other is None or not clash(other, s):
            done.append(Splice(s.start + moved, s.stop + moved, s.lines, s.breaks))
        elif (other.start, other.stop, other.lines) == (s.start, s.stop, s.lines):
            met.append(s)
        else:
            start = other.start + moved
            blocked.append(BlockedSplice(s, start, start + len(other.lines)))
    return CarriedSplices(tuple(done), tuple(blocked), tuple(met))


def _before(other: Splice, s: Splice) -> bool:
    return other.stop <= s.start and other.start != s.stop


def three_way(base: Text, mine: Text, theirs: Text, cuts: bool = False) -> tuple[Text, CarriedSplices]:
    """Return `theirs` with the changes from `base` to `mine`, and what was blocked. Where both changed the same lines,
    those of `theirs` stay.

    A moved block that is blocked at one end is blocked at both, so that no line is doubled or lost. `cuts`: a removal
    by `mine` is blocked only for the lines that `theirs` replaced or moved; lines that `theirs` inserted among them
    stay.
    """
    wanted, over = changes(base, mine), changes(base, theirs)
    carried = carry(wanted, over)
    pause()
    if cuts and any(not b.splice.lines for b in carried.blocked):
        wanted = _cut(wanted, over, base)
        carried = carry(wanted, over)
    if carried.blocked or carried.met:
        carried = _without_half(carried, wanted, base, mine)
    final_break = mine.final_break if mine.final_break != base.final_break else theirs.final_break
    bom = mine.bom if mine.bom != base.bom else theirs.bom
    pause()
    made = apply(theirs, carried.splices, final_break=final_break)
    return Text(bom, made.lines, made.breaks), carried


def _cut(wanted: Sequence[Splice], over: Sequence[Splice], base: Text) -> tuple[Splice, ...]:
    """Return `wanted`, the splices of one side, with each removal cut at the changes of `over`, and without lines that
    both only removed. Lines that either side may have moved are not cut.
    """
    along, put, put_by_theirs = Along(over), {*_put(wanted)}, {*_put(over)}
    found: list[Splice] = []
    for s in wanted:
        pause()
        if s.lines or not put.isdisjoint(base.lines[s.start : s.stop]):
            found.append(s)
            continue
        at = s.start
        for other in along.near(s.start, s.stop)[1]:
            start, stop = max(other.start, s.start), min(other.stop, s.stop)
            if at < start:
                found.append(Splice(at, start, (), ()))
            if start < stop and (other.lines or not put_by_theirs.isdisjoint(base.lines[start:stop])):
                found.append(Splice(start, stop, (), ()))
            at = max(at, stop)
        if at < s.stop:
            found.append(Splice(at, s.stop, (), ()))
    return tuple(found)


def _put(splices: Sequence[Splice]) -> Iterator[bytes]:
    return (line for s in splices for line in s.lines)


def _without_half(carried: CarriedSplices, wanted: Sequence[Splice], base: Text, mine: Text) -> CarriedSplices:
    blocked, met = {b.splice: b for b in carried.blocked}, {*carried.met}
    done = dict(zip((s for s in wanted if s not in blocked and s not in met), carried.splices, strict=True))
    others: dict[Splice, list[Splice]] = {}
    todo = [(s, s) for s in blocked]
    for taken, put in _halves(wanted, base, mine):
        others.setdefault(taken, []).append(put)
        others.setdefault(put, []).append(taken)
        todo += [(put, taken)] if taken in met else []
    while todo:
        one, cause = todo.pop()
        now = done.pop(one, None)
        if now is not None:
            blocked[one] = BlockedSplice(one, now.start, now.stop, cause)
        if one in blocked:
            todo += [(other, cause) for other in others.pop(one, ())]
    in_order = sorted(blocked.values(), key=lambda b: b.splice.start)
    return CarriedSplices(tuple(done.values()), tuple(in_order), carried.met)


def _halves(splices: Sequence[Splice], base: Text, mine: Text) -> Iterator[tuple[Splice, Splice]]:
    put = {line: s for s in splices for line in s.lines}
    taken = {line: s for s in splices for line in base.lines[s.start : s.stop] if line in put}
    counts = [Counter(filter(taken.__contains__, text.lines)) for text in (base, mine)]
    once = (line for line in taken if all(count[line] == 1 for count in counts))
    yield from {(taken[line], put[line]): None for line in once if taken[line] is not put[line]}
