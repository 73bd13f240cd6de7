"""Converts replacements of byte ranges into splices of lines. Bytes outside the ranges stay the same, also mixed line
ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from operator import le, ne
from typing import Final

from quire_daemon.dialects.text.find import FEW_EDITS, LineIndex, normalised, occurrences, sought
from quire_journal.text import Splice, Text, diff, new_breaks

Edit = tuple[int, int, bytes]
"""(start, stop, new bytes): replacement of bytes [start, stop) of a text with LF line ends."""

COMPARED_AT_ONCE: Final = 10_000

MOST_SPLICES: Final = 2_000


class Draft:
    """Text to which edits are applied one after another. `edits` has the equivalent edits of the original text."""

    def __init__(self, text: Text) -> None:
        self.now = bytearray(text.normalised)
        self._made: list[Edit] = []  # edits of the original text, in order
        self._begins: list[int] = []  # current begin of each edit's new text

    @property
    def edits(self) -> list[Edit]:
        return self._made

    def replace_first(self, old: str, new: str) -> int:
        """Replace the first match of `old`. Returns the number of non-overlapping matches before the replacement; 0
        changes nothing.
        """
        wanted = sought(old)
        at = self.now.find(wanted) if wanted else -1
        if at < 0:
            return 0
        count = 1 + self.now.count(wanted, at + len(wanted))
        self.replace(at, at + len(wanted), normalised(new))
        return count

    def replace(self, start: int, stop: int, new: bytes) -> None:
        """Replace bytes [start, stop) of the current text."""
        made, begins = self._made, self._begins
        low = bisect_left(begins, start)
        if low and begins[low - 1] + len(made[low - 1][2]) > start:
            low -= 1
        while low < len(made) and begins[low] + len(made[low][2]) <= start:
            low += 1
        high = bisect_left(begins, stop, low)
        was_start, was_stop = start - self._moved(low), stop - self._moved(high)
        begin, head, tail = start, b"", b""
        if low < high:  # the new edit overlaps their new texts
            was, _, first = made[low]
            was_start = min(was, was_start)
            if begins[low] < start:
                begin, head = begins[low], first[: start - begins[low]]
            _, until, last = made[high - 1]
            if begins[high - 1] + len(last) > stop:
                was_stop, tail = until, last[stop - begins[high - 1] :]
        self.now[start:stop] = new
        made[low:high] = [(was_start, was_stop, head + new + tail)]
        shift = len(new) - (stop - start)
        begins[low:] = [begin, *(at + shift for at in begins[high:])]

    def _moved(self, index: int) -> int:
        if not index:
            return 0
        _, until, made = self._made[index - 1]
        return self._begins[index - 1] + len(made) - until


def replaced(text: Text, edits: Sequence[Edit]) -> tuple[tuple[Splice, ...], bool | None]:
    """Convert sorted, non-overlapping edits to splices. The second value says whether the file then ends with a line
    break; None if its end does not change.
    """
    if not edits:
        return (), None
    if len(edits) > FEW_EDITS or _lines_in(text, edits) > COMPARED_AT_ONCE:
        return replaced_at_once(text, edits)
    lines, whole = LineIndex(text), text.normalised
    splices: list[Splice] = []
    final_break: bool | None = None
    for first, last, flat, group in _by_lines(lines, edits):
        at, end = lines.begin(group[0][0]), lines.end(group[-1][1])
        made = _made(whole, at, end, group)
        new_lines = made.split(b"\n")
        if end == len(whole):
            ends = not new_lines[-1]
            final_break = _final_break(text, ends) if first or made else None
            if ends:
                new_lines.pop()
        found = _spliced(text, first, min(last + 1, len(text)), new_lines, flat)
        if found and found[-1].stop == last + 1:
            found[-1] = _ending_alike(text, found[-1])
        splices += found
    return tuple(_joined(splices)), final_break


def replaced_everywhere(text: Text, old: str, new: str, count: int) -> tuple[tuple[Splice, ...], bool | None]:
    """Convert the replacement of the first `count` matches of `old` to splices. The second value says whether the file
    then ends with a line break; None if its end does not change.
    """
    was, now = sought(old), normalised(new)
    if count <= FEW_EDITS or was.count(b"\n") != now.count(b"\n"):
        return replaced(text, [(start, stop, now) for start, stop in occurrences(text, old, count)])
    found = _line_for_line(text, text.normalised.replace(was, now, count))
    if found is None:
        return replaced(text, [(start, stop, now) for start, stop in occurrences(text, old, count)])
    return found, None


def _line_for_line(text: Text, made: bytes) -> tuple[Splice, ...] | None:
    new_lines = made.split(b"\n")
    ends = not new_lines[-1]
    if ends:
        new_lines.pop()
    same = ends == text.final_break and len(new_lines) == len(text)
    return tuple(_runs(text, 0, new_lines, text.breaks)) if same else None


def _lines_in(text: Text, edits: Sequence[Edit]) -> int:
    whole = text.normalised
    return sum(whole.count(b"\n", start, stop) + new.count(b"\n") for start, stop, new in edits)


def replaced_at_once(text: Text, edits: Sequence[Edit]) -> tuple[tuple[Splice, ...], bool | None]:
    """Convert many edits to splices and a final line break as `replaced`, faster but with unchanged lines inside the
    splices. Raises `ValueError` if the edits are unsorted or overlap.
    """
    begins, ends, news = zip(*edits, strict=True)
    if not (all(map(le, begins, ends)) and all(map(le, ends, begins[1:]))):
        raise ValueError("an edit overlaps the one before")
    whole = text.normalised
    kept = [whole[at:until] for at, until in zip((0, *ends), (*begins, len(whole)), strict=True)]
    if b"\n" not in b"".join(news) and b"".join(kept).count(b"\n") == whole.count(b"\n"):
        found = _line_for_line(text, b"".join(chain.from_iterable(zip(kept, (*news, b""), strict=True))))
        if found is not None:
            return found, None
    lines = LineIndex(text)
    starts = lines.starts
    spans = [(bisect_right(starts, start) - 1, bisect_right(starts, stop) - 1) for start, stop, _ in edits]
    even = all(until - first == new.count(b"\n") for (first, until), (_, _, new) in zip(spans, edits, strict=True))
    apart = [] if even else [i for i in range(1, len(edits)) if spans[i][0] > spans[i - 1][1]]
    cuts = [0, *_thinned(apart, MOST_SPLICES), len(edits)]
    splices: list[Splice] = []
    final_break: bool | None = None
    for begin, end in pairwise(cuts):
        made, final_break = _replaced_together(lines, edits[begin:end], spans[begin:end], even)
        splices += made
    return tuple(splices), final_break


def _made(whole: bytes, at: int, end: int, edits: Sequence[Edit]) -> bytes:
    parts: list[bytes] = []
    for begins, ends, new in edits:
        parts += whole[at:begins], new
        at = ends
    return b"".join([*parts, whole[at:end]])


def _replaced_together(
    lines: LineIndex, edits: Sequence[Edit], spans: Sequence[tuple[int, int]], even: bool
) -> tuple[list[Splice], bool | None]:
    text, whole = lines.text, lines.text.normalised
    first, stop = spans[0][0], min(spans[-1][1] + 1, len(text))
    at, end = lines.begin(edits[0][0]), lines.end(edits[-1][1])
    made = _made(whole, at, end, edits)
    new_lines = made.split(b"\n")
    breaks = _breaks(text, edits, spans)
    final_break = None
    if end == len(whole):
        ends_all = not new_lines[-1]
        final_break = _final_break(text, ends_all) if first or made else None
        if ends_all:
            new_lines.pop()
            breaks.pop()
    if even and len(new_lines) == stop - first:
        return [*_runs(text, first, new_lines, breaks)], final_break
    return [Splice(first, stop, tuple(new_lines), tuple(breaks))], final_break


def _final_break(text: Text, ends: bool) -> bool | None:
    return None if ends == text.final_break or not len(text) else ends


def _runs(text: Text, first: int, new: Sequence[bytes], breaks: Sequence[bytes]) -> Iterator[Splice]:
    changed = [i for i, differs in enumerate(map(ne, text.lines[first : first + len(new)], new)) if differs]
    if not changed:
        return
    begun = [n for n in range(1, len(changed)) if changed[n] > changed[n - 1] + 1]
    for n, m in pairwise([0, *_thinned(begun, MOST_SPLICES), len(changed)]):
        start, stop = changed[n], changed[m - 1] + 1
        yield Splice(first + start, first + stop, tuple(new[start:stop]), tuple(breaks[start:stop]))


def _breaks(text: Text, edits: Sequence[Edit], spans: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the line breaks of the edited lines. New lines take the old lines' breaks in order; additional lines
    repeat the last one.
    """
    first, last = spans[0][0], spans[-1][1]
    styles = {*text.breaks[first : last + 1]} - {b""}
    if len(styles) < 2:
        style = styles.pop() if styles else text.break_for(first)
        count = last - first + 1
        count += sum(new.count(b"\n") - (b - a) for (a, b), (_, _, new) in zip(spans, edits, strict=True))
        breaks = [style] * count
    else:
        breaks, at = [], first
        for (begins, ends), (_, _, new) in zip(spans, edits, strict=True):
            breaks += text.breaks[at:begins]
            lines = new.count(b"\n")
            breaks += text.breaks[begins : min(ends, begins + lines)]
            breaks += [text.break_for(max(ends - 1, begins))] * (lines - (ends - begins))
            at = ends
        breaks += text.breaks[at : last + 1] or [text.break_for(last)]
    if last >= len(text) - 1 and not text.final_break:
        breaks[-1] = b""
    return breaks


def _thinned(places: Sequence[int], most: int) -> Sequence[int]:
    return places if len(places) <= most else places[:: -(-len(places) // most)]


def _by_lines(lines: LineIndex, edits: Sequence[Edit]) -> Iterator[tuple[int, int, bool, list[Edit]]]:
    """Yield groups of edits as (first line, last line, flat, edits), lines from 0. Flat edits remove and add no line
    break; those in the same or adjacent lines are one group. Other edits are grouped by shared lines. Raises
    `ValueError` if the edits are unsorted or overlap.
    """
    group: list[Edit] = []
    begun = last = reach = 0
    newest = 0  # first edit of the group in line `last`
    flat = False
    for edit in edits:
        start, stop, new = edit
        if not reach <= start <= stop:
            raise ValueError(f"edit {start}..{stop} overlaps the one before")
        reach = stop
        first, until = lines.at(start), lines.at(stop)
        inside = first == until and b"\n" not in new
        if group and flat and not inside and first == last and newest:
            yield begun, last - 1, True, group[:newest]
            group, begun, newest = group[newest:], last, 0
        if group and first <= last:
            flat = flat and inside
        elif group and flat and inside and first == last + 1:
            newest = len(group)
        else:
            if group:
                yield begun, last, flat, group
            group, begun, newest, flat = [], first, 0, inside
        group.append(edit)
        last = until
    if group:
        yield begun, last, flat, group


def _spliced(text: Text, start: int, stop: int, new: list[bytes], flat: bool) -> list[Splice]:
    old = text.lines[start:stop]
    if old == new:
        return []
    if len(old) > len(new) == 1 and old[-1] == new[0]:
        return [Splice(start, stop - 1)]  # only whole lines are removed: the next line is untouched
    if flat or len(old) < 2 or len(new) < 2:
        return [Splice(start, stop, tuple(new))]
    found = diff(_plain(old), _plain(new))
    return [Splice(s.start + start, s.stop + start, s.lines) for s in found]


def _ending_alike(text: Text, s: Splice) -> Splice:
    if not 0 < len(s.lines) < s.stop - s.start:
        return s
    breaks, ending = new_breaks(text, s), text.breaks[s.stop - 1]
    return s if breaks[-1] == ending or not ending else Splice(s.start, s.stop, s.lines, (*breaks[:-1], ending))


def _plain(lines: Sequence[bytes]) -> Text:
    return Text(False, lines, [b"\n"] * len(lines))


def _joined(splices: Sequence[Splice]) -> Iterator[Splice]:
    at = 0
    while at < len(splices):
        stop = at + 1
        while stop < len(splices) and _follow(splices[stop - 1], splices[stop]):
            stop += 1
        new = chain.from_iterable(s.lines for s in splices[at:stop])
        yield Splice(splices[at].start, splices[stop - 1].stop, tuple(new), splices[at].breaks)
        at = stop


def _follow(s: Splice, after: Splice) -> bool:
    even = not s.shift and s.stop > s.start
    return after.start == s.stop and even and s.breaks is None and after.breaks is None
