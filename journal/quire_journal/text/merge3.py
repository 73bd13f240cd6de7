"""Three-way merge of two changed versions of one base: diff3 on git's lines, tested against `git merge-file`.

Changes of both sides that overlap or touch form a region, which is merged if only one side changed it or both surely
made the same change. `alignment` first gives every change one place, so that a block added by both sides is added once;
equal lines added only near each other are a conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from quire_journal.text.alignment import AlignedChange, changes_between
from quire_journal.text.line_diff import Block
from quire_journal.text.text import BOM, Text, shown

NEAR: Final = 3
"""Maximum number of unchanged lines between equal additions of both sides in a region."""


class Contradiction(msgspec.Struct, frozen=True):
    """Region that the sides changed differently: lines start..stop of the base, and each side's lines."""

    start: int
    stop: int
    base: tuple[bytes, ...]
    mine: tuple[bytes, ...]
    theirs: tuple[bytes, ...]

    def as_shown(self) -> dict[str, list[str]]:
        sides = (("base", self.base), ("theirs", self.theirs), ("yours", self.mine))
        return {name: [shown(line) for line in lines] for name, lines in sides}


class MergeResult(msgspec.Struct, frozen=True):
    """Merged text. In conflicts, `text` has the lines of `theirs`."""

    text: Text
    conflicts: tuple[Contradiction, ...] = ()
    met: tuple[Block, ...] = ()  # equal changes of both sides: lines i..j of the base, and k..m of `theirs`


def merge(base: Text, mine: Text, theirs: Text) -> MergeResult:
    was, left, right = (_lines(text.data) for text in (base, mine, theirs))
    a, b, c = _numbered(was, left, right)
    out: list[bytes] = []
    conflicts: list[Contradiction] = []
    met: list[Block] = []
    at = 0
    for region in _regions(changes_between(a, b), changes_between(a, c), left, right):
        out += was[at : region.start]
        at = region.stop
        (k, m), (p, q) = region.of(region.mine), region.of(region.theirs)
        out += right[p:q] if region.theirs else left[k:m]
        if region.mine and region.theirs:
            sure = b == c or all(change.sure for change in (*region.mine, *region.theirs))
            if sure and left[k:m] == right[p:q]:
                met.append((region.start, at, p, q))
            else:
                three = was[region.start : at], left[k:m], right[p:q]
                conflicts.append(Contradiction(region.start, at, *map(_contents, three)))
    out += was[at:]
    return MergeResult(Text.of(b"".join(out)), tuple(conflicts), tuple(met))


def _lines(data: bytes) -> list[bytes]:
    """Return the lines as git splits them, with LF; a CR or a byte order mark is content."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _numbered(*texts: Sequence[bytes]) -> list[list[int]]:
    numbers: dict[bytes, int] = {}
    return [[numbers.setdefault(line, len(numbers)) for line in lines] for lines in texts]


def _contents(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(line.rstrip(b"\r\n").removeprefix(BOM) for line in lines)


class _Region(msgspec.Struct):
    start: int
    stop: int
    moved: tuple[int, int]  # shift of the region by earlier changes, in `mine` and in `theirs`
    mine: list[AlignedChange]
    theirs: list[AlignedChange]

    def of(self, changes: Sequence[AlignedChange]) -> tuple[int, int]:
        by = self.moved[changes is self.theirs]
        return self.start + by, self.stop + by + sum(change.shift for change in changes)


def _regions(
    mine: Sequence[AlignedChange], theirs: Sequence[AlignedChange], left: Sequence[bytes], right: Sequence[bytes]
) -> Iterator[_Region]:
    tagged = sorted([(c.start, c.stop, 0, c) for c in mine] + [(c.start, c.stop, 1, c) for c in theirs], key=_place)
    region: _Region | None = None
    moved = [0, 0]
    for start, stop, side, change in tagged:
        if region is not None and start > region.stop and not _near(region, change, side, left, right):
            yield region
            region = None
        if region is None:
            region = _Region(start, stop, (moved[0], moved[1]), [], [])
        region.stop = max(region.stop, stop)
        (region.theirs if side else region.mine).append(change)
        moved[side] += change.shift
    if region is not None:
        yield region


def _place(tagged: tuple[int, int, int, AlignedChange]) -> tuple[int, int, int]:
    return tagged[:3]


def _near(region: _Region, change: AlignedChange, side: int, left: Sequence[bytes], right: Sequence[bytes]) -> bool:
    """True if the change is a few lines below a region of the other side alone, and one side adds only lines that the
    other side adds, too.
    """
    others = region.mine if side else region.theirs
    if change.start - region.stop > NEAR or bool(region.mine and region.theirs):
        return False
    one = {line for c in others for line in (left if side else right)[c.begin : c.end]}
    other = {*(right if side else left)[change.begin : change.end]}
    return any(map(_says_something, one & other)) and (one <= other or other <= one)


def _says_something(line: bytes) -> bool:
    return re.search(rb"[\w\x80-\xff]", line) is not None
