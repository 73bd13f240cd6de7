"""Undo limited to some lines of a file: the full undo, cut to these lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec.structs import replace

from quire_journal.history import Conflict, History, Unwound
from quire_journal.model import REGULAR, Refusal
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Dispute, Splice, Text, apply, diff


def with_spared(u: Unwound, ranges: Sequence[tuple[int, int]], history: History) -> Unwound:
    """Return the file `u` with more undone: of a change that others built on, those lines in `ranges` (from 0,
    half-open) that nobody built on.
    """
    head = u.now.version
    if u.missing or head is None or head.entry != REGULAR or not (u.present and u.now.present):
        return u
    held = [span for conflict in u.conflicts for span in conflict.lines]
    places = [conflict.place for conflict in u.conflicts if conflict.place is not None]
    try:
        now = history.text_of(u.now.blob)
        then = u.made if u.made is not None else history.text_of(u.blob)
    except NotHeld:
        return u
    splices = [*diff(now, then)]
    for place in places:
        meant = (range(max(place.start, start), min(place.stop, stop)) for start, stop in ranges)
        for number in chain.from_iterable(meant):
            if any(a <= number < b for a, b in held) or any(s.start <= number < s.stop for s in splices):
                continue
            if not place.lines:
                splices.append(Splice(number, number + 1, (), ()))
            elif _is_line_by_line(place):
                at = number - place.start
                splices.append(Splice(number, number + 1, place.lines[at : at + 1], place.breaks[at : at + 1]))
    made = apply(now, sorted(splices, key=lambda s: (s.start, s.stop)), final_break=then.final_break)
    return u if made.data == then.data else replace(u, blob=made.blob, made=made)


def only_lines(u: Unwound, ranges: Sequence[tuple[int, int]], history: History) -> Unwound:
    """Return the file `u` with only the changes inside `ranges` (from 0, half-open) undone; an empty range stands for
    the gap above a line.

    A change that keeps the number of lines, or only deletes, is cut at the range's ends. Raises `Refusal` for any other
    change that crosses an end.
    """
    head = u.now.version
    if u.missing or head is None or head.entry != REGULAR or not u.now.present:
        return u
    try:
        now = history.text_of(u.now.blob)
        then = Text.of(b"") if not u.present else u.made if u.made is not None else history.text_of(u.blob)
    except NotHeld:
        return u
    if now.binary or then.binary:
        return u
    parts = ((splice, lines) for splice in diff(now, then) for lines in ranges)
    splices = [*dict.fromkeys(one for splice, lines in parts if (one := _within(splice, lines)) is not None)]
    made = apply(now, splices)
    conflicts = tuple(one for one in u.conflicts if _concerns(one, ranges))
    same = made.blob == now.blob
    return replace(
        u,
        present=True,
        path=u.now.path,
        mode=u.now.mode,
        blob=made.blob,
        made=None if same else made,
        conflicts=conflicts,
    )


def _concerns(conflict: Conflict, ranges: Sequence[tuple[int, int]]) -> bool:
    place = conflict.place
    spans = [*conflict.lines]
    if place is not None and place.lines and not _is_line_by_line(place):
        spans.append((place.start, place.stop))  # no line of it can be spared
    return not conflict.lines or any(_meet(span, lines) for span in spans for lines in ranges)


def _is_line_by_line(place: Dispute) -> bool:
    """True if each line of the place replaced exactly one line."""
    return len(place.lines) == place.stop - place.start


def _meet(span: tuple[int, int], lines: tuple[int, int]) -> bool:
    """True if `span` and `lines` have a line in common; empty `lines` (a gap) also meet a span that begins or ends at
    the gap.
    """
    (first, last), (start, stop) = span, lines
    return first <= stop and start <= last if start == stop else first < stop and start < last


def _within(splice: Splice, lines: tuple[int, int]) -> Splice | None:
    start, stop = lines
    if splice.start == splice.stop:
        return splice if start <= splice.start <= stop else None
    first, last = max(start, splice.start), min(stop, splice.stop)
    if first >= last:
        return None
    if splice.lines and len(splice.lines) != splice.stop - splice.start:
        if (first, last) != (splice.start, splice.stop):
            whole = f"{splice.start + 1}-{splice.stop}"
            message = (
                f"A change of lines {whole} reaches beyond these; it is taken back as a whole: name lines {whole}."
            )
            raise Refusal("schema_invalid", message, "narrow_the_choice", argument="lines")
        return splice
    new = splice.lines[first - splice.start : last - splice.start]
    breaks = splice.breaks[first - splice.start : last - splice.start] if splice.breaks is not None else None
    return Splice(first, last, new, breaks)
