"""Three-way merge: what two sides made of one base, put together where they do not contradict each other.

diff3 on line diffs, as `git merge-file` does it: changes by both sides that overlap or touch are one region; where
both sides made the same of it, or only one changed it, that is taken, otherwise it is a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from quire_journal.diff import diff
from quire_journal.splice import Splice
from quire_journal.text import Text, shown

Line = tuple[bytes, bytes]  # content, break


class Contradiction(msgspec.Struct, frozen=True):
    """A region that both sides changed in different ways. Lines start..stop of the base, and what each made of them."""

    start: int
    stop: int
    base: tuple[bytes, ...]
    mine: tuple[bytes, ...]
    theirs: tuple[bytes, ...]

    def as_shown(self) -> dict[str, list[str]]:
        """The three sides as a refusal shows them."""
        sides = (("base", self.base), ("theirs", self.theirs), ("yours", self.mine))
        return {name: [shown(line) for line in lines] for name, lines in sides}


class Merged(msgspec.Struct, frozen=True):
    """The result. With conflicts, `text` has the lines of `theirs` there."""

    text: Text
    conflicts: tuple[Contradiction, ...] = ()


def merge(base: Text, mine: Text, theirs: Text) -> Merged:
    """What `mine` and `theirs` made of `base`, together."""
    lines: list[Line] = []
    conflicts: list[Contradiction] = []
    at = 0
    for region in _regions(diff(base, mine), diff(base, theirs)):
        lines += _lines(base, at, region.start, ())
        at = region.stop
        was = _lines(base, region.start, region.stop, ())
        left = _lines(base, region.start, region.stop, region.mine)
        right = _lines(base, region.start, region.stop, region.theirs)
        lines += left if right == was else right
        if left != right and left != was and right != was:
            sides = (tuple(content for content, _ in side) for side in (was, left, right))
            conflicts.append(Contradiction(region.start, region.stop, *sides))
    lines += _lines(base, at, len(base), ())
    bom = mine.bom if theirs.bom == base.bom else theirs.bom
    contents, breaks = [content for content, _ in lines], [ending for _, ending in lines]
    return Merged(Text.of(Text(bom, contents, breaks).data), tuple(conflicts))  # a CR and an LF may have met


class _Region(msgspec.Struct):
    """Changes of both sides that overlap or touch: lines start..stop of the base."""

    start: int
    stop: int
    mine: list[Splice]
    theirs: list[Splice]


def _regions(mine: Sequence[Splice], theirs: Sequence[Splice]) -> Iterator[_Region]:
    """The regions, in order."""
    tagged = sorted([(s.start, s.stop, 0, s) for s in mine] + [(s.start, s.stop, 1, s) for s in theirs], key=_place)
    region: _Region | None = None
    for start, stop, side, s in tagged:
        if region is None or start > region.stop:
            if region is not None:
                yield region
            region = _Region(start, stop, [], [])
        region.stop = max(region.stop, stop)
        (region.theirs if side else region.mine).append(s)
    if region is not None:
        yield region


def _place(tagged: tuple[int, int, int, Splice]) -> tuple[int, int, int]:
    return tagged[:3]


def _lines(base: Text, start: int, stop: int, splices: Sequence[Splice]) -> list[Line]:
    """Lines start..stop of `base` after `splices`, which lie in there."""
    out: list[Line] = []
    at = start
    for s in splices:
        out += zip(base.lines[at : s.start], base.breaks[at : s.start], strict=True)
        out += zip(s.lines, s.breaks or [b"\n"] * len(s.lines), strict=True)
        at = s.stop
    out += zip(base.lines[at:stop], base.breaks[at:stop], strict=True)
    return out
