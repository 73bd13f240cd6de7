"""Splices: replacements of lines `start..stop` of a base. A plan is a sorted tuple of splices that do not overlap, in
the line numbers of one base. Staleness, merge, undo and blame share this form.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from quire_journal.model import LineRange, paced, pause
from quire_journal.text.text import BOM, Text

T = TypeVar("T")

FEW: Final = 64
"""Maximum number of splices applied one by one; for more, joining is faster."""


class Splice(msgspec.Struct, frozen=True, gc=False):
    """Replacement of lines [start, stop) by `lines` (without breaks); start == stop inserts before line start."""

    start: int
    stop: int
    lines: tuple[bytes, ...] = ()
    breaks: tuple[bytes, ...] | None = None  # breaks of `lines`; None: by the rule of `apply`

    @property
    def shift(self) -> int:
        """Number of lines by which the splice moves later lines."""
        return len(self.lines) - (self.stop - self.start)

    def __hash__(self) -> int:
        """Hash of `start` and `stop` alone, which is fast and unique within a plan."""
        return hash((self.start, self.stop))


class Along:
    """Index of sorted splices of one text, searched by lines."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._splices = splices
        self._stops = [s.stop for s in splices]
        self._moved = [0, *accumulate(s.shift for s in splices)]

    def near(self, start: int, stop: int) -> tuple[int, Sequence[Splice]]:
        """Return by how many lines earlier splices shift lines start..stop, and the splices that overlap or touch these
        lines.
        """
        first = bisect_left(self._stops, start)
        last = bisect_right(self._splices, stop, first, key=lambda s: s.start)
        return self._moved[first], self._splices[first:last]


def clash(a: Splice, b: Splice) -> bool:
    """True if both replace a common line, or insert into one gap."""
    return (a.start < b.stop and b.start < a.stop) or a.start == a.stop == b.start == b.stop


def apply(base: Text, splices: Sequence[Splice], final_break: bool | None = None) -> Text:
    """Return `base` after `splices`. Raises `ValueError` if they are not sorted, overlap or leave the base.

    A new line takes the break of the line it replaces, else of the nearest line before, else after, else LF.
    `final_break` overrides whether the last line has a break; a blank last line always has. Where an old lone CR meets
    an old lone LF, they become one break.
    """
    at = moved = 0
    new: list[Sequence[bytes]] = []
    fresh: list[range] = []
    for s in paced(splices):
        if not (at <= s.start <= s.stop <= len(base)):
            raise ValueError(f"splice {s.start}..{s.stop} overlaps the one before or leaves the {len(base)} lines")
        at = s.stop
        new.append(new_breaks(base, s))
        fresh.append(range(s.start + moved, s.start + moved + len(s.lines)))
        moved += s.shift
    pause()
    lines = spliced(base.lines, splices, [s.lines for s in splices])
    final = base.final_break if final_break is None else final_break
    feeds = final and _keeps_to_feeds(base, lines, chain.from_iterable(new))
    if feeds and len(lines) == len(base):
        return _made_of_bytes(base, splices, lines, base.breaks)
    pause()
    breaks = spliced(base.breaks, splices, new)
    if feeds:
        return _made_of_bytes(base, splices, lines, breaks)
    _end_every_line(base, lines, breaks, final)
    return _as_read(base.bom, lines, breaks, fresh)


def spliced(items: Sequence[T], splices: Sequence[Splice], new: Sequence[Sequence[T]]) -> list[T]:
    """Return items (one per line) after splices; `new` has the items of each splice's lines."""
    if len(splices) <= FEW:
        out = [*items]
        for s, come in zip(reversed(splices), reversed(new), strict=True):
            out[s.start : s.stop] = come
        return out
    out, at = [], 0
    for s, come in zip(splices, new, strict=True):
        out += items[at : s.start]
        out += come
        at = s.stop
    return [*out, *items[at:]]


def _keeps_to_feeds(base: Text, lines: Sequence[bytes], new: Iterable[bytes]) -> bool:
    feeds = base.final_break and not base.has_cr and all(ending == b"\n" for ending in new)
    return feeds and (base.bom or not lines or not lines[0].startswith(BOM))


def _made_of_bytes(base: Text, splices: Sequence[Splice], lines: list[bytes], breaks: Sequence[bytes]) -> Text:
    was = memoryview(base.data)
    parts: list[bytes | memoryview] = []
    at = 0
    for s in paced(splices):
        start = base.offset(s.start)
        parts.append(was[at:start])
        parts += [line + b"\n" for line in s.lines]
        at = base.offset(s.stop)
    parts.append(was[at:])
    text = Text(base.bom, lines, breaks)
    text.take_bytes(b"".join(parts), base, splices[0].start if splices else 0)
    return text


def new_breaks(base: Text, s: Splice) -> Sequence[bytes]:
    if s.breaks is not None:
        return s.breaks
    replaced = s.stop - s.start
    beyond = s.stop - 1 if replaced else s.start - 1
    own = [base.break_for(s.start + i) for i in range(min(replaced, len(s.lines)))]
    more = len(s.lines) - len(own)
    return own + [base.break_for(beyond)] * more if more else own


def _end_every_line(base: Text, lines: list[bytes], breaks: list[bytes], final_break: bool) -> None:
    if not breaks:
        return
    last = len(breaks) - 1
    for _ in range(breaks.count(b"") - (not breaks[last])):
        breaks[breaks.index(b"")] = base.break_for(len(base) - 1)
    if not final_break and lines[last]:
        breaks[last] = b""
    elif not breaks[last]:
        breaks[last] = base.break_for(len(base) - 1)


def _as_read(bom: bool, lines: list[bytes], breaks: list[bytes], fresh: Iterable[range]) -> Text:
    """Return these lines as a text that a parser of its bytes would return. Where a lone CR and a lone LF would be read
    as CRLF, a line in `fresh` (new lines) takes the other's break; two old lines are parsed again.
    """
    text = Text(bom, lines, breaks)
    reread = not bom and bool(lines) and lines[0].startswith(BOM)
    if b"\r" in breaks:
        for i in range(len(lines) - 1):
            if breaks[i] == b"\r" and not lines[i + 1] and breaks[i + 1] == b"\n":
                if any(i + 1 in new for new in fresh):
                    breaks[i + 1] = b"\r"
                elif any(i in new for new in fresh):
                    breaks[i] = b"\n"
                else:
                    reread = True
    return Text.of(text.data) if reread else text


def trim(base: Text, splices: Iterable[Splice]) -> tuple[Splice, ...]:
    """Return `splices` without unchanged lines at their ends, and without empty splices."""
    return tuple(t for s in splices if (t := _trim(base, s)).lines or t.start < t.stop)


def _trim(base: Text, s: Splice) -> Splice:
    old, was = base.lines[s.start : s.stop], base.breaks[s.start : s.stop]

    def stays(at: int) -> bool:
        """True if line `at` of the splice equals the line it replaces, with its line break. If `s.breaks` is None, the
        old break, if any, is kept.
        """
        return old[at] == s.lines[at] and (bool(was[at]) if s.breaks is None else was[at] == s.breaks[at])

    most = min(len(old), len(s.lines))
    head = 0
    while head < most and stays(head):
        head += 1
    tail = 0
    while tail < most - head and stays(-1 - tail):
        tail += 1
    if not head and not tail:
        return s
    stop = len(s.lines) - tail
    kept = None if s.breaks is None else s.breaks[head:stop]
    return replace(s, start=s.start + head, stop=s.stop - tail, lines=s.lines[head:stop], breaks=kept)


def shift_lines(splices: Iterable[Splice], lines: Iterable[int | None]) -> list[int | None]:
    """Return the number after the splices of each base line (sorted); None for None and for a
    replaced or removed line.
    """
    out: list[int | None] = []
    todo, moved = iter(splices), 0
    s = next(todo, None)
    for line in lines:
        while line is not None and s is not None and s.stop <= line:
            moved += s.shift
            s = next(todo, None)
        out.append(None if line is None or (s is not None and s.start <= line) else line + moved)
    return out


def carry_ranges(splices: Sequence[Splice], ranges: Iterable[LineRange]) -> list[LineRange]:
    """Return the lines of `ranges` that survive `splices`, as numbered after the splices."""
    return [(start + moved, stop + moved) for start, stop, moved in _surviving(splices, ranges)]


def moved_ranges(splices: Sequence[Splice], ranges: Iterable[LineRange]) -> list[LineRange]:
    """Return the lines of `ranges` that survive `splices` under another number, as numbered after the splices."""
    return [(start + moved, stop + moved) for start, stop, moved in _surviving(splices, ranges) if moved]


def _surviving(splices: Sequence[Splice], ranges: Iterable[LineRange]) -> Iterator[tuple[int, int, int]]:
    passed = before = 0  # splices that end before the range, and their shift
    for start, stop in sorted(ranges):
        while passed < len(splices) and splices[passed].stop <= start:
            before += splices[passed].shift
            passed += 1
        at, moved, nearest = start, before, passed
        while nearest < len(splices) and splices[nearest].start < stop:
            s = splices[nearest]
            if at < s.start:
                yield at, s.start, moved
            at = max(at, s.stop)
            moved += s.shift
            nearest += 1
        if at < stop:
            yield at, stop, moved
