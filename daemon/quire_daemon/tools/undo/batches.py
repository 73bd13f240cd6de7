"""Batches in the journal: their changes, the batches that undid them, and whether they are in force (not undone). The
writes of an abandoned batch are in the log, but were not made or were taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from quire_daemon.tools.history import VERSION_KINDS, path_filter
from quire_journal.history import History, TimelineStep, is_by_git
from quire_journal.history.renames import LaterNames
from quire_journal.model import FOLDER, OUTSIDE, BatchUndone, Record, paths_of
from quire_journal.views import OUTSIDE_TYPE, Version

SPARSE: Final = 8
"""Largest ratio of records to wanted batches for one sequential scan; beyond, each batch is looked up."""

Fits = Callable[[str, int], bool]
"""Predicate of (path, seq): it selects the file that had this path after record `seq`."""


class Batches:
    """Cached journal lookups about batches."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._records: dict[int, tuple[BatchUndone | None, tuple[tuple[str, int], ...], int]] = {}
        self._undoers: dict[int, list[int]] = {}
        self._undid: dict[int, tuple[int, ...]] = {}
        self._in_force: dict[int, bool] = {}
        self._filters: dict[tuple[str, ...], Fits] = {}
        self.names = LaterNames(history)

    def prepare(self, wanted: Sequence[int]) -> None:
        """Prefetch the records and undoers of these batches, if the batches lie close together."""
        first, last = min(wanted, default=0), max(wanted, default=0)
        if not 0 < last - first <= len(wanted) * SPARSE:
            return
        asked = {*wanted} - self._records.keys()
        found: dict[int, list[Record]] = {batch: [] for batch in asked}
        for record in self.history.records(after=first - 1):
            if record.batch in asked:
                found[record.batch].append(record)
            if record.seq > last and record.batch != last:
                break
        for batch, records in found.items():
            if {*self.history.batch_writes(batch)} <= {record.seq for record in records}:
                self._take(batch, records)
        undoers = self.history.undoers_within(first, last)
        for batch in asked - self._undoers.keys():
            self._undoers[batch] = self._not_abandoned(undoers.get(batch, ()))

    def mark(self, batch: int) -> BatchUndone | None:
        """Return the event by which the batch undid others, or None. The batch's other records are not read."""
        return self._records[batch][0] if batch in self._records else self.history.undoing(batch)

    def starts(self, batch: int) -> tuple[tuple[str, int], ...]:
        """Return (path, seq) of the batch's versions that are not abandoned."""
        return self._of(batch)[1]

    def writer(self, batch: int) -> int:
        """Return the id of the writer that made the batch."""
        return self._of(batch)[2]

    def write(self, batch: int) -> Record | None:
        """Return a write of the batch, or its first record."""
        starts = self.starts(batch)
        return self.history.record(starts[0][1] if starts else batch)

    def is_setup(self, batch: int) -> bool:
        """True for a batch of `quire setup`, which an undo of everybody's work leaves alone."""
        return self.history.is_setup(self.writer(batch))

    def is_by_git(self, batch: int) -> bool:
        """True if git was seen to write the batch."""
        record = self.write(batch)
        return record is not None and is_by_git(getattr(record.event(), "hint", ""))

    def is_undo(self, batch: int) -> bool:
        """True if `redo` takes this batch back, as an undo or redo; a restore or rollback is undone like an edit."""
        mark = self.mark(batch)
        return mark is not None and mark.how in ("undo", "redo")

    def undid(self, batch: int) -> tuple[int, ...]:
        """Return the batches that this one undid."""
        if batch not in self._undid:
            mark = self.mark(batch)
            self._undid[batch] = () if mark is None else tuple(b for b in mark.undone if b < batch)
        return self._undid[batch]

    def undoers(self, batch: int) -> list[int]:
        """Return the batches that undid this one, in force or not, newest first; abandoned batches are left out."""
        if batch not in self._undoers:
            self._undoers[batch] = self._not_abandoned(self.history.undoers(batch))
        return self._undoers[batch]

    def undoers_in(self, steps: Sequence[TimelineStep]) -> Callable[[int], Sequence[int]]:
        """Return a function like `undoers` for one file, given by its steps. It leaves out undoers that did not undo
        the batch in that file.
        """
        found: dict[int, Sequence[int]] = {}
        about: dict[int, bool] = {}

        def undoers(batch: int) -> Sequence[int]:
            if batch not in found:
                for by in self.undoers(batch):
                    if by not in about:
                        about[by] = self._is_about(by, steps)
                found[batch] = [by for by in self.undoers(batch) if about[by]]
            return found[batch]

        return undoers

    def _is_about(self, undoer: int, steps: Sequence[TimelineStep]) -> bool:
        mark = self.mark(undoer)
        if mark is None:
            return True
        if any(step.seq in mark.left for step in steps):
            return False
        if not mark.paths:
            return True
        fits = self.fits(mark.paths)
        undone = [
            step for step in steps if step.batch in mark.undone
        ] or steps  # fallback: the undone batch left no step in this file
        return any(fits(path, step.seq) for step in undone for path in (step.before.path, step.after.path))

    def fits(self, paths: tuple[str, ...]) -> Fits:
        """Return the predicate (path, seq) of files to which one of the paths, folders and globs applies, then or under
        a later name; of all files if none is given.
        """
        if paths not in self._filters:
            self._filters[paths] = _in_paths(paths, self.names.of, self.history)
        return self._filters[paths]

    def meant(self, paths: tuple[str, ...]) -> Fits:
        """Return the predicate of `fits` for paths that a caller names; a former path of a file does not count if
        another file has that path now.
        """
        return _in_paths(paths, self.names.own, self.history)

    def _not_abandoned(self, batches: Iterable[int]) -> list[int]:
        return [batch for batch in batches if self.history.batch_state(batch) != "abandoned"]

    def standing_undoers(self, batch: int) -> list[int]:
        """Return the undoers of a batch that are in force."""
        return [by for by in self.undoers(batch) if self.in_force(by)]

    def in_force(self, batch: int) -> bool:
        """True unless the batch is undone."""
        if batch not in self._in_force:
            self._in_force[batch] = not self.undoers(batch) or self.history.undone_by(batch) is None
        return self._in_force[batch]

    def stands(self, batch: int, in_path: Fits) -> bool:
        """True if the batch changed a file that `in_path` admits and is not undone there."""
        undone = self._undone_at(batch)
        return any(
            any(in_path(name, seq) for name in names) and not any(undone(name, seq) for name in names)
            for seq, names in self._named(batch)
        )

    def undone(self, batch: int, in_path: Fits) -> bool:
        """True if the batch changed a file that `in_path` admits and is undone there."""
        undone = self._undone_at(batch)
        return any(
            any(in_path(name, seq) for name in names) and any(undone(name, seq) for name in names)
            for seq, names in self._named(batch)
        )

    def _named(self, batch: int) -> Iterable[tuple[int, list[str]]]:
        found: dict[int, list[str]] = {}
        for path, seq in self.starts(batch):
            found.setdefault(seq, []).append(path)
        return found.items()

    def _undone_at(self, batch: int) -> Fits:
        marks = (self.mark(by) for by in self.standing_undoers(batch))
        filters = [self.fits(mark.paths) for mark in marks if mark is not None]
        return lambda path, seq: any(fits(path, seq) for fits in filters)

    def _of(self, batch: int) -> tuple[BatchUndone | None, tuple[tuple[str, int], ...], int]:
        if batch not in self._records:
            self._take(batch, self.history.batch(batch))
        return self._records[batch]

    def _take(self, batch: int, records: Iterable[Record]) -> None:
        mark: BatchUndone | None = None
        places: list[tuple[str, int]] = []
        writer = 0
        for record in records:
            writer = self.history.author(record)
            if record.kind == BatchUndone.kind:
                event = record.event()
                mark = event if isinstance(event, BatchUndone) else None
            elif record.kind in VERSION_KINDS:
                event = record.event()
                made = ((path, self.history.version_by(path, record, event)) for path in paths_of(event))
                places += [(path, record.seq) for path, version in made if _stands(version)]
        self._records[batch] = mark, tuple(places), writer


def _stands(version: Version | None) -> bool:
    """True for a version of a file, or of a folder that a tool or an agent's command made or removed. Other folders are
    recorded for tree listings only.
    """
    if version is None or version.displaced:
        return False
    return version.entry != FOLDER or version.type != OUTSIDE_TYPE or version.writer != OUTSIDE


def _in_paths(given: Sequence[str], names: Callable[[str, int], Sequence[str]], history: History) -> Fits:
    if not given:
        return lambda path, seq: True
    filters = [path_filter(one, history) for one in given]
    return lambda path, seq: any(fits(name) for name in names(path, seq) for fits in filters)
