"""Relation of a change to a caller's lines.

`conflicting`: the change replaces or removes one of the lines, or inserts between two. `touching`: the change is
directly next to the lines. `none`: an unchanged line lies between. Lines are ranges (half-open, from 0) of one version,
mapped version by version to the changed one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from quire_journal.history import History
from quire_journal.model import Ranges, merge_ranges, ranges_of
from quire_journal.text import Along, Splice, Text, diff
from quire_journal.views import Version

NONE, TOUCHING, CONFLICTING = "none", "touching", "conflicting"

STRENGTH: Final = (NONE, TOUCHING, CONFLICTING)
"""All relations, weakest first."""

MOST_STEPS: Final = 64
"""Maximum number of versions through which lines are mapped one by one; for more, only the difference of the first and
the last version counts.
"""


class CallerLines(msgspec.Struct, frozen=True):
    """Lines in version `at` that a call names or its caller was shown.

    An empty range is a gap for an insertion. `ranges` is None for a whole file; `at` is None for a version that the
    journal lacks.
    """

    ranges: Ranges | None
    at: Version | None
    shown: bool = False  # lines shown to the caller, perhaps with changes of other writers left out


WHOLE: Final = CallerLines(None, None)


def lines_of(splices: Iterable[Splice], named: Iterable[int] = ()) -> Ranges:
    """Return the lines that a plan replaces or names, and an empty range for each insertion."""
    return _tidy([(s.start, s.stop) for s in splices] + [*ranges_of(named)])


def relation(theirs: Sequence[Splice], ranges: Iterable[tuple[int, int]]) -> str:
    """Return the relation (`none`, `touching` or `conflicting`) of a change (sorted splices) to these lines of the text
    before it.
    """
    along, found = Along(theirs), NONE
    for start, stop in ranges:
        _, near = along.near(start, stop)
        if any(_overlap(s, start, stop) for s in near):
            return CONFLICTING
        if near:
            found = TOUCHING
    return found


def _overlap(s: Splice, start: int, stop: int) -> bool:
    if s.start == s.stop:
        return start < s.start < stop or start == s.start == stop
    return s.start < stop and s.stop > start


def strongest(relations: Iterable[str]) -> str:
    """Return the strongest of several relations; `none` if there are none."""
    return max(relations, key=STRENGTH.index, default=NONE)


def image(splices: Sequence[Splice], ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return where these lines are after a change, together with lines that replace them. Removed lines leave an empty
    range.
    """
    along = Along(splices)
    return _tidy(_image(along, start, stop) for start, stop in ranges)


def _image(along: Along, start: int, stop: int) -> tuple[int, int]:
    moved, near = along.near(start, stop)
    inside = []
    for s in near:
        if _overlap(s, start, stop):
            inside.append(s)
        elif s.stop <= start:
            moved += s.shift
    begin = min([start, *(s.start for s in inside)])
    end = max([stop, *(s.stop for s in inside)])
    return begin + moved, end + moved + sum(s.shift for s in inside)


def _tidy(ranges: Iterable[tuple[int, int]]) -> Ranges:
    given = list(ranges)
    lines = merge_ranges(given)
    begins = [start for start, _ in lines]

    def is_inside(gap: int) -> bool:
        at = bisect_left(begins, gap) - 1
        return at >= 0 and gap < lines[at][1]

    return tuple(sorted([*lines, *{(a, b) for a, b in given if a == b and not is_inside(a)}]))


def inverse(splices: Sequence[Splice], before: Text) -> tuple[Splice, ...]:
    """Return the splices that undo `splices` of `before`."""
    out, moved = [], 0
    for s in splices:
        out.append(Splice(s.start + moved, s.start + moved + len(s.lines), tuple(before.lines[s.start : s.stop])))
        moved += s.shift
    return tuple(out)


Done = Mapping[int, tuple[Splice, ...] | None]
"""Change by version seq, oldest first; None for an unknown change."""


def done_by(history: History, path: str, version: Version) -> tuple[Splice, ...] | None:
    """Return the change that a version made; None for a created or removed file, and if the journal lacks a text."""
    was = _text(history, history.version_at(path, version.seq - 1))
    made = None if was is None else _text(history, version)
    return None if was is None or made is None else diff(was, made)


def relations(history: History, path: str, done: Done, lines: CallerLines) -> dict[int, str]:
    """Return the relation of each version's change to the lines, by seq; an unknown change is `conflicting`."""
    found = {seq: CONFLICTING if splices is None or splices else NONE for seq, splices in done.items()}
    if lines.ranges is None or lines.at is None or not any(done.values()):
        return found
    text = _text(history, lines.at)
    if text is None:
        return found
    later = {seq: splices for seq, splices in done.items() if seq > lines.at.seq}
    earlier = {seq: splices for seq, splices in done.items() if seq <= lines.at.seq}
    found.update(_since(history, path, later, lines, text))
    found.update(_until(history, path, earlier, lines, text))
    return found


def _since(history: History, path: str, done: Done, lines: CallerLines, text: Text) -> Iterator[tuple[int, str]]:
    if lines.at is None or lines.ranges is None or not done:
        return
    walk = list(history.versions(path, after=lines.at.seq, upto=max(done)))
    if len(walk) > MOST_STEPS:
        walk = [version for version in _around(history, path, done) if version.seq > lines.at.seq]
    ranges, held = lines.ranges, True  # `held`: `text` belongs to the previous version
    for version in walk:
        made = _text(history, version)
        if made is None:
            held = False
            continue
        splices = (done.get(version.seq) if held else None) or diff(text, made)
        if held and version.seq in done:
            yield version.seq, relation(splices, ranges)
        ranges, text, held = image(splices, ranges), made, True


def _until(history: History, path: str, done: Done, lines: CallerLines, text: Text) -> Iterator[tuple[int, str]]:
    if lines.at is None or lines.ranges is None or not done:
        return
    first = history.version_at(path, min(done) - 1)
    walk = list(history.versions(path, after=min(done) - 1, upto=lines.at.seq))
    if len(walk) > MOST_STEPS:
        walk = [*(version for version in _around(history, path, done) if version.seq < lines.at.seq), lines.at]
    elif first is not None:
        walk.insert(0, first)
    ranges, held = lines.ranges, True  # `held`: `text` belongs to `version`
    for before, version in reversed([*pairwise(walk)]):
        was = _text(history, before)
        if was is None:
            held = False
            continue
        splices = (done.get(version.seq) if held else None) or diff(was, text)
        back = inverse(splices, was)
        if lines.shown:
            ranges = _with_holes(back, ranges, len(text))
        if held and version.seq in done:
            yield version.seq, relation(back, ranges)
        ranges, text, held = image(back, ranges), was, True


def _around(history: History, path: str, done: Done) -> list[Version]:
    found = {v.seq: v for seq in done for at in (seq - 1, seq) if (v := history.version_at(path, at)) is not None}
    return [found[seq] for seq in sorted(found)]


def _with_holes(back: Sequence[Splice], ranges: Ranges, length: int) -> Ranges:
    """Return the shown lines (`ranges`, of a version with `length` lines), and the lines between that other writers
    brought, of which the caller knows nothing. `back`: the splices from that version to the one before.
    """
    shown = {line for start, stop in ranges for line in (start, stop - 1) if start < stop}
    holes = []
    for s in back:
        before, after = s.start - 1 in shown, s.stop in shown
        at_an_end = (before or after) and (before or s.start == 0) and (after or s.stop == length)
        if s.start < s.stop and ((before and after) or (s.lines and at_an_end)):
            holes.append((s.start, s.stop))
    return _tidy([*ranges, *holes])


def _text(history: History, version: Version | None) -> Text | None:
    if version is None or version.gone:
        return None
    return history.text_held(version.blob)
