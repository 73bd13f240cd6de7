"""Conflict markers: both sides of a conflict, written into the text as by git."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from quire_journal.model import pause
from quire_journal.text.splice import Along, Splice, apply, clash, new_breaks
from quire_journal.text.text import Text

OURS: Final = b"<<<<<<< "
BETWEEN: Final = b"======="
THEIRS: Final = b">>>>>>> "


class Dispute(msgspec.Struct, frozen=True):
    """Conflict: lines start..stop of the text of one side, and the lines that the other side has in their place."""

    start: int
    stop: int
    lines: tuple[bytes, ...]
    breaks: tuple[bytes, ...]


class MarkedDispute(msgspec.Struct, frozen=True):
    place: Dispute
    other: str  # label of the lines that are not in the text
    here: str  # label of the lines that are


def disputed(base: Text, mine: Sequence[Splice], theirs: Sequence[Splice]) -> list[Dispute | None]:
    """Return, for each splice of `mine`, its conflict with `theirs`, placed in the text after `theirs`. None if the
    conflict is that of the splice before.
    """
    along = Along(theirs)
    found: list[Dispute | None] = []
    groups: list[tuple[int, list[Splice], list[Splice]]] = []  # (index of the first, splices of `mine`, of `theirs`)
    for i, s in enumerate(mine):
        pause()
        hits = [other for other in along.near(s.start, s.stop)[1] if clash(other, s)]
        found.append(None)
        if groups and hits and groups[-1][2][-1:] == hits[:1]:
            groups[-1][1].append(s)
            groups[-1][2].extend(hits[1:])
        else:
            groups.append((i, [s], hits))
    for first, own, hits in groups:
        pause()
        found[first] = _place(base, own, hits, along)
    return found


def _place(base: Text, mine: Sequence[Splice], hits: Sequence[Splice], along: Along) -> Dispute:
    start = min(s.start for s in (*mine, *hits))
    stop = max(s.stop for s in (*mine, *hits))
    moved, near = along.near(start, start)
    moved += sum(s.shift for s in near if s.stop <= start and s not in hits)
    lines: list[bytes] = []
    breaks: list[bytes] = []
    at = start
    for s in mine:
        lines += [*base.lines[at : s.start], *s.lines]
        breaks += [*base.breaks[at : s.start], *new_breaks(base, s)]
        at = s.stop
    lines += base.lines[at:stop]
    breaks += base.breaks[at:stop]
    return Dispute(start + moved, stop + moved + sum(s.shift for s in hits), tuple(lines), tuple(breaks))


def place_after(splices: Along, start: int, stop: int) -> tuple[int, int]:
    """Return the range of lines start..stop as numbered after `splices`, widened by replacements that overlap the
    lines.
    """
    (moved, near), grown = splices.near(start, stop), 0
    for s in near:
        if s.stop <= start:
            moved += s.shift
        elif s.start < stop:
            start, stop = min(start, s.start), max(stop, s.stop)
            grown += s.shift
        else:
            break
    return start + moved, stop + moved + grown


def mark(text: Text, places: Sequence[MarkedDispute]) -> Text:
    """Return `text` with markers around the conflicts `places`, which are sorted by start; overlapping conflicts are
    merged.
    """
    splices: list[Splice] = []
    for marked in _apart(places):
        place = marked.place
        ending = text.break_for(max(place.start - 1, 0)) if len(text) else b"\n"
        head = (OURS + marked.other.encode(), *place.lines, BETWEEN)
        breaks = (ending, *(b or ending for b in place.breaks), ending)
        splices.append(Splice(place.start, place.start, head, breaks))
        splices.append(Splice(place.stop, place.stop, (THEIRS + marked.here.encode(),), (ending,)))
    return apply(text, splices)


def _apart(places: Sequence[MarkedDispute]) -> list[MarkedDispute]:
    out: list[MarkedDispute] = []
    for marked in places:
        if out and marked.place.start < out[-1].place.stop:
            a, b = out[-1].place, marked.place
            both = Dispute(a.start, max(a.stop, b.stop), a.lines + b.lines, a.breaks + b.breaks)
            out[-1] = replace(out[-1], place=both)
        else:
            out.append(marked)
    return out
