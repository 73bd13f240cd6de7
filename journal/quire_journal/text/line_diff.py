"""Diff of two texts as splices of the first. Lines are equal if content and break are. The diff is a longest common
subsequence (rapidfuzz' Indel: bit-parallel, minimal); large pieces are first split at lines unique on each side, as
memory grows with the product of both sides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Final

from quire_journal.model import paced, pause
from quire_journal.text.splice import Splice
from quire_journal.text.text import Text

Block = tuple[int, int, int, int]

MOST_PAIRS: Final = 8_000 * 8_000
"""Maximum product of line counts compared at once; larger pieces are split, or replaced whole."""

_AT_ONCE: Final = 1024  # lines numbered between two pauses
_STEPS: Final = (256, 16, 1)
_SMALL: Final = 256  # bytes up to which the first difference is found by arithmetic; most changes are no larger
_Lines = Sequence[Any]


def diff(a: Text, b: Text) -> tuple[Splice, ...]:
    """Return the splices that turn `a` into `b`, except for a BOM: `apply(a, diff(a, b), b.final_break)` is `b`."""
    pause()
    head, tail = common_ends(a, b)
    a_stop, b_stop = len(a) - tail, len(b) - tail
    if head in (a_stop, b_stop):
        differing = [(head, a_stop, head, b_stop)] if head < a_stop or head < b_stop else []
    elif head + 1 == a_stop == b_stop:
        differing = [(head, a_stop, head, b_stop)]  # most changes: one unequal line on each side
    else:
        found = _different(*_interned(a, b, head, a_stop, b_stop))
        differing = [(i + head, j + head, k + head, m + head) for i, j, k, m in found]
    return tuple(Splice(i, j, tuple(b.lines[k:m]), tuple(b.breaks[k:m])) for i, j, k, m in paced(differing))


def common_ends(a: Text, b: Text) -> tuple[int, int]:
    """Count equal lines at the beginning, and of the remaining lines those at the end."""
    most = min(len(a), len(b))
    head = min(_common_start(a.lines, b.lines, most), _common_start(a.breaks, b.breaks, most))
    most -= head
    tail = min(_common_end(a.lines, b.lines, most), _common_end(a.breaks, b.breaks, most))
    return head, tail


def common_bytes(a: bytes, b: bytes) -> tuple[int, int]:
    """Return `common_ends` in bytes of whole lines. A byte order mark is part of the first line."""
    head = same_start(a, b)
    if not (_line_begins(a, head) and _line_begins(b, head)):
        feed = a.rfind(b"\n", 0, head)
        # A lone CR that is the last byte in common may be half of a CRLF on one side.
        head = max(feed, a.rfind(b"\r", feed + 1, head - 1)) + 1
    tail = same_end(a, b, head)
    if not (_line_begins(a, len(a) - tail) and _line_begins(b, len(b) - tail)):
        tail = len(a) - _next_line(a, len(a) - tail)
    return head, tail


def blocks(a: _Lines, b: _Lines) -> list[Block]:
    """Return the differing blocks of two line sequences, of which neither the first nor the last lines are equal:
    (i, j, k, m) says that lines i..j of `a` became lines k..m of `b`.
    """
    return _different(*_numbered(a, b)) if a or b else []


def slid_down(found: Sequence[Block], new: _Lines, old_stop: int) -> tuple[list[Block], int]:
    """Return `found`, the differing blocks, with added lines as far down as equal lines allow, and by how many lines
    the last block moved. `new` has the new lines, `old_stop` is the number of old lines, both with the equal lines
    below.
    """
    slid: list[Block] = []
    down = 0
    for n, (i, j, k, m) in enumerate(found):
        stop = found[n + 1][0] - 1 if n + 1 < len(found) else old_stop
        down = 0
        while i == j and i + down < stop and new[k + down] == new[m + down]:
            down += 1
        slid.append((i + down, j + down, k + down, m + down))
    return slid, down


def _different(a: list[int], b: list[int]) -> list[Block]:
    if set(a).isdisjoint(b):  # most changes of one or two lines
        return [(0, len(a), 0, len(b))]
    return list(_joined(_blocks(a, b), a, b))


def _joined(found: Iterable[Block], a: Sequence[int], b: Sequence[int]) -> Iterator[Block]:
    """Yield the blocks, two as one where one only adds or only removes lines and slides over equal lines to the other.
    An edit of successive lines is one block then, also if it repeats the lines below it, such as blank ones.
    """
    last: Block | None = None
    for block in found:
        if last is not None:
            joined = _slid_up(last, block, a, b) or _slid_to_next(last, block, a, b)
            if joined is None:
                yield last
        last = block if last is None else joined or block
    if last is not None:
        yield last


def _slid_up(last: Block, block: Block, a: Sequence[int], b: Sequence[int]) -> Block | None:
    (i, j, k, m), gap = block, block[0] - last[1]
    if i == j and b[k - gap : k] == b[m - gap : m]:
        return last[0], last[1], last[2], m - gap
    if k == m and a[i - gap : i] == a[j - gap : j]:
        return last[0], j - gap, last[2], last[3]
    return None


def _slid_to_next(last: Block, block: Block, a: Sequence[int], b: Sequence[int]) -> Block | None:
    (i, j, k, m), gap = last, block[0] - last[1]
    if i == j and b[k : k + gap] == b[m : m + gap]:
        return block[0], block[1], k + gap, block[3]
    if k == m and a[i : i + gap] == a[j : j + gap]:
        return i + gap, block[1], block[2], block[3]
    return None


def breaks_between(data: bytes, start: int, stop: int) -> int:
    """Count line breaks in data[start:stop], which has whole lines."""
    count = data.count(b"\n", start, stop)
    if data.find(b"\r", start, stop) >= 0:
        count += data.count(b"\r", start, stop) - data.count(b"\r\n", start, stop)
    return count


def same_start(a: bytes, b: bytes) -> int:
    """Count the equal bytes at the start of both."""
    low, high = 0, min(len(a), len(b))
    view = memoryview(a)
    while high - low > _SMALL:
        middle = (low + high) // 2
        if b.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle
    differing = int.from_bytes(a[low:high], "little") ^ int.from_bytes(b[low:high], "little")
    return low + _lowest_bit(differing) // 8 if differing else high


def same_end(a: bytes, b: bytes, after: int) -> int:
    """Count the equal bytes at the end of both, excluding the first `after` bytes."""
    a_len, b_len = len(a), len(b)
    low, high = 0, min(a_len, b_len) - after
    view = memoryview(a)
    likely = high - _SMALL
    if likely > 0 and b.endswith(view[a_len - likely :]):
        low = likely
    while high - low > _SMALL:
        middle = (low + high) // 2
        if b.startswith(view[a_len - middle : a_len - low], b_len - middle):
            low = middle
        else:
            high = middle
    old, new = a[a_len - high : a_len - low], b[b_len - high : b_len - low]
    differing = int.from_bytes(old, "big") ^ int.from_bytes(new, "big")
    return low + _lowest_bit(differing) // 8 if differing else high


def _lowest_bit(number: int) -> int:
    return (number & -number).bit_length() - 1


def _line_begins(data: bytes, at: int) -> bool:
    before = data[at - 1 : at]
    return not at or before == b"\n" or (before == b"\r" and data[at : at + 1] != b"\n")


def _next_line(data: bytes, at: int) -> int:
    feed = data.find(b"\n", at)
    alone = data.find(b"\r", at, feed if feed >= 0 else len(data))
    if alone >= 0 and alone + 1 != feed:
        return alone + 1
    return feed + 1 if feed >= 0 else len(data)


def common_lines(a: _Lines, b: _Lines) -> tuple[int, int]:
    """Count equal lines at the beginning, and of the remaining lines those at the end; a line may be any value."""
    most = min(len(a), len(b))
    head = _common_start(a, b, most)
    return head, _common_end(a, b, most - head)


def first_difference(a: Text, b: Text) -> int:
    """Return the index of the first line whose content differs, ignoring breaks; without a difference, the number of
    lines of the shorter text.
    """
    return _common_start(a.lines, b.lines, min(len(a), len(b)))


def _common_start(a: _Lines, b: _Lines, most: int) -> int:
    at = 0
    for step in _STEPS:  # slices compare at the speed of C
        while at + step <= most and a[at : at + step] == b[at : at + step]:
            at += step
    return at


def _common_end(a: _Lines, b: _Lines, most: int) -> int:
    at, a_len, b_len = 0, len(a), len(b)
    for step in _STEPS:
        while at + step <= most and a[a_len - at - step : a_len - at] == b[b_len - at - step : b_len - at]:
            at += step
    return at


def _interned(a: Text, b: Text, head: int, a_stop: int, b_stop: int) -> tuple[list[int], list[int]]:
    return _numbered(
        zip(a.lines[head:a_stop], a.breaks[head:a_stop], strict=True),
        zip(b.lines[head:b_stop], b.breaks[head:b_stop], strict=True),
    )


def _numbered(a: Iterable[Hashable], b: Iterable[Hashable]) -> tuple[list[int], list[int]]:
    numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
    return _all_numbered(a, numbers), _all_numbered(b, numbers)


def _all_numbered(lines: Iterable[Hashable], numbers: Mapping[Hashable, int]) -> list[int]:
    found: list[int] = []
    rest = iter(lines)
    while some := list(islice(rest, _AT_ONCE)):
        pause()
        found += map(numbers.__getitem__, some)
    return found


def _blocks(a: list[int], b: list[int], most: int = MOST_PAIRS) -> Iterator[Block]:
    at_a = at_b = 0
    for i, k, length in _matches(a, b, most):
        if at_a < i or at_b < k:
            yield at_a, i, at_b, k
        at_a, at_b = i + length, k + length
    if at_a < len(a) or at_b < len(b):
        yield at_a, len(a), at_b, len(b)


def _matches(a: list[int], b: list[int], most: int) -> Iterator[tuple[int, int, int]]:
    if len(a) * len(b) <= most:
        from rapidfuzz.distance import Indel  # loaded late: a daemon start needs no diff

        for op in Indel.opcodes(a, b):
            if op.tag == "equal":
                yield op.src_start, op.dest_start, op.src_end - op.src_start
        return
    at_a = at_b = 0
    for i, k in [*unique_pairs(a, b), (len(a), len(b))]:
        piece_a, piece_b = a[at_a:i], b[at_b:k]
        if len(piece_a) * len(piece_b) <= most:
            pause()
            for x, y, length in _matches(piece_a, piece_b, most):
                yield at_a + x, at_b + y, length
        if i < len(a):
            yield i, k, 1
        at_a, at_b = i + 1, k + 1


def unique_pairs(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of lines unique on each side, in their longest common order (patience diff)."""
    in_a, in_b = Counter(a), Counter(b)
    place = {n: k for k, n in enumerate(paced(b)) if in_b[n] == 1}
    pairs = [(i, place[n]) for i, n in enumerate(paced(a)) if in_a[n] == 1 and n in place]
    ends: list[int] = []  # ends[r]: the smallest last place in `b` of a sequence of r+1 pairs
    best: list[int] = []  # the index of that pair
    before: list[int] = []
    for index, (_, k) in enumerate(paced(pairs)):
        rank = bisect_left(ends, k)
        before.append(best[rank - 1] if rank else -1)
        if rank == len(ends):
            ends.append(k)
            best.append(index)
        else:
            ends[rank], best[rank] = k, index
    chain: list[tuple[int, int]] = []
    index = best[-1] if best else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def changed_ranges(splices: Sequence[Splice]) -> list[dict[str, int]]:
    """Return for each splice, for callers: `start` and `end` of its new lines, `was_start` and `was_end` of its old
    lines (1-based, inclusive; without lines, the end is one before the start), and the `shift` of all lines after it.
    """
    moved = 0
    out: list[dict[str, int]] = []
    for s in paced(splices):
        start = s.start + moved
        moved += s.shift
        out.append(
            {
                "start": start + 1,
                "end": start + len(s.lines),
                "was_start": s.start + 1,
                "was_end": s.stop,
                "shift": moved,
            }
        )
    return out
