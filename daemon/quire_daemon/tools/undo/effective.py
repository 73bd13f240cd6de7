"""The timelines of files (their versions, through renames) with the steps that are undone once the chosen batches are.

Undos and redos are batches too, so the module also computes which other batches are in force without the chosen ones.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import dropwhile
from typing import Final

from msgspec.structs import replace

from quire_daemon.tools.undo.batches import Batches
from quire_daemon.tools.undo.choice import Choice
from quire_journal.history import BatchesInForce, FileTimeline, TimelineStep, lives, unwind
from quire_journal.model import BatchUndone
from quire_journal.views import ABANDONED, Version

MOST_OTHERS: Final = 500
"""Undos by others that are considered with one undo, at about 1 ms each; further ones count as ordinary changes."""

MOST_SINCE: Final = 2000
"""Newest records that are searched for undos that left no record in these files."""

MOST_WRITES: Final = 5000
"""Total writes of these undos, in any file."""


class _Without:
    """The journal without the chosen batches.

    A batch that undid others has no effect once it is undone itself, so all batches connected with the choice (which
    undid or were undone, directly or not) are evaluated together.
    """

    def __init__(
        self, known: Batches, choice: Choice, others: Iterable[int] = (), names: Container[str] = frozenset()
    ) -> None:
        """`others`: further batches to consider, with their connected batches, in files of these `names`."""
        self._known, self._choice = known, choice
        self._chosen = {*choice.batches}
        self._connected = self._all_connected(others)
        self._first = min(self._chosen, default=0)  # oldest chosen batch
        self._last_other = max(self._connected - self._chosen, default=0)  # newest connected batch
        self._names = names if others else None
        self._standing = BatchesInForce(known.undoers, self._chosen)  # for the current file
        marks = (known.mark(batch) for batch in self._connected)
        self._by_path = bool(choice.paths) or any(mark is not None and (mark.paths or mark.left) for mark in marks)

    def _all_connected(self, others: Iterable[int]) -> set[int]:
        found = {*self._chosen, *others}
        todo = [*found]
        while todo:
            batch = todo.pop()
            for other in (*self._known.undoers(batch), *self._known.undid(batch)):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    def lives(self) -> list[FileTimeline]:
        """Return the timelines of the affected files, with the undone steps marked."""
        return [self._flagged(life) for life in self._found()]

    def undoing_since(self, found: Sequence[FileTimeline]) -> dict[str, set[int]]:
        """Return path → batches that undid changes to it since these timelines begin, also those without a record in
        the file.
        """
        known, doing, work = self._known, dict[str, set[int]](), 0
        head = known.history.head()
        first = min((life.steps[0].seq for life in found), default=head)
        for record in known.history.records(after=max(first, head - MOST_SINCE)):
            if record.kind != BatchUndone.kind or record.batch in self._connected:
                continue
            if known.history.batch_state(record.batch) == ABANDONED:
                continue
            for undone in known.undid(record.batch):
                work += len(known.history.batch_writes(undone))
                if work > MOST_WRITES:
                    return doing
                for path, _ in known.starts(undone):
                    doing.setdefault(path, set()).add(record.batch)
        return doing

    def as_they_are(self) -> list[FileTimeline]:
        """Return the timelines with the steps that are undone now; they must give the current files."""
        return [self._as_it_is(life) for life in self._found()]

    def _found(self) -> list[FileTimeline]:
        known, names = self._known, self._names
        in_path = known.meant(self._choice.paths)
        # An undo without a record changed nothing, so its redo must change nothing: together they are the identity.
        starts = ((p, s) for batch in self._choice.batches for p, s in known.starts(batch) if in_path(p, s))
        wanted = [(p, s) for p, s in starts if names is None or p in names]
        every = self._by_path or names is not None
        last = max((s for _, s in wanted), default=0)  # later records belong to these timelines or to none
        before = (b for b in self._connected - self._chosen if b < last)
        undone = (b for b in before if every or self._undone(b))
        undid, did = _parted(undone, lambda batch: bool(known.undid(batch)))
        looked_up = {*did, *self._begun()} if undid else {*did}
        others = [(p, s) for b in looked_up for p, s in known.starts(b) if names is None or p in names]
        found = lives(known.history, [*wanted, *others], self._is_connected)
        # Undos touch files that the undone batches had changed, and most of these are known by now.
        met = {step.seq for life in found for step in life.steps} if undid else set()
        unmet = [b for b in undid if not met.issuperset(known.history.batch_writes(b))]
        if unmet:
            others += [(p, s) for b in unmet for p, s in known.starts(b) if names is None or p in names]
            found = lives(known.history, [*wanted, *others], self._is_connected)
        if others:
            about = {*wanted}
            found = [life for life in found if any((p, s.seq) in about for s in life.steps for p in _names(s))]
        return found

    def _is_connected(self, version: Version) -> bool:
        return version.batch in self._connected

    def _begun(self) -> set[int]:
        seen, todo = {*self._chosen}, [*self._chosen]
        while todo:
            more = {*self._known.undid(todo.pop())} - seen
            seen |= more
            todo += more
        return {batch for batch in seen - self._chosen if not self._known.undid(batch)}

    def _flagged(self, life: FileTimeline) -> FileTimeline:
        """Return the timeline from its first undone step on.

        If the newest steps are exactly the chosen ones, and the steps before are in force as they were then, the file
        returns to its former bytes, conflict markers included.
        """
        if self._by_path:
            self._standing = BatchesInForce(self._known.undoers_in(life.steps), self._chosen)
        newest = tuple(dropwhile(lambda step: step.batch not in self._chosen, life.steps))
        if newest and all(step.batch in self._chosen for step in newest) and self._as_before(newest[0], life.steps):
            return FileTimeline(newest)
        return _from_first_undone(life, self._undone)

    def _as_it_is(self, life: FileTimeline) -> FileTimeline:
        undid, standing = self._known.undid, BatchesInForce(self._known.undoers_in(life.steps))
        return _from_first_undone(life, lambda batch: bool(undid(batch)) or not standing.in_force(batch))

    def _as_before(self, first: TimelineStep, steps: Sequence[TimelineStep]) -> bool:
        """True if the steps before the first chosen step are in force, without the choice, as they were then."""
        before = {step.batch for step in steps if step.undone and step.seq < first.seq}
        if not before or self._last_other < first.batch <= self._first:  # everything since is chosen
            return True
        then = BatchesInForce(self._known.undoers_in(steps)).upto(first.batch - 1)
        return all(self._standing.in_force(batch) == then(batch) for batch in before)

    def _undone(self, batch: int) -> bool:
        return bool(self._known.undid(batch)) or not self._standing.in_force(batch)


def _from_first_undone(life: FileTimeline, undone: Callable[[int], bool]) -> FileTimeline:
    steps = tuple(step if not step.undone or undone(step.batch) else replace(step, undone=False) for step in life.steps)
    return FileTimeline(tuple(dropwhile(lambda step: not step.undone, steps)) or steps)


def lives_without(known: Batches, choice: Choice) -> list[FileTimeline]:
    """Return the timelines of the affected files with the undone steps marked.

    Later undos by others count too, or the result would depend on the order of undos; but only in files whose current
    bytes they explain in full, so that resolved conflict markers stay.
    """
    alone = _Without(known, choice)
    found = alone.lives()
    others: set[int] = set()
    names: set[str] = set()
    without_a_record = alone.undoing_since(found)
    wider = {
        life.now: life
        for life in found
        if _undoing_among_kept(known, [life]) or not without_a_record.keys().isdisjoint(life.paths)
    }
    while wider:
        had = {n for life in wider.values() for n in life.paths}
        doing = _undoing_among_kept(known, wider.values()).union(*(without_a_record.get(name, ()) for name in had))
        if doing <= others and had <= names:
            break
        others |= doing
        names |= had
        if len(others) > MOST_OTHERS or sum(len(known.history.batch_writes(b)) for b in others) > MOST_WRITES:
            return found
        without = _Without(known, choice, others, names)
        # Files that also had one of these names are seen in part: their changes under other names are missing.
        wider = {life.now: life for life in without.lives() if life.now in wider}
    if not others:
        return found
    explained = {
        now.now: wider[now.now]
        for now in without.as_they_are()
        if now.now in wider and unwind(known.history, now).is_now
    }
    return [explained.get(life.now, life) for life in found]


def _undoing_among_kept(known: Batches, found: Iterable[FileTimeline]) -> set[int]:
    """Return the batches that undid others, among the steps that are not undone."""
    kept = (step.after.version for life in found for step in life.steps if not step.undone)
    batches = {version.batch for version in kept if version is not None and version.type == "undo"}
    marks = ((batch, known.history.undoing(batch)) for batch in batches)
    return {batch for batch, mark in marks if mark is not None and mark.undone}


def _parted(batches: Iterable[int], fits: Callable[[int], bool]) -> tuple[list[int], list[int]]:
    every = [*batches]
    return [b for b in every if fits(b)], [b for b in every if not fits(b)]


def _names(step: TimelineStep) -> tuple[str, str]:
    return step.before.path, step.after.path
