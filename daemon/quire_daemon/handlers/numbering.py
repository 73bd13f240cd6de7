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
from quire_journal.views.files import Version

MOST_TRACED: Final = 16
"""Versions through which a number is traced back; what comes from farther back is known by no number any more."""


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
    history = basis.history
    made = list(islice(history.versions(basis.path, read.seq, base.seq, reverse=True), MOST_TRACED + 1))
    moved = [0] * len(lines)
    at: list[int | None] = list(lines)  # None: it is known where the line comes from
    after = basis.text
    for version, earlier in zip(made[:MOST_TRACED], [*made[1:], read], strict=False):
        if earlier.gone:
            return [line for line, where in zip(lines, at, strict=True) if where is not None]
        before = history.text_of(earlier.blob)
        mine = history.caller_of(version.writer) == basis.caller
        shown = shown_by_diff(diff(before, after), len(after)) if mine else ()
        was = shift_lines(diff(after, before), at)
        for index, (line, old) in enumerate(zip(at, was, strict=True)):
            if line is None or old is None:
                continue
            if not mine:
                moved[index] += line - old
            elif any(start <= line < stop for start, stop in shown):
                was[index] = None
        at, after = was, before
    farther = len(made) > MOST_TRACED
    return [line for line, by, where in zip(lines, moved, at, strict=True) if by or (farther and where is not None)]
