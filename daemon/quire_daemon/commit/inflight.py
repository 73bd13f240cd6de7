"""In-flight writes: requests in the log whose files may not be on disk yet.

The daemon does not compare these files with the journal (`observe.FileInFlight`). A write ends when a commit records
that its files are on disk, or that it is abandoned: not made, or taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import Final

import msgspec

from quire_daemon.commit.record_chunks import RecordChunks
from quire_daemon.commit.recorder import Recorder
from quire_daemon.commit.write_states import WriteState, following
from quire_daemon.core import Call, Decision, names
from quire_journal.model import Seq, WriterId, WritesAbandoned


class InFlightWrite(msgspec.Struct):
    """A request that writes files, between the decision on it and its reply."""

    call: Call
    decision: Decision
    seqs: tuple[Seq, ...]
    batch: Seq
    commit: int = 0  # commit that logs its events (`Recorder.next_commit`)
    portions: RecordChunks | None = None  # records still to be committed in portions; None if there are none
    state: WriteState = WriteState.DECIDED

    def become(self, state: WriteState) -> None:
        """Change the state. Raises `ImpossibleTransition` if `state` may not follow."""
        self.state = following(self.state, state)

    @property
    def write_seqs(self) -> list[int]:
        return [write.seq for write in self.decision.writes] if self.portions is None else [*self.portions.write_seqs]


ABANDONED_AT_ONCE: Final = 64
"""Maximum number of writes that one commit records as abandoned."""


class InFlight:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._going: list[InFlightWrite] = []  # written over several turns, in order of decision
        self._paths: set[str] = set()  # their paths, as in the log
        self._decided: set[str] = set()  # paths of this turn's decisions
        self._doubtful: list[InFlightWrite] = []  # unknown until recovery
        self._doubtful_paths: set[str] = set()  # their paths, as in the log
        self._of_before: tuple[int, ...] = ()  # batches whose outcome recovery left unknown
        self._abandoned: list[tuple[WritesAbandoned, WriterId]] = []  # to be logged
        self._untold_batches: set[int] = set()
        self._untold: set[str] = set()  # their paths, logged before a look at one of them
        # their operation ids and keys, logged before one of their calls is repeated
        self._untold_marks: set[tuple[bytes, bytes]] = set()
        self._landed = Seq(0)

    # ── decided, and being written ──

    def decided(self, one: InFlightWrite) -> None:
        """Add the paths of a request that this turn of the main loop writes."""
        self._decided.update(paths_of(one))

    def turn_over(self) -> None:
        """Forget the paths added by `decided`: their writes are done, or were handed to `begin`."""
        self._decided.clear()

    def begin(self, one: InFlightWrite) -> None:
        """Add a request that is written over several turns."""
        self._going.append(one)
        self._paths.update(paths_of(one))

    def end(self, one: InFlightWrite) -> None:
        self._going.remove(one)
        self._paths.difference_update(paths_of(one))

    def writes(self, path: str) -> bool:
        return path in self._decided or path in self._paths or path in self._doubtful_paths

    def writes_now(self, path: str) -> bool:
        """Return True if a request passed to `decided` in this turn writes `path` (as in the log)."""
        return path in self._decided

    @property
    def batches(self) -> tuple[int, ...]:
        """Numbers of the batches whose outcome (complete or abandoned) the log does not have yet."""
        return (*self._open_ended, *self._untold_batches)

    @property
    def _open_ended(self) -> Iterator[int]:
        yield from (one.batch for one in (*self._going, *self._doubtful))
        yield from self._of_before

    @property
    def callers(self) -> set[bytes]:
        """Connections whose request is written over several turns."""
        return {one.call.incoming.identity for one in self._going}

    @property
    def operations(self) -> set[tuple[bytes, bytes]]:
        return {mark for one in self._going for mark in one.call.marks}

    # ── unknown ──

    def open(self) -> None:
        with self._recorder.history() as history:
            self._of_before = tuple(history.unsettled())

    def doubt(self, one: InFlightWrite) -> None:
        """Mark the outcome of a request as unknown after a disk error. Its files are not compared with the journal in
        this run.
        """
        self._doubtful.append(one)
        self._doubtful_paths.update(paths_of(one))

    # ── on disk ──

    @property
    def landed(self) -> Seq:
        """Last seq up to which writes are on disk but not yet recorded as complete; 0: none."""
        return self._landed

    def land(self, upto: Seq) -> None:
        """Remember that all writes up to this seq are on disk, except those of `begin` that still run."""
        self._landed = max(self._landed, upto)

    def take_settled(self) -> Seq:
        """Return the seq up to which the next commit may record writes as complete (0: none), and forget that seq. If
        the commit fails, pass the seq to `land` again.
        """
        upto = self._settled()
        if upto:
            self._landed = Seq(0)
        return upto

    def _settled(self) -> Seq:
        return Seq(0) if any(batch <= self._landed for batch in self._open_ended) else self._landed

    @property
    def unsettled(self) -> bool:
        """True if the next commit has outcomes to record: writes that are complete, or abandoned."""
        return bool(self._settled() or self._abandoned)

    # ── abandoned ──

    def not_made(self, one: InFlightWrite, why: str) -> None:
        """Abandon a request that has written no file; the next commit logs this."""
        one.become(WriteState.ABANDONED)
        self._abandoned += [(part, one.call.who.writer) for part in _abandoned(one, why)]
        self._have_told_first(one)

    def telling(self, one: InFlightWrite, why: str, standing: Set[int] = frozenset()) -> Iterator[None]:
        """Log, in several commits, that a request's writes are abandoned, except those with the seqs `standing`. Yields
        after each commit. If a commit fails, raises `StoreFailure`, and a later commit logs the remaining writes.
        """
        parts = deque((part, one.call.who.writer) for part in _abandoned(one, why, standing))
        while parts:
            self._abandoned.append(parts.popleft())
            try:
                self.tell()
            except BaseException:
                self._abandoned += parts
                self._have_told_first(one)
                raise
            yield

    def _have_told_first(self, one: InFlightWrite) -> None:
        self._untold_batches.add(one.batch)
        self._untold.update(paths_of(one))
        self._untold_marks |= one.call.marks

    def tell_before_look(self, path: str) -> None:
        """Log all unlogged abandoned writes if one is of `path`, which is about to be compared with the journal. Raises
        `StoreFailure`.
        """
        if path in self._untold:
            self.tell()

    def tell_before_repeat(self, call: Call) -> None:
        """Log all unlogged abandoned writes if one is of `call`, a repeat of which is about to be answered. Raises
        `StoreFailure`.
        """
        if self.is_untold(call):
            self.tell()

    def is_untold(self, call: Call) -> bool:
        """Return True if the log has the writes of `call`, but not yet that they are abandoned."""
        return bool(self._untold_marks) and not self._untold_marks.isdisjoint(call.marks)

    def tell(self) -> None:
        """Commit the record of all unlogged abandoned writes. Raises `StoreFailure`."""
        self.note_abandoned()
        self._recorder.commit()
        self.all_told()

    def note_abandoned(self) -> None:
        """Add all unlogged abandoned writes to the next commit; call `all_told` after it."""
        for event, writer in self._abandoned:
            self._recorder.note(event, writer)

    def all_told(self) -> None:
        self._abandoned.clear()
        self._untold_batches.clear()
        self._untold.clear()
        self._untold_marks.clear()


def paths_of(one: InFlightWrite) -> Iterable[str]:
    return (path for write in one.decision.writes for path in names(write))


def _abandoned(one: InFlightWrite, why: str, standing: Set[int] = frozenset()) -> list[WritesAbandoned]:
    seqs = sorted({*one.write_seqs} - standing)
    starts = range(0, len(seqs), ABANDONED_AT_ONCE)
    return [WritesAbandoned(tuple(seqs[start : start + ABANDONED_AT_ONCE]), why) for start in reversed(starts)]
