"""Splices: replace lines `start..stop` of a stated base by these lines.

A plan is a sorted tuple of splices that do not overlap, all in the coordinates of one base. Everything that
changes a text in Quire is such a plan, so staleness, merge, undo and blame share one shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quire_journal.text import Text


@dataclass(frozen=True, slots=True)
class Splice:
    """Replace lines [start, stop) by `lines` (contents, without breaks). start == stop inserts before line start."""

    start: int
    stop: int
    lines: tuple[bytes, ...] = ()
    breaks: tuple[bytes, ...] | None = None  # of `lines`, where they are known; else by the rule of `apply`

    @property
    def shift(self) -> int:
        """By how many lines everything after it moves."""
        return len(self.lines) - (self.stop - self.start)


def apply(base: Text, splices: Sequence[Splice], final_break: bool | None = None) -> Text:
    """`base` after `splices` (sorted, not overlapping).

    A new line takes the break of the line it replaces, else of the nearest line before, else after, else LF.
    Whether the last line has a break is a property of the file and kept, unless `final_break` says otherwise.
    """
    lines: list[bytes] = []
    breaks: list[bytes] = []
    at = 0
    for s in splices:
        if not (at <= s.start <= s.stop <= len(base)):
            raise ValueError(f"splice {s.start}..{s.stop} overlaps the one before or leaves the {len(base)} lines")
        lines += base.lines[at : s.start]
        breaks += base.breaks[at : s.start]
        lines += s.lines
        if s.breaks is not None:
            breaks += s.breaks
        else:
            for i in range(len(s.lines)):
                own = base.breaks[s.start + i] if s.start + i < s.stop else b""
                breaks.append(own or base.break_for(s.start + i if s.start + i < s.stop else max(s.stop, s.start + 1) - 1 if s.stop > s.start else s.start - 1))
        at = s.stop
    lines += base.lines[at:]
    breaks += base.breaks[at:]
    keep = base.final_break if final_break is None else final_break
    for i in range(len(breaks) - 1):
        if not breaks[i]:
            breaks[i] = base.break_for(len(base) - 1)
    if breaks:
        if not keep:
            breaks[-1] = b""
        elif not breaks[-1]:
            breaks[-1] = base.break_for(len(base) - 1)
    return Text(base.bom, lines, breaks)


def shift_line(splices: Iterable[Splice], line: int) -> int | None:
    """Where line `line` of the base is afterwards; None when a splice replaced or removed it."""
    moved = line
    for s in splices:
        if s.stop <= line and not (s.start == s.stop == line and False):
            moved += s.shift
        elif s.start <= line < s.stop:
            return None
    return moved


def carry_ranges(splices: Sequence[Splice], ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines of `ranges` that survive `splices`, as ranges in the result."""
    out: list[tuple[int, int]] = []
    for start, stop in ranges:
        at, moved = start, 0
        for s in splices:
            if s.stop <= at:
                moved += s.shift
            elif s.start < stop:
                if at < s.start:
                    out.append((at + moved, s.start + moved))
                at = max(at, s.stop)
                moved += s.shift
            else:
                break
        if at < stop:
            out.append((at + moved, stop + moved))
    return out
