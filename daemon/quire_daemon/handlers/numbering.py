"""Which lines a caller knows by their numbers.

A call that brings the text which it changes moves its caller's base on, over what others wrote elsewhere. The lines are
still those that the caller has seen, but where others put lines above them, not by the numbers that they have now.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from quire_daemon.handlers.localised import shown_by_diff
from quire_daemon.handlers.staleness import Basis
from quire_journal.blobs import NotHeld
from quire_journal.diff import diff
from quire_journal.splice import shift_lines
from quire_journal.text import Text
from quire_journal.views.files import Version

MOST_TRACED: Final = 16
"""Versions through which a number is traced back; across more, only the difference of the two ends counts."""


def moved_unseen(basis: Basis, lines: Sequence[int]) -> list[int]:
    """Those of these lines (sorted) of the base that others have moved since the caller knew their numbers.

    It knows the numbers of the version that it read last, and those that the replies to its own edits showed since.
    """
    if not lines or not basis.read or basis.version is None:
        return []
    read = basis.history.version(basis.path, basis.read)
    if read is None or read.gone:
        return []
    try:
        return _moved(basis, read, basis.version, lines)
    except NotHeld:
        return list(lines)


def _moved(basis: Basis, read: Version, base: Version, lines: Sequence[int]) -> list[int]:
    moved = [0] * len(lines)
    at: list[int | None] = list(lines)  # None: it is known where the line comes from
    after = basis.text
    for mine, before in _steps(basis, read, base):
        was = shift_lines(diff(after, before), at)
        shown = shown_by_diff(diff(before, after), len(after)) if mine else ()
        for index, (line, old) in enumerate(zip(at, was, strict=True)):
            if line is None or old is None:
                continue
            if not mine:
                moved[index] += line - old
            elif any(start <= line < stop for start, stop in shown):
                was[index] = None
        at, after = was, before
    return [line for line, by in zip(lines, moved, strict=True) if by]


def _steps(basis: Basis, read: Version, base: Version) -> list[tuple[bool, Text]]:
    """From the base back to what was read: did the caller take this step, and from which text?"""
    history = basis.history
    made = list(islice(history.versions(basis.path, after=read.seq, upto=base.seq), MOST_TRACED + 1))
    if len(made) > MOST_TRACED or any(version.gone for version in made):
        return [(False, history.text_of(read.blob))]
    return [
        (history.caller_of(version.writer) == basis.caller, history.text_of(before.blob))
        for version, before in reversed([*zip(made, [read, *made], strict=False)])
    ]
