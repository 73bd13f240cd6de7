"""Perform: the one order of durability, from a decision to bytes on disk.

    1. the log takes the events and the new bytes, synced; beside that, on worker threads, the temporary files with the
       new bytes are synced (those of large files are written there, too);
    2. each write is performed as a compare-and-swap on its path, the writes of one request all or none;
    3. when the answers are out, the log's entries are folded into the tables and views of the journal (`fold`), or
       earlier before a read. The database commits many folds at once (`PUBLISH_S`).

Outcomes are values (`Done`, `LostRace`, `DiskFailure`); the app answers. `writes_settled` is noted for the next commit
and means: visible to everybody. The file system writes the names down later; `power_loss` handles a power cut before
that.

The records of a request of many writes are committed in portions (`record_chunks`); then it is staged and swapped in
slices over several turns (`go_on`). Meanwhile its files are in `inflight`, and nobody looks at them. A kill finds an
intent without an outcome, and the next start finishes it; no record behind that intent is called settled before.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from quire_daemon.commit import InFlight, InFlightWrite, RecordChunks, Recorder, WriteState
from quire_daemon.core import Move, Put, Write, names
from quire_daemon.engine.rescued import Theirs, Withheld, nothing_is_withheld
from quire_daemon.engine.stage import AT_ONCE, STAGERS, Slices, StagedWrites, Stager, only_syncs, to_end
from quire_daemon.watch import Outside
from quire_daemon.workspace import DisplacedBytes, FileBusy, InDoubt, StagedWrite, SwapDone, SwapLost, Workspace
from quire_journal.model import DISPLACED, Refusal, WritesSettled, disk_path
from quire_journal.storage import StoreFailure
from quire_journal.text import Text

STEPS: Final[Mapping[str, WriteState | None]] = {
    "before_commit": WriteState.DECIDED,
    "after_commit": WriteState.LOGGED,
    "after_portion": WriteState.DECIDED,  # the last one: of many records all are in the log
    "after_stage": WriteState.STAGED,
    "after_write": WriteState.STAGED,
    "after_abandon": WriteState.ABANDONED,
    "before_reply": WriteState.LANDED,
    "before_settle": WriteState.LANDED,
    "before_fold": None,
    "after_fold": None,
    "before_publish": None,
    "after_publish": None,
}
"""Fault points of the order of durability, around those of `workspace.STEPS`, with the state of the writes that a kill
leaves there, or None.
"""

SPARE_FILES: Final = 1024
"""Descriptors that one request leaves for connections and the rest: libzmq aborts without."""

MANY: Final = 64
"""Fewest writes of a request that is written in slices."""

SLICE_S: Final = 0.006
"""Seconds of a turn for such a request while others ask."""

LONGER_SLICE_S: Final = 0.012
"""Seconds while nobody asks."""

WAIT_S: Final = 0.05
"""Seconds between two looks at a sync that such a request waits for."""

PUBLISH_S: Final = 0.05
"""Seconds between two synced commits of the database."""

RETRY_S: Final = 1.0
"""Seconds until a publication that failed is tried again."""

IN_PART: Final = "in_part"

HARD_LINK_BROKEN: Final = {
    "type": "hard_link_broken",
    "message": "The file had other names (hard links). They keep the old bytes; write them by their own names.",
}


class Done(msgspec.Struct, frozen=True):
    """The writes are on disk."""

    warnings: tuple[dict[str, str], ...] = ()


class LostRace(msgspec.Struct, frozen=True):
    """An outside program was faster. Its state stays, and the log has taken the records back.

    `paths`, as in the log: where, and for a long request where else the base has changed.
    """

    paths: tuple[str, ...] = ()


class DiskFailure(msgspec.Struct, frozen=True):
    """The disk refused, or failed. Nothing has changed, and the log has taken the records back."""

    error: Exception


class InPart(msgspec.Struct, frozen=True):
    """The request failed, and the writes at `paths`, as in the log, could not be taken back: the log has taken back all
    others.

    `error`: the reason; None: an outside program was faster.
    """

    error: Exception | None
    paths: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """A fault in the middle. The write stands, or was taken back and the log will record that; or the write is
    `in_doubt`: then this daemon has to end, and the next start finds out.
    """

    error: Exception
    in_doubt: bool = False


Outcome = Done | LostRace | DiskFailure | InPart | Unknown


class _Progress(msgspec.Struct):
    """One request's writes on their way."""

    going: InFlightWrite
    staging: list[StagedWrites]  # in portions, in order
    landed: list[StagedWrite] = msgspec.field(default_factory=list)
    warnings: list[dict[str, str]] = msgspec.field(default_factory=list)
    rest: Slices[Outcome] | None = None  # what is to be done, of a request that is written in slices

    @property
    def concluded(self) -> bool:
        """True if the request is on disk, or the log records that it is not."""
        return self.going.state in (WriteState.LANDED, WriteState.ABANDONED)


class Performer:
    """Puts decisions on disk."""

    def __init__(
        self,
        workspace: Workspace,
        recorder: Recorder,
        outside: Outside,
        in_flight: InFlight,
        step: Callable[[str], None],
        wake: Callable[[], None] = lambda: None,
        withheld: Withheld = nothing_is_withheld,
        stagers: int = STAGERS,
    ) -> None:
        """`wake`: called on any thread when work can go on. `stagers`: threads that wait for the disk."""
        self._workspace, self._recorder, self._clock = workspace, recorder, recorder.clock
        self._outside, self._in_flight, self._step = outside, in_flight, step
        self._stager = Stager(workspace, wake, stagers)
        self._long: list[_Progress] = []  # that are written in slices, one after the other
        self._waiting = False  # the first of them, for the disk
        self._ending = False  # nobody is served any more
        self._publish_s = float("-inf")  # when other threads and processes are to see what is folded
        self.theirs = Theirs(recorder, workspace, withheld)

    def patience_s(self) -> float | None:
        """Longest wait for `go_on`; None without work."""
        return None if not self._long else WAIT_S if self._waiting else 0.0

    def perform(self, going: Sequence[InFlightWrite], sync_folders: bool) -> Iterable[tuple[InFlightWrite, Outcome]]:
        """Commit what the decisions noted, then perform each; outcomes as they come, of long ones by `go_on`. Raises
        `StoreFailure` before the first outcome if the log could not take them: nothing was written.
        """
        self._step("before_commit")
        long = [_Progress(one, []) for one in going if len(one.decision.writes) >= MANY]
        short = [_Progress(one, []) for one in going if len(one.decision.writes) < MANY]
        for one in long:
            self._in_flight.begin(one.going)  # before the commit: it says that what was on disk earlier is settled
        try:
            for one in short:
                for portion in self._stager.portions(one.going):
                    one.staging.append(self._stager.begin(portion))
            self.commit_noted()
        except BaseException:
            for one in long:
                self._in_flight.end(one.going)
            for one in short:
                self._abandon_temporary(one)
            for each in going:
                if self._recorder.failure(each.commit) is None:  # an earlier commit has told of it
                    self._in_flight.not_made(each, "not_begun")
            raise
        for each in going:
            if each.portions is None:
                each.become(WriteState.LOGGED)
        self._step("after_commit")
        for one in long:
            if one.going.portions is not None:
                self._step("after_portion")
            one.rest = self._outcome(one, sync_folders)
        self._long += long
        return ((one.going, to_end(self._outcome(one, sync_folders))) for one in short)

    def go_on(self, hurried: bool) -> Iterator[tuple[InFlightWrite, Outcome]]:
        """A slice of long requests, and the outcomes of finished ones. `hurried`: others ask for something."""
        until = self._clock.mono_s() + (SLICE_S if hurried else LONGER_SLICE_S)
        while self._long:
            one = self._long[0]
            assert one.rest is not None
            try:
                self._waiting = next(one.rest)
            except StopIteration as ended:
                self._waiting = False
                self._long.remove(one)
                self._in_flight.end(one.going)
                yield one.going, ended.value
            if self._waiting or self._clock.mono_s() > until:
                return

    def finish(self) -> Iterator[tuple[InFlightWrite, Outcome]]:
        """Finish all long requests; nobody else is served any more."""
        self._ending = True
        while self._long:
            one = self._long.pop(0)
            assert one.rest is not None
            outcome = to_end(one.rest)
            self._in_flight.end(one.going)
            yield one.going, outcome

    def _outcome(self, one: _Progress, sync_folders: bool) -> Slices[Outcome]:
        try:
            return (yield from self._try(one, sync_folders))
        except Exception as error:  # noqa: BLE001  told as a value: the caller must hear "unknown", never "ok"
            self._workspace.release(one.landed)
            if one.concluded:
                self._look_again(one)
            else:
                self._in_flight.doubt(one.going)
            return Unknown(error, not one.concluded)

    def _try(self, one: _Progress, sync_folders: bool) -> Slices[Outcome]:
        """Perform one request. The caller turns errors of its rollback into `Unknown`."""
        while one.going.portions is not None:
            try:
                self._note_portion(one.going, one.going.portions)
            except Exception as error:  # noqa: BLE001  told as a value
                self._in_flight.not_made(one.going, "not_begun")
                return DiskFailure(error) if isinstance(error, StoreFailure) and not error.unsure else Unknown(error)
            yield False
        try:
            if not one.staging:
                yield from self._stage(one)
            lost = yield from self._swap_all(one)
        except InDoubt:
            raise
        except Exception as error:  # noqa: BLE001  nothing is known of it but that it is to be told
            stays = yield from self._take_back(one, error.code if isinstance(error, Refusal) else "fault")
            return InPart(error, stays) if stays else DiskFailure(error)
        if lost is not None:
            changed = yield from self._changed(one)  # before: what is taken back has other signatures
            stays = yield from self._take_back(one, lost.why, lost.kept)
            return InPart(None, stays) if stays else LostRace(changed)
        self._land(one)  # whatever a sync of its folders says: everybody sees it
        for path in _one_a_folder(one.going.decision.writes) if sync_folders else ():
            self._workspace.sync_folder(disk_path(path))
            yield False
        self._step("before_reply")
        return Done(tuple(one.warnings))

    def _land(self, one: _Progress) -> None:
        self._in_flight.land(one.going.seqs[-1])
        one.going.become(WriteState.LANDED)

    def _note_portion(self, going: InFlightWrite, portions: RecordChunks) -> None:
        """Put the next records into the log, or number more of the reply. Raises `StoreFailure`."""
        if portions.settle_some():
            return
        if portions.all_noted:
            going.decision, going.seqs, going.portions = portions.settled, tuple(portions.seqs), None
            going.become(WriteState.LOGGED)
            return
        portions.note()
        self.commit_noted()
        self._step("after_portion")

    def _stage(self, one: _Progress) -> Slices[None]:
        """Write the temporary files of a long request: the disk syncs one portion while the next is written. Raises
        before the first is swapped.
        """
        for portion in self._stager.portions(one.going):
            one.staging.append((yield from self._stager.beginning(portion, long=True)))
            yield False
        for staging in one.staging:
            if not only_syncs(staging):
                yield from self._until_synced(staging)
                staging.result()

    def _until_synced(self, staging: StagedWrites) -> Slices[None]:
        while not (staging.done() or self._ending):
            yield True

    def _swap_all(self, one: _Progress) -> Slices[SwapLost | None]:
        """Swap the writes in, in order; returns what stopped it, or None. Raises `Refusal`.

        Of few writes, none is swapped before all are staged; of many, a portion is while the disk syncs the written
        ones behind.
        """
        many = len(one.going.decision.writes) >= MANY
        for staging in one.staging if not many else ():
            staging.result()
        one.going.become(WriteState.STAGED)
        self._step("after_stage")
        pinned = len(one.going.decision.writes) > 1  # what they displace stays at hand until all of them have landed
        writes = iter(one.going.decision.writes)
        for staging in one.staging:
            yield from self._until_synced(staging)
            for step in staging.result():
                try:
                    result = self._workspace.perform(step, pinned=pinned)
                except FileBusy:
                    return SwapLost("held_open")
                if isinstance(result, SwapLost):
                    return result
                one.landed.append(step)
                if result.hard_link_broken:
                    one.warnings.append(HARD_LINK_BROKEN)
                self._remember(next(writes), result)
                self._step("after_write")
                if not len(one.landed) % AT_ONCE:
                    yield False
        if pinned:
            self._workspace.release(one.landed)
        return None

    def _changed(self, one: _Progress) -> Slices[tuple[str, ...]]:
        writes = one.going.decision.writes
        lost, *rest = writes[len(one.landed) :]
        changed = [lost.path]
        for at, write in enumerate(rest if len(writes) >= MANY else (), 1):
            if not self._stands(write):
                changed.append(write.path)
            if not at % AT_ONCE:
                yield False
        return tuple(changed)

    def _stands(self, write: Write) -> bool:
        try:
            look = self._workspace.look(disk_path(write.path))
        except (Refusal, OSError):
            return True
        over = write.over
        if not over.proof or look.signature is None:
            return (look.kind == "missing") == (over.kind == "missing")
        return msgspec.structs.astuple(look.signature) == over.proof

    def _remember(self, write: Write, result: SwapDone) -> None:
        signature = result.signature if result.settled else None
        if isinstance(write, Put):
            text = write.text or Text.of(write.data)
            self._recorder.texts.keep(text.blob, text)
            exchanged = write.over.kind == "file"
            self._outside.landed(disk_path(write.path), signature, text.blob, exchanged)
        elif isinstance(write, Move):
            self._outside.landed(disk_path(write.path), None, b"")
            self._outside.landed(disk_path(write.to), signature, write.over.text.blob if write.over.text else b"")
        else:
            self._outside.landed(disk_path(write.path), None, b"")

    def _take_back(self, one: _Progress, why: str, displaced: Iterable[DisplacedBytes] = ()) -> Slices[tuple[str, ...]]:
        """Undo what has landed, drop what has not, and log that before anything else.

        Returns the paths that cannot be undone. `displaced` bytes of others are journaled, too, and then released.
        """
        kept, stays = [*displaced], dict[str, int]()
        landed = zip(one.going.decision.writes, one.landed, strict=False)
        for at, (write, step) in enumerate(reversed([*landed]), 1):
            theirs = None if any(path in stays for path in names(write)) else self._revert(step)
            if theirs is None:
                stays.update(dict.fromkeys(names(write), write.seq))
            else:
                kept += theirs
            if not at % AT_ONCE:
                yield False
        self._workspace.release(one.landed)  # what those of them displaced that stay
        noted, _ = self.theirs.note((one, "swap") for one in kept)
        for staging in one.staging:
            yield from self._until_synced(staging)
        self._abandon_temporary(one)
        if stays:
            self._land(one)
        else:
            one.going.become(WriteState.ABANDONED)
        for _ in self._in_flight.telling(one.going, IN_PART if stays else why, {*stays.values()}):
            self._step("after_abandon")
            yield False
        self._workspace.discard(noted)
        self._look_again(one)
        return tuple(stays)

    def _revert(self, step: StagedWrite) -> Sequence[DisplacedBytes] | None:
        """Undo a write, unless somebody has written on top of it. Returns displaced bytes of others, or None if our
        write stays, as somebody has it open or the disk fails.
        """
        try:
            reverted = self._workspace.revert(step)
        except InDoubt:
            raise
        except (FileBusy, Refusal, OSError):
            return None
        return reverted.kept if isinstance(reverted, SwapLost) else ()

    def _abandon_temporary(self, one: _Progress) -> None:
        landed = {step.name for step in one.landed}
        for future in one.staging:
            for step in future.result() if future.exception() is None else ():
                if step.name not in landed:
                    self._workspace.abandon(step)

    def _look_again(self, one: _Progress) -> None:
        now = self._clock.mono_s()
        for write in one.going.decision.writes:
            for path in names(write):
                self._recorder.seen.tell({disk_path(path): None})
                self._outside.name(disk_path(path), DISPLACED, now)

    def sweep(self) -> None:
        """Answer lease breaks on displaced files, and journal what late writers wrote."""
        self.theirs.sweep(self._clock.mono_s(), self._stager.submit, self.commit_noted)

    def commit_noted(self) -> None:
        """Commit everything noted, and that everything performed is on disk. Raises `StoreFailure`; on a full disk it
        is noted again, as a collection keeps what unsettled writes may need.
        """
        self._in_flight.note_abandoned()
        upto = self._in_flight.take_settled()
        if upto:
            self._step("before_settle")
            self._recorder.note(WritesSettled(upto))
        try:
            self._recorder.commit()
        except BaseException:
            self._in_flight.land(upto)  # to be noted with a later commit
            raise
        self._in_flight.all_told()

    def fold(self) -> None:
        """Fold what the log took, and publish it in time. Raises `StoreFailure` and `JournalDamaged`."""
        journal, now_s = self._recorder.journal, self._clock.mono_s()
        due = now_s >= self._publish_s
        if due:
            self._publish_s = now_s + RETRY_S
        if journal.pending:
            self._step("before_fold")
            journal.fold()
            self._step("after_fold")
        if due and journal.unpublished:
            self.publish()
        if not journal.unpublished:
            self._publish_s = now_s + PUBLISH_S

    def publish(self) -> None:
        """Make all that the log took visible to other threads and processes. Raises as `fold`."""
        self._step("before_publish")
        self._recorder.journal.publish()
        self._step("after_publish")

    def publish_at_s(self) -> float:
        """When `fold` has something to publish."""
        return self._publish_s if self._recorder.journal.unpublished else float("inf")

    def close(self) -> None:
        """End the worker threads."""
        self._stager.close()


def require_room(writes: int, most_open: int) -> None:
    """Refuse more writes than descriptors: each holds the displaced file until all have landed."""
    most = max(most_open - SPARE_FILES, SPARE_FILES // 8)
    if writes > most:
        message = f"That is to write {writes} files at once, and here it can be {most}; nothing was changed."
        raise Refusal("schema_invalid", message, "narrow_the_choice", most=most)


def most_open() -> int:
    """How many files this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _one_a_folder(writes: Sequence[Write]) -> Iterable[str]:
    return {path.rpartition("/")[0]: path for write in writes for path in names(write)}.values()
