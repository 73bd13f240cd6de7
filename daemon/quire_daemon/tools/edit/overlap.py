"""Overlap: what a change of a file means for lines of a caller.

`conflicting`: it replaces or removes one of them, puts a line between two of them, or into a gap of theirs. `touching`:
it changes right beside them. `none`: an untouched line lies between. The lines are told as ranges of one version and
carried, version by version, to where the change was made; what has taken the place of a line counts as that line.
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
"""The weakest first."""

MOST_STEPS: Final = 64
"""Versions that lines are carried over one by one; across more, only the difference of the two ends counts."""


class CallerLines(msgspec.Struct, frozen=True):
    """Lines of a caller in version `at`: those of its call, or those that it was shown.

    A range that is empty is a gap, into which the call inserts. `ranges` is None for a whole file; `at` is None where
    the journal does not have the version.
    """

    ranges: Ranges | None
    at: Version | None
    shown: bool = False  # those that it was shown, of which others' work may have been left out


WHOLE: Final = CallerLines(None, None)


def lines_of(splices: Iterable[Splice], named: Iterable[int] = ()) -> Ranges:
    """The lines of a plan: those that it replaces, the gaps into which it inserts, and those that it names."""
    return _tidy([*((s.start, s.stop) for s in splices), *ranges_of(named)])


def relation(theirs: Sequence[Splice], ranges: Iterable[tuple[int, int]]) -> str:
    """What a change, as sorted splices, means for these lines of the text before it."""
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
    """What several changes mean together."""
    return max(relations, key=STRENGTH.index, default=NONE)


def image(splices: Sequence[Splice], ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Where these lines are after a change, with what has taken their place. Of lines that are gone a gap is left."""
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
    """The same lines in few ranges, and the gaps that are not lost in one of these."""
    given = list(ranges)
    lines = merge_ranges(given)
    begins = [start for start, _ in lines]

    def is_inside(gap: int) -> bool:
        at = bisect_left(begins, gap) - 1
        return at >= 0 and gap < lines[at][1]

    return tuple(sorted([*lines, *{(a, b) for a, b in given if a == b and not is_inside(a)}]))


def inverse(splices: Sequence[Splice], before: Text) -> tuple[Splice, ...]:
    """The splices that take back `splices`, which were made on `before`."""
    out, moved = [], 0
    for s in splices:
        out.append(Splice(s.start + moved, s.start + moved + len(s.lines), tuple(before.lines[s.start : s.stop])))
        moved += s.shift
    return tuple(out)


Done = Mapping[int, tuple[Splice, ...] | None]
"""Versions of a file by seq, oldest first, and what each did to the one before; None where nobody can tell."""


def done_by(history: History, path: str, version: Version) -> tuple[Splice, ...] | None:
    """What this version did to the one before it; None where the journal cannot tell, or the file came or went."""
    was = _text(history, history.version_at(path, version.seq - 1))
    made = None if was is None else _text(history, version)
    return None if was is None or made is None else diff(was, made)


def relations(history: History, path: str, done: Done, lines: CallerLines) -> dict[int, str]:
    """What each of these versions of the file means for the lines, by seq; `conflicting` where nobody can tell."""
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
    """The relations of what was done after `lines.at`, whose text is `text`: the lines are carried forward to it."""
    if lines.at is None or lines.ranges is None or not done:
        return
    walk = list(history.versions(path, after=lines.at.seq, upto=max(done)))
    if len(walk) > MOST_STEPS:
        walk = [version for version in _around(history, path, done) if version.seq > lines.at.seq]
    ranges, held = lines.ranges, True  # `held`: is `text` that of the version before?
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
    """The relations of what was done up to `lines.at`: the lines are carried back, to stand among what it made."""
    if lines.at is None or lines.ranges is None or not done:
        return
    first = history.version_at(path, min(done) - 1)
    walk = list(history.versions(path, after=min(done) - 1, upto=lines.at.seq))
    if len(walk) > MOST_STEPS:
        walk = [*(version for version in _around(history, path, done) if version.seq < lines.at.seq), lines.at]
    elif first is not None:
        walk.insert(0, first)
    ranges, held = lines.ranges, True  # `held`: is `text` that of `version`?
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
    """These versions, and the one before each."""
    found = {v.seq: v for seq in done for at in (seq - 1, seq) if (v := history.version_at(path, at)) is not None}
    return [found[seq] for seq in sorted(found)]


def _with_holes(back: Sequence[Splice], ranges: Ranges, length: int) -> Ranges:
    """Lines that a caller was shown, with what others made among them: it was shown what had stood there.

    What it knows is carried along with its own edits, but not over lines that others have changed.
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
    """The text of a version; None of one that is gone, or whose bytes are not held."""
    if version is None or version.gone:
        return None
    return history.text_held(version.blob)
