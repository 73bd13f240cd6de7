"""Batches made together: by a call of an agent's own tool, a command of git, or a program that wrote many files.

Each file that another program writes is a batch. A tool of Quire's makes one batch in each call, and a save is alone.
"""

from __future__ import annotations

from quire_daemon.tools.undo.batches import Batches
from quire_journal.history.stories import joint_writes
from quire_journal.model import CAPTURED, DURING, NAMING, OUTSIDE, Record
from quire_journal.views import OUTSIDE_WRITES


class JointBatches:
    """Cache of the batches made together with a batch."""

    def __init__(self, known: Batches) -> None:
        self._known, self._history = known, known.history
        self._found: dict[int, tuple[int, ...]] = {}

    def of(self, batch: int) -> tuple[int, ...]:
        """Return the batches made together with this one, itself included, newest first."""
        if batch not in self._found:
            self._found |= self._with(batch)
        return self._found.setdefault(batch, (batch,))

    def is_by_git(self, batch: int) -> bool:
        """True if a command of git made the batch, even if git was seen to run only during writes of other files of
        that command.
        """
        return any(map(self._known.is_by_git, self.of(batch)))

    def is_probable(self, batch: int) -> bool:
        """True if the batch's writer is only probable."""
        record = self._known.write(batch)
        found = None if record is None else self._history.attribution(record)
        return found is not None and found.evidence == DURING

    def _with(self, batch: int) -> dict[int, tuple[int, ...]]:
        """Return batch → the batches made together with it, for this batch and those found on the way."""
        record, history = self._known.write(batch), self._history
        if record is None or not _is_by_others(record):
            return {}
        found = history.attribution(record)
        if found is not None and found.writer != OUTSIDE:
            within = history.burst_evidence(found.burst) if found.burst else ()
            call = _newest_first({batch, *(one for one, evidence in within if evidence in NAMING)})
            return dict.fromkeys(call, call)
        if getattr(record.event(), "evidence", "") == CAPTURED:
            return {}
        known: dict[int, tuple[int, ...]] = {}
        for seqs in joint_writes(record, history):
            records = [one for one in map(history.record, seqs) if one is not None]
            batches = _newest_first({one.batch for one in records})
            known |= {one.batch: batches for one in records if history.author(one) == OUTSIDE}
        return known


def _is_by_others(record: Record) -> bool:
    return record.writer == OUTSIDE and isinstance(record.event(), OUTSIDE_WRITES)


def _newest_first(batches: set[int]) -> tuple[int, ...]:
    return tuple(sorted(batches, reverse=True))
