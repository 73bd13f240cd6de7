"""The changed lines and some around them for a reply, with fresh anchors, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import Final

from quire_journal.model import Ranges, merge_ranges, ranges_of
from quire_journal.text import LineHashes, Splice, Text

CONTEXT: Final = 3
"""Number of unchanged lines shown on each side of a change."""

MOST_ROWS: Final = 200
"""Maximum number of rows of a reply's diff."""

ROW_CHARS: Final = 1_000
"""Maximum number of characters of a line shown in a row."""


def localised_diff(
    before: Text, after: Text, splices: Sequence[Splice], most: int = MOST_ROWS
) -> tuple[list[str], Ranges, bool]:
    """Return (rows of the change, lines of `after` in these rows, True if rows were left out). A row is ` `, `+` or `-`
    before a line as a hashed read shows it; removed lines have their old number and hash.
    """
    marked = list(islice(_marked(splices, len(after)), most + 1))
    cut = len(marked) > most
    del marked[most:]
    old = iter(LineHashes.of(before).rows_of([line for mark, line in marked if mark == "-"], ROW_CHARS))
    seen = [line for mark, line in marked if mark != "-"]
    new = iter(LineHashes.of(after).rows_of(seen, ROW_CHARS))
    rows = [mark + next(old if mark == "-" else new) for mark, _ in marked]
    return rows, ranges_of(seen), cut


def _marked(splices: Sequence[Splice], length: int) -> Iterator[tuple[str, int]]:
    rows: list[Iterable[tuple[str, int]]] = []
    at = moved = 0
    for index, s in enumerate(splices):
        start = s.start + moved
        rows += zip(repeat(" "), range(max(at, start - CONTEXT), start)), zip(repeat("-"), range(s.start, s.stop))
        at = start + len(s.lines)
        rows.append(zip(repeat("+"), range(start, at)))
        moved += s.shift
        following = splices[index + 1].start + moved if index + 1 < len(splices) else length
        rows.append(zip(repeat(" "), range(at, min(at + CONTEXT, following))))
        at = min(at + CONTEXT, following)
    return chain.from_iterable(rows)


def lines_around(text: Text, ranges: Iterable[tuple[int, int]], most: int) -> tuple[list[int], Ranges]:
    """Return the line numbers (from 0) in and around `ranges`, at most `most`: as a list, and as ranges."""
    wanted = merge_ranges((max(a - CONTEXT, 0), min(b + CONTEXT, len(text))) for a, b in ranges)
    lines = list(islice((line for start, stop in wanted for line in range(start, stop)), most))
    return lines, ranges_of(lines)
