"""Line ranges, and set operations on them."""

from __future__ import annotations

from collections.abc import Iterable

LineRange = tuple[int, int]
"""Lines start..stop, 0-based, half-open."""

Ranges = tuple[LineRange, ...]


def ranges_of(lines: Iterable[int]) -> Ranges:
    """Return these lines as sorted ranges that neither overlap nor touch."""
    out: list[LineRange] = []
    first = last = -2
    for line in sorted(lines):
        if line > last + 1:
            if last >= 0:
                out.append((first, last + 1))
            first = line
        last = line
    if last >= 0:
        out.append((first, last + 1))
    return tuple(out)


def without(ranges: Iterable[LineRange], others: Iterable[LineRange]) -> Ranges:
    """Return the lines of `ranges` that are not in `others`, as sorted ranges that neither overlap nor touch."""
    out: list[LineRange] = []
    taken, at = merge_ranges(others), 0
    for start, stop in merge_ranges(ranges):
        while at < len(taken) and taken[at][0] < stop:
            first, last = taken[at]
            if start < first:
                out.append((start, first))
            start = max(start, last)
            if last > stop:
                break
            at += 1
        if start < stop:
            out.append((start, stop))
    return tuple(out)


def merge_ranges(ranges: Iterable[LineRange]) -> Ranges:
    """Return the union as sorted ranges that neither overlap nor touch."""
    out: list[LineRange] = []
    first = last = -1
    for start, stop in sorted([r for r in ranges if r[0] < r[1]]):
        if start > last:
            if last >= 0:
                out.append((first, last))
            first, last = start, stop
        elif stop > last:
            last = stop
    if last >= 0:
        out.append((first, last))
    return tuple(out)
