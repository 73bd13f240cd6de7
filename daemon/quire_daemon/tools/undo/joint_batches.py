"""Batches made together: by a call of an agent's own tool, a command of git, or a program that wrote many files.

Each file that another program writes is a batch. A tool of Quire's makes one batch in each call, and a save is alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from quire_daemon.tools.undo.batches import Batches
from quire_journal.history import is_by_git
from quire_journal.history.stories import CROWD_PATHS, VOLLEY_NS
from quire_journal.model import CAPTURED, DURING, NAMING, OUTSIDE, Record, paths_of, pause
from quire_journal.views import OUTSIDE_WRITES

MOST_RECORDS: Final = 20_000
"""Maximum number of records before and after a write that are searched for writes made together with it."""


AT_ONCE_NS: Final = 100_000_000


class JointBatches:
    """Cache of the batches made together with a batch."""

    def __init__(self, known: Batches) -> None:
        self._known, self._history = known, known.history
        self._found: dict[int, tuple[int, ...]] = {}

    def of(self, batch: int) -> tuple[int, ...]:
        """Return the batches made together with this one, itself included, newest first."""
        if batch not in self._found:
            found = {batch, *self._batches(batch)}
            self._found |= dict.fromkeys(found, tuple(sorted(found, reverse=True)))
        return self._found[batch]

    def is_probable(self, batch: int) -> bool:
        """True if its writer is not proved."""
        record = self._record(batch)
        found = None if record is None else self._history.attribution(record)
        return found is not None and found.evidence == DURING

    def _record(self, batch: int) -> Record | None:
        starts = self._known.starts(batch)
        return self._history.record(starts[0][1]) if starts else None

    def _batches(self, batch: int) -> tuple[int, ...]:
        record = self._record(batch)
        if record is None or record.writer != OUTSIDE or not isinstance(record.event(), OUTSIDE_WRITES):
            return ()
        found = self._history.attribution(record)
        if found is None or found.writer == OUTSIDE:
            return () if getattr(record.event(), "evidence", "") == CAPTURED else self._together(record)
        if not found.burst:
            return ()
        within = self._history.burst_evidence(found.burst)
        return tuple(one for one, evidence in within if evidence in NAMING)

    def _together(self, record: Record) -> tuple[int, ...]:
        """The batches of a command of git, or of a program that wrote many files; none for a save."""
        by_git = is_by_git(_hint(record)) or self._is_beside_git(record)
        volley = [record, *self._near(record, by_git), *self._near(record, by_git, later=True)]
        batches = tuple(dict.fromkeys(one.batch for one in volley))
        if by_git or len({path for one in volley for path in _paths(one)}) > CROWD_PATHS:
            return batches
        self._found |= {batch: (batch,) for batch in batches}
        return ()

    def _is_beside_git(self, record: Record) -> bool:
        """True for a write without a hint at the moment of one by git, which had begun or ended unseen."""
        if _hint(record):
            return False
        beside = (next(self._around(record, later), None) for later in (False, True))
        return any(one is not None and is_by_git(_hint(one)) and _is_at_once(one, record) for one in beside)

    def _near(self, record: Record, by_git: bool, *, later: bool = False) -> list[Record]:
        """The records of like writes without a pause between them, each of other files: the next write of a file is of
        another command.
        """
        found: list[Record] = []
        last, paths = record, {*_paths(record)}
        for one in self._around(record, later):
            if abs(one.at_ns - last.at_ns) > VOLLEY_NS:
                break
            hint = _hint(one)
            alike = is_by_git(hint) or (not hint and _is_at_once(one, last)) if by_git else hint == _hint(record)
            if not alike:
                continue
            if not paths.isdisjoint(_paths(one)):
                break
            found.append(one)
            last = one
            paths.update(_paths(one))
        return found

    def _around(self, record: Record, later: bool) -> Iterator[Record]:
        """The writes of other programs after or before a record, the nearest first."""
        history = self._history
        around = history.records(after=record.seq) if later else history.records(upto=record.seq - 1, reverse=True)
        for one in islice(around, MOST_RECORDS):
            pause()
            if one.writer == OUTSIDE and isinstance(one.event(), OUTSIDE_WRITES) and not self._is_somebodys(one):
                yield one

    def _is_somebodys(self, record: Record) -> bool:
        found = self._history.attribution(record)
        return found is not None and found.writer != OUTSIDE


def _is_at_once(one: Record, other: Record) -> bool:
    return abs(one.at_ns - other.at_ns) <= AT_ONCE_NS


def _hint(record: Record) -> str:
    return str(getattr(record.event(), "hint", ""))


def _paths(record: Record) -> tuple[str, ...]:
    event = record.event()
    return () if event is None else tuple(paths_of(event))
