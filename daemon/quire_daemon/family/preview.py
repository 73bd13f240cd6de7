"""Preview of a merge: which lines another checkout changed, and whether both versions merge. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from quire_journal.text import Splice, Text, diff, merge

MOST_RANGES: Final = 20


class Preview(msgspec.Struct, frozen=True):
    """The lines of a file that another checkout changed, and the number of merge conflicts."""

    lines: tuple[tuple[int, int], ...]  # of the own file, from 1, inclusive; (5, 4): an addition before line 5
    conflicts: int  # hunks of the merge in conflict, as `git merge-file` counts; 0: the merge is clean


def preview(base: bytes, mine: bytes, theirs: bytes, count: Callable[[bytes, bytes, bytes], int]) -> Preview | None:
    """Preview the merge of `theirs` into `mine`, both made from `base`; None if `theirs` equals `base` or `mine`.
    `count` lets git count conflicts.
    """
    if theirs in (base, mine):
        return None
    was, ours, other = Text.of(base), Text.of(mine), Text.of(theirs)
    lines = placed(diff(was, other), diff(was, ours))[:MOST_RANGES]
    clean = mine == base or not merge(was, ours, other).conflicts
    return Preview(tuple(lines), 0 if clean else count(base, mine, theirs))


def placed(theirs: Sequence[Splice], mine: Sequence[Splice]) -> list[tuple[int, int]]:
    """Return the line ranges (from 1, inclusive) that `theirs` changes, in line numbers after `mine`. Both are edits of
    one base.
    """
    found: list[tuple[int, int]] = []
    for splice in theirs:
        begin, end = _after(mine, splice.start, False), _after(mine, splice.stop, True)
        found.append((begin + 1, max(begin, end)))
    return found


def _after(mine: Sequence[Splice], line: int, is_end: bool) -> int:
    moved = 0
    for splice in mine:
        if splice.stop < line or (splice.stop == line and not (is_end and splice.start == line)):
            moved += splice.shift
        elif splice.start < line:
            return splice.start + moved + (len(splice.lines) if is_end else 0)
        else:
            break
    return line + moved
