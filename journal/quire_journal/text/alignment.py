"""Alignment: differences between two texts as git aligns them, each marked as sure or not.

Repeated lines allow several shortest alignments. This module computes some, and slides every change to git's place:
down as far as possible, or to a change of the other text. Where alignments disagree, the change is not sure. As git
ignores frequent lines among lines without a match, alignments without those are computed, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from quire_journal.text.line_diff import Block, common_lines, unique_pairs

FEW_PAIRS: Final = 300 * 300
"""Maximum product of line counts aligned whole; larger texts are cut at long runs of unique lines."""

MOST_PAIRS: Final = 4_000 * 4_000
"""Maximum product of line counts of a piece; a larger piece is one unsure change."""

MARGIN: Final = 32
"""Lines of the common ends into which changes may slide; doubled as needed."""

RUN: Final = 8

SCANNED: Final = 100
"""Lines on either side of a frequent line in which unmatched lines are counted."""

ALONE: Final = 4
"""A frequent line is ignored if fewer than one in `ALONE` lines around it has a match."""

MOST_STEPS: Final = 128

_Lines = Sequence[int]
_Pairs = list[tuple[int, int]]
_Matches = tuple[Sequence[int], Sequence[int]]


class AlignedChange(msgspec.Struct, frozen=True):
    """Replacement of lines start..stop of one text by lines begin..end of the other. `sure`: all alignments agree."""

    start: int
    stop: int
    begin: int
    end: int
    sure: bool = True

    @property
    def shift(self) -> int:
        return self.end - self.begin - (self.stop - self.start)


def changes_between(a: _Lines, b: _Lines) -> list[AlignedChange]:
    """Return the changes that turn `a` into `b`, in order; the lines between them are matched by all alignments."""
    head, tail = common_lines(a, b)
    if head == len(a) == len(b):
        return []
    in_a, in_b = Counter(a), Counter(b)
    found: list[AlignedChange] = []
    for i, j, k, m in _pieces(a, b, head, tail):
        one, other = a[i:j], b[k:m]
        if one != other:
            matches = [in_b[line] for line in one], [in_a[line] for line in other]
            inside = _changes_in(one, other, matches, (len(a), len(b)))
            found += [AlignedChange(c.start + i, c.stop + i, c.begin + k, c.end + k, c.sure) for c in inside]
    return found


def _pieces(a: _Lines, b: _Lines, head: int, tail: int) -> Iterator[Block]:
    stop_a, stop_b = len(a) - tail, len(b) - tail
    i = k = 0
    if (stop_a - head) * (stop_b - head) > FEW_PAIRS:
        for x, y in _middles(unique_pairs(a[head:stop_a], b[head:stop_b])):
            yield i, x + head, k, y + head
            i, k = x + head + 1, y + head + 1
    yield i, len(a), k, len(b)


def _middles(pairs: _Pairs) -> Iterator[tuple[int, int]]:
    run = 0
    for number, (i, k) in enumerate(pairs):
        run = run + 1 if number and pairs[number - 1] == (i - 1, k - 1) else 1
        if not run % RUN:
            yield pairs[number - RUN // 2]


def _changes_in(a: _Lines, b: _Lines, matches: _Matches, lengths: tuple[int, int]) -> list[AlignedChange]:
    head, tail = common_lines(a, b)
    if (len(a) - head - tail) * (len(b) - head - tail) > MOST_PAIRS:
        return [AlignedChange(head, len(a) - tail, head, len(b) - tail, sure=False)]
    ways = _ways(a, b, matches, lengths, head, tail)
    margin = MARGIN
    while True:
        above, below = min(head, margin), min(tail, margin)
        start, stop_a, stop_b = head - above, len(a) - tail + below, len(b) - tail + below
        window = a[start:stop_a], b[start:stop_b]
        placed = [_placed(*window, pairs, above, below) for pairs in ways]
        found = [*_agreed(placed, stop_a - start, stop_b - start)]
        open_above = start and not found[0].start
        open_below = stop_a < len(a) and found[-1].stop == stop_a - start
        if not (open_above or open_below):
            return [
                AlignedChange(c.start + start, c.stop + start, c.begin + start, c.end + start, c.sure) for c in found
            ]
        margin *= 2


# ── alignments ──────────────────────────────────────────────────────


def _ways(a: _Lines, b: _Lines, matches: _Matches, lengths: tuple[int, int], head: int, tail: int) -> list[_Pairs]:
    one, other = a[head : len(a) - tail], b[head : len(b) - tail]
    of_one, of_other = (counts[head : len(counts) - tail] for counts in matches)
    found = [*_shortest(one, other)]
    left, right = _left_in(of_one, lengths[0]), _left_in(of_other, lengths[1])
    if len(left) + len(right) < len(one) + len(other):
        rare = _shortest([one[i] for i in left], [other[k] for k in right])
        found += [[(left[i], right[k]) for i, k in pairs] for pairs in rare]
    if len(found) > 1:
        left, right = [i for i in left if of_one[i]], [k for k in right if of_other[k]]
        searched = _by_middles([one[i] for i in left], [other[k] for k in right])
        found += [] if searched is None else [[(left[i], right[k]) for i, k in searched]]
    return found


def _left_in(matches: Sequence[int], length: int) -> list[int]:
    many = 1 << (length.bit_length() + 1) // 2  # somewhat more than the square root
    left = []
    for at, count in enumerate(matches):
        if count >= many:
            above = _around(matches[max(at - SCANNED, 0) : at][::-1], many)
            below = _around(matches[at + 1 : at + 1 + SCANNED], many)
            common, single = above[0] + below[0] + 2, above[1] + below[1]
            if above[1] and below[1] and common * ALONE < common + single:
                continue
        left.append(at)
    return left


def _around(matches: Iterable[int], many: int) -> tuple[int, int]:
    common = single = 0
    for count in matches:
        if 0 < count < many:
            break
        common, single = common + (count > 0), single + (count == 0)
    return common, single


def _shortest(a: _Lines, b: _Lines) -> Iterator[_Pairs]:
    one, other = _outermost(a, b), [(i, k) for k, i in _outermost(b, a)]
    yield one
    if one == other:  # the only shortest alignment
        return
    from rapidfuzz.distance import Indel  # loaded late, as in `line_diff`

    yield other
    for swapped in (False, True):
        equal = [op for op in (Indel.opcodes(b, a) if swapped else Indel.opcodes(a, b)) if op.tag == "equal"]
        runs = (zip(range(op.src_start, op.src_end), range(op.dest_start, op.dest_end), strict=True) for op in equal)
        pairs = [pair for run in runs for pair in run]
        yield [(i, k) for k, i in pairs] if swapped else pairs


def _outermost(a: _Lines, b: _Lines) -> _Pairs:
    """Return the longest common subsequence furthest to one side, bit-parallel (Hyyrö): bit k of a row is 0 where line
    k of `b` lengthens it.
    """
    places: dict[int, int] = {}
    for k, line in enumerate(b):
        places[line] = places.get(line, 0) | 1 << k
    row = every = (1 << len(b)) - 1
    rows = []
    for line in a:
        used = row & places.get(line, 0)
        row = ((row + used) | (row - used)) & every
        rows.append(row)
    pairs: _Pairs = []
    i, k = len(a) - 1, len(b) - 1
    while i >= 0 and k >= 0:
        if rows[i] >> k & 1:
            k -= 1
        elif a[i] == b[k]:
            pairs.append((i, k))
            i, k = i - 1, k - 1
        else:
            i -= 1
    return pairs[::-1]


def _by_middles(a: _Lines, b: _Lines) -> _Pairs | None:
    """Return the common subsequence that git finds by divide and conquer (Myers); None above
    `MOST_STEPS`, as in git.
    """
    pairs: _Pairs = []
    todo = [(0, len(a), 0, len(b))]
    while todo:
        i, j, k, m = todo.pop()
        while i < j and k < m and a[i] == b[k]:
            pairs.append((i, k))
            i, k = i + 1, k + 1
        while i < j and k < m and a[j - 1] == b[m - 1]:
            j, m = j - 1, m - 1
            pairs.append((j, m))
        if i < j and k < m:
            middle = _middle(a, b, i, j, k, m)
            if middle is None:
                return None
            x, y = middle
            todo += [(i, x, k, y), (x, j, y, m)]
    return sorted(pairs)


def _middle(a: _Lines, b: _Lines, i: int, j: int, k: int, m: int) -> tuple[int, int] | None:
    least, most = i - m, j - k
    above, below = i - k, j - m
    odd = (above - below) % 2
    down, up = {above: i}, {below: j}
    first = last = above
    begun = ended = below
    for _ in range(MOST_STEPS):
        first, last = _widened(down, first, last, least, most, -1)
        for diagonal in range(last, first - 1, -2):
            x = down[diagonal - 1] + 1 if down[diagonal - 1] >= down[diagonal + 1] else down[diagonal + 1]
            while x < j and x - diagonal < m and a[x] == b[x - diagonal]:
                x += 1
            down[diagonal] = x
            if odd and begun <= diagonal <= ended and up[diagonal] <= x:
                return x, x - diagonal
        begun, ended = _widened(up, begun, ended, least, most, len(a) + len(b) + 2)
        for diagonal in range(ended, begun - 1, -2):
            x = up[diagonal - 1] if up[diagonal - 1] < up[diagonal + 1] else up[diagonal + 1] - 1
            while x > i and x - diagonal > k and a[x - 1] == b[x - diagonal - 1]:
                x -= 1
            up[diagonal] = x
            if not odd and first <= diagonal <= last and x <= down[diagonal]:
                return x, x - diagonal
    return None


def _widened(reached: dict[int, int], first: int, last: int, least: int, most: int, nowhere: int) -> tuple[int, int]:
    if first > least:
        first -= 1
        reached[first - 1] = nowhere
    else:
        first += 1
    if last < most:
        last += 1
        reached[last + 1] = nowhere
    else:
        last -= 1
    return first, last


# ── places of changes ────────────────────────────────────────────────────────


def _placed(a: _Lines, b: _Lines, pairs: _Pairs, above: int, below: int) -> _Pairs:
    head = [*zip(range(above), range(above), strict=True)]
    tail = [*zip(range(len(a) - below, len(a)), range(len(b) - below, len(b)), strict=True)]
    whole = [*head, *((i + above, k + above) for i, k in pairs), *tail]
    left, right = [i for i, _ in whole], [k for _, k in whole]
    _move(a, left, right, len(b))
    _move(b, right, left, len(a))
    return [*zip(left, right, strict=True)]


def _move(lines: _Lines, kept: list[int], others: list[int], length: int) -> None:
    """Slide the changes of one text to git's places. `kept` are the numbers of its unchanged lines, which are moved in
    place, `others` those of the other text.

    A change slides over a kept line equal to its first or last line: up, then down as far as possible, then up to a
    change of the other text. It joins changes that it meets.
    """
    last = len(kept)

    def bounds(gap: int) -> tuple[int, int]:
        return (kept[gap - 1] + 1 if gap else 0), (kept[gap] if gap < last else len(lines))

    def is_beside(gap: int) -> bool:
        return (others[gap - 1] + 1 if gap else 0) < (others[gap] if gap < last else length)

    gap = 0
    while gap <= last:
        start, stop = kept[gap - 1] + 1 if gap else 0, kept[gap] if gap < last else len(lines)
        if start == stop:  # the common case
            gap += 1
            continue
        size = -1
        while size != stop - start:
            size, back = stop - start, -1
            while gap and lines[start - 1] == lines[stop - 1]:
                gap -= 1
                kept[gap] = stop - 1
                start, stop = bounds(gap)
            highest = stop
            if is_beside(gap):
                back = gap
            while gap < last and lines[start] == lines[stop]:
                kept[gap] = start
                gap += 1
                start, stop = bounds(gap)
                if is_beside(gap):
                    back = gap
        while stop != highest and back >= 0 and gap > back:
            gap -= 1
            kept[gap] = stop - 1
            start, stop = bounds(gap)
        gap += 1


def _agreed(ways: Sequence[_Pairs], length: int, other: int) -> Iterator[AlignedChange]:
    shared = set(ways[0]).intersection(*ways[1:])
    most = [0] * len(ways)
    at = [0, 0]
    for i, k in [*sorted(shared), (length, other)]:
        inside = 0
        for number, pairs in enumerate(ways):
            begun = most[number]
            while most[number] < len(pairs) and pairs[most[number]] < (i, k):
                most[number] += 1
            inside += most[number] - begun
            most[number] += 1
        if at != [i, k]:
            yield AlignedChange(at[0], i, at[1], k, not inside)
        at = [i + 1, k + 1]
