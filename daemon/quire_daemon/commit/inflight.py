"""What is decided, until the log says what became of it; and the files and calls that have to wait meanwhile.

The log may tell of such a request already (of those of a turn with the commit of any other of its calls), and the disk
does not hold all of it yet. A look at one of its files would take what is there for an outside change, so none is made
meanwhile (`observe.FileInFlight`); whoever needs one waits, and everybody else is served. In the end its writes are on
disk (`landed`, until a commit says so), or were not made or taken back, which the log is told before anything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import Final

import msgspec

from quire_daemon.commit.record_chunks import RecordChunks
from quire_daemon.commit.recorder import Recorder
from quire_daemon.core import Call, Decision, names
from quire_journal.model import Seq, WriterId, WritesAbandoned


class InFlightWrite(msgspec.Struct):
    """A decision with writes, between the log and the reply."""

    call: Call
    decision: Decision
    seqs: tuple[Seq, ...]
    batch: Seq
    commit: int = 0  # the number of the one that tells of its events (`Recorder.next_commit`)
    portions: RecordChunks | None = None  # of records that are noted over several turns, until all of them are

    @property
    def write_seqs(self) -> list[int]:
        """The records of its writes that are noted."""
        return [write.seq for write in self.decision.writes] if self.portions is None else [*self.portions.write_seqs]


ABANDONED_AT_ONCE: Final = 64
"""Writes of which one commit says that they were taken back."""


class InFlight:
    """All requests that are decided and of which the log does not say yet what became of them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._going: list[InFlightWrite] = []  # written over several turns, in the order in which they were decided
        self._paths: set[str] = set()  # of those, as in the log
        self._decided: set[str] = set()  # paths of this turn, until it has performed what it decided
        self._doubtful: list[InFlightWrite] = []  # of which a start has to find out what became of them
        self._doubtful_paths: set[str] = set()  # of those, as in the log
        self._of_before: tuple[int, ...] = ()  # batches that the start could not find out about
        self._abandoned: list[tuple[WritesAbandoned, WriterId]] = []  # of which the log does not tell yet
        self._untold_batches: set[int] = set()
        self._untold: set[str] = set()  # their paths: the log has to be told before anybody looks at them
        self._untold_marks: set[tuple[bytes, bytes]] = set()  # and before one of their calls comes a second time
        self._landed = Seq(0)

    # ── decided, and being written ──

    def decided(self, one: InFlightWrite) -> None:
        """It is noted, and its writes come in this turn, or begin in it."""
        self._decided.update(paths_of(one))

    def turn_over(self) -> None:
        """What this turn decided it has performed, or begun to."""
        self._decided.clear()

    def begin(self, one: InFlightWrite) -> None:
        """The log has it, and its writes come over several turns."""
        self._going.append(one)
        self._paths.update(paths_of(one))

    def end(self, one: InFlightWrite) -> None:
        """It is on disk, or has been taken back."""
        self._going.remove(one)
        self._paths.difference_update(paths_of(one))

    def writes(self, path: str) -> bool:
        """Is `path`, as in the log, still to be written?"""
        return path in self._decided or path in self._paths or path in self._doubtful_paths

    def writes_now(self, path: str) -> bool:
        """Is it written by a request that this turn has decided?"""
        return path in self._decided

    @property
    def batches(self) -> tuple[int, ...]:
        """What the log calls the requests of which it does not say yet what became of them, however others landed."""
        return (*self._open_ended, *self._untold_batches)

    @property
    def _open_ended(self) -> Iterator[int]:
        yield from (one.batch for one in (*self._going, *self._doubtful))
        yield from self._of_before

    @property
    def callers(self) -> set[bytes]:
        """Connections that wait for their answers: what else they ask comes after it."""
        return {one.call.incoming.identity for one in self._going}

    @property
    def operations(self) -> set[tuple[bytes, bytes]]:
        """The marks by which these calls would be known if they came a second time."""
        return {mark for one in self._going for mark in one.call.marks}

    # ── in doubt ──

    def open(self) -> None:
        """The writes that the start found unsettled, and left so: none of them is called settled in this run."""
        with self._recorder.history() as history:
            self._of_before = tuple(history.unsettled())

    def doubt(self, one: InFlightWrite) -> None:
        """The disk failed, and does not say what of it stands. Nobody looks at its paths before a start found out."""
        self._doubtful.append(one)
        self._doubtful_paths.update(paths_of(one))

    # ── on disk ──

    @property
    def landed(self) -> Seq:
        """Up to which record the writes are on disk that the log does not call settled; 0: there are none.

        Those of requests that are still being written are not, wherever they stand.
        """
        return self._landed

    def land(self, upto: Seq) -> None:
        """All writes up to this record are on disk, but for those that are still being written."""
        self._landed = max(self._landed, upto)

    def take_settled(self) -> Seq:
        """Up to which record a commit may say now that all is on disk, where none has; 0: there is nothing to say.

        Not beyond a request that is still being written: what follows it has to wait for that. Where that commit fails,
        `land` it again.
        """
        upto = self._settled()
        if upto:
            self._landed = Seq(0)
        return upto

    def _settled(self) -> Seq:
        return Seq(0) if any(batch <= self._landed for batch in self._open_ended) else self._landed

    @property
    def unsettled(self) -> bool:
        """Are there writes on disk, or taken back, of which the log does not say so, and could?"""
        return bool(self._settled() or self._abandoned)

    # ── not made, or taken back ──

    def not_made(self, one: InFlightWrite, why: str) -> None:
        """None of its writes was made; the next commit that is told so (`note_abandoned`) says it."""
        self._abandoned += [(part, one.call.who.writer) for part in _abandoned(one, why)]
        self._have_told_first(one)

    def telling(self, one: InFlightWrite, why: str, standing: Set[int] = frozenset()) -> Iterator[None]:
        """Say in the log that its writes do not stand any more, but for those that are `standing`. Of thousands it is
        said in parts; stops after each.

        A start that finds only a part of it said says the rest (`recovery`). Raises as `commit`; what is not said then
        is kept for later.
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
        """Somebody is going to look at `path`: where the log has to be told of it first, it is. Raises as `commit`."""
        if path in self._untold:
            self.tell()

    def tell_before_repeat(self, call: Call) -> None:
        """It may come a second time, and is to be answered as the log tells of the first: where that was not made, the
        log is told so before. Raises as `commit`.
        """
        if self.is_untold(call):
            self.tell()

    def is_untold(self, call: Call) -> bool:
        """Does the log tell of it, and not yet that it was not made?"""
        return bool(self._untold_marks) and not self._untold_marks.isdisjoint(call.marks)

    def tell(self) -> None:
        """Say in the log what it does not tell yet of writes that were not made, or taken back. Raises as `commit`."""
        self.note_abandoned()
        self._recorder.commit()
        self.all_told()

    def note_abandoned(self) -> None:
        """For the next commit, after which `all_told` is called.

        Also what a commit that failed has dropped: the next one must not call these writes settled without it.
        """
        for event, writer in self._abandoned:
            self._recorder.note(event, writer)

    def all_told(self) -> None:
        """The log has it."""
        self._abandoned.clear()
        self._untold_batches.clear()
        self._untold.clear()
        self._untold_marks.clear()


def paths_of(one: InFlightWrite) -> Iterable[str]:
    """Where it writes."""
    return (path for write in one.decision.writes for path in names(write))


def _abandoned(one: InFlightWrite, why: str, standing: Set[int] = frozenset()) -> list[WritesAbandoned]:
    """Its writes do not stand: the newest first, so that a file that was moved twice goes back as it came."""
    seqs = sorted({*one.write_seqs} - standing)
    starts = range(0, len(seqs), ABANDONED_AT_ONCE)
    return [WritesAbandoned(tuple(seqs[start : start + ABANDONED_AT_ONCE]), why) for start in reversed(starts)]
