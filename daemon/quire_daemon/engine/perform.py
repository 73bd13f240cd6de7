"""Execution of decisions, in the order that makes them durable.

    1. The log takes the events and new bytes, synced. Meanwhile worker threads sync the temporary files with the new
       bytes, and also write those of large files.
    2. Each write is a compare-and-swap on its path; the writes of one request are performed all or none.
    3. After the replies, or before a read, the log's entries are folded into the journal's tables and views (`fold`).
       The database commits many folds at once (`PUBLISH_S`).

`WritesSettled` in a later commit records that writes are visible on disk. The file system makes names durable later;
`power_loss` handles a power cut before that.

The records of a request of many writes are committed in portions (`record_chunks`); then its files are staged and
swapped in slices over several turns (`go_on`). Until then `inflight` lists its files, nobody reads them, and no later
write is recorded as complete. After a kill, the next start completes logged writes without an outcome.
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
    "after_portion": WriteState.DECIDED,  # after the last portion, the log has all records of the request
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
"""Map from the fault points of this module to the state of the writes that a kill leaves; None if it affects no write.
`workspace.STEPS` has the fault points of the swap.
"""

SPARE_FILES: Final = 1024
"""Descriptors that one request leaves free: without one, libzmq aborts the process."""

MANY: Final = 64
"""Number of writes from which on a request is long: it is written in slices."""

SLICE_S: Final = 0.006
"""Seconds of one turn for a long request, while other requests come."""

LONGER_SLICE_S: Final = 0.012
"""Seconds of one turn for a long request, while no other requests come."""

WAIT_S: Final = 0.05
"""Seconds between two checks of a sync that a long request waits for."""

PUBLISH_S: Final = 0.05
"""Seconds between two synced commits of the database."""

RETRY_S: Final = 1.0
"""Seconds before a failed commit of the database is tried again."""

IN_PART: Final = "in_part"

HARD_LINK_BROKEN: Final = {
    "type": "hard_link_broken",
    "message": "The file had other names (hard links). They keep the old bytes; write them by their own names.",
}


class Done(msgspec.Struct, frozen=True):
    """Outcome: the writes are on disk."""

    warnings: tuple[dict[str, str], ...] = ()


class LostRace(msgspec.Struct, frozen=True):
    """Outcome: another program changed a file first. Its bytes stay on disk; the records are abandoned.

    `paths`, as in the log: the changed file; for a long request, also later files whose base has changed.
    """

    paths: tuple[str, ...] = ()


class DiskFailure(msgspec.Struct, frozen=True):
    """Outcome: the disk failed or refused the writes. No file has changed; the records are abandoned."""

    error: Exception


class InPart(msgspec.Struct, frozen=True):
    """Outcome: the request failed, and its writes at `paths` (as in the log) could not be undone. The log records that
    its other writes are abandoned.

    `error`: the reason; None if another program changed a file first.
    """

    error: Exception | None
    paths: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """Outcome: an unexpected fault. The writes are in place or undone, and a later commit records which. If `in_doubt`,
    that cannot be known, and the daemon must end so that the next start finds out.
    """

    error: Exception
    in_doubt: bool = False


Outcome = Done | LostRace | DiskFailure | InPart | Unknown


class _Progress(msgspec.Struct):
    going: InFlightWrite
    staging: list[StagedWrites]  # portions, in order
    landed: list[StagedWrite] = msgspec.field(default_factory=list)
    warnings: list[dict[str, str]] = msgspec.field(default_factory=list)
    rest: Slices[Outcome] | None = None  # remaining work of a request that is written in slices

    @property
    def concluded(self) -> bool:
        """True if it is certain which writes are on disk and which are undone."""
        return self.going.state in (WriteState.LANDED, WriteState.ABANDONED)


class Performer:
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
        """`wake` is called on any thread when a long request can continue. `stagers`: number of threads that wait for
        the disk.
        """
        self._workspace, self._recorder, self._clock = workspace, recorder, recorder.clock
        self._outside, self._in_flight, self._step = outside, in_flight, step
        self._stager = Stager(workspace, wake, stagers)
        self._long: list[_Progress] = []  # requests written in slices, one after the other
        self._waiting = False  # the first request of `_long` waits for the disk
        self._ending = False  # the daemon stops: waits block the loop
        self._publish_s = float("-inf")  # monotonic time from which `fold` publishes
        self.theirs = Theirs(recorder, workspace, withheld)

    def patience_s(self) -> float | None:
        """Return the seconds until the loop must call `go_on` again; None if no long request is being written."""
        return None if not self._long else WAIT_S if self._waiting else 0.0

    def perform(self, going: Sequence[InFlightWrite], sync_folders: bool) -> Iterable[tuple[InFlightWrite, Outcome]]:
        """Commit all pending events, then perform each decision and yield its outcome; `go_on` yields those of long
        requests. Raises `StoreFailure` before the first outcome if the log did not take the events: then no file has
        changed.
        """
        self._step("before_commit")
        long = [_Progress(one, []) for one in going if len(one.decision.writes) >= MANY]
        short = [_Progress(one, []) for one in going if len(one.decision.writes) < MANY]
        for one in long:
            self._in_flight.begin(one.going)  # before the commit, whose `WritesSettled` must not cover these writes
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
                if self._recorder.failure(each.commit) is None:  # else the log does not have its records
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
        """Continue the long requests for a time slice, and yield the ended ones with outcomes. `hurried`: other
        requests wait.
        """
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
        """Finish all long requests, and yield their outcomes."""
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
        except Exception as error:  # noqa: BLE001  becomes a value: the caller must get `unknown`, never `ok`
            self._workspace.release(one.landed)
            if one.concluded:
                self._look_again(one)
            else:
                self._in_flight.doubt(one.going)
            return Unknown(error, not one.concluded)

    def _try(self, one: _Progress, sync_folders: bool) -> Slices[Outcome]:
        """Perform one request in slices, and return its outcome. Raises `InDoubt`, and errors of taking writes back or
        of syncing folders; the caller turns them into `Unknown`.
        """
        while one.going.portions is not None:
            try:
                self._note_portion(one.going, one.going.portions)
            except Exception as error:  # noqa: BLE001  becomes a value
                self._in_flight.not_made(one.going, "not_begun")
                return DiskFailure(error) if isinstance(error, StoreFailure) and not error.unsure else Unknown(error)
            yield False
        try:
            if not one.staging:
                yield from self._stage(one)
            lost = yield from self._swap_all(one)
        except InDoubt:
            raise
        except Exception as error:  # noqa: BLE001  any fault of a write becomes an outcome
            stays = yield from self._take_back(one, error.code if isinstance(error, Refusal) else "fault")
            return InPart(error, stays) if stays else DiskFailure(error)
        if lost is not None:
            changed = yield from self._changed(one)  # before the writes are taken back, which changes signatures
            stays = yield from self._take_back(one, lost.why, lost.kept)
            return InPart(None, stays) if stays else LostRace(changed)
        self._land(one)  # before the folders are synced: the files are already visible
        self._workspace.remove_empty(map(disk_path, one.going.decision.emptied))
        for path in _one_a_folder(one.going.decision.writes) if sync_folders else ():
            self._workspace.sync_folder(disk_path(path))
            yield False
        self._step("before_reply")
        return Done(tuple(one.warnings))

    def _land(self, one: _Progress) -> None:
        self._in_flight.land(one.going.seqs[-1])
        one.going.become(WriteState.LANDED)

    def _note_portion(self, going: InFlightWrite, portions: RecordChunks) -> None:
        """Advance the commit of a long request by one step: number part of the reply, commit the next records, or mark
        the request as logged. Raises `StoreFailure`.
        """
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
        """Write the temporary files of a long request; the disk syncs one portion while the next is written. Raises
        errors of writing before the first swap.
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
        """Swap the files in order; return the first swap that met a change by another program, None if all succeeded.
        Raises `Refusal`, `InDoubt`, and errors of staging. Few writes are all staged before the first swap; of many,
        one portion is swapped while the disk syncs later ones.
        """
        many = len(one.going.decision.writes) >= MANY
        for staging in one.staging if not many else ():
            staging.result()
        one.going.become(WriteState.STAGED)
        self._step("after_stage")
        # so that writes can be taken back, displaced files are held until all have landed
        pinned = len(one.going.decision.writes) > 1
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
        """Undo the request's swapped writes, discard the others, and log this; return the paths whose writes cannot be
        undone.

        `displaced`: bytes of other programs, to be journaled and released.
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
        self._workspace.release(one.landed)  # files displaced by writes that stay
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
        """Undo a write, unless another program has written on top; return bytes of other programs that this displaced.
        None: our write stays, because its file is open or the disk fails.
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
        self.theirs.sweep(self._clock.mono_s(), self._stager.submit, self.commit_noted)

    def commit_noted(self) -> None:
        """Commit all pending events, with the record of which writes are complete on disk. Raises `StoreFailure`; a
        later commit then has that record.
        """
        self._in_flight.note_abandoned()
        upto = self._in_flight.take_settled()
        if upto:
            self._step("before_settle")
            self._recorder.note(WritesSettled(upto))
        try:
            self._recorder.commit()
        except BaseException:
            self._in_flight.land(upto)  # a later commit records them
            raise
        self._in_flight.all_told()

    def fold(self) -> None:
        """Fold the log's new records into the journal's tables; every `PUBLISH_S` seconds also `publish` them. Raises
        `StoreFailure` and `JournalDamaged`.
        """
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
        """Commit folded records to the database, for other threads and processes. Raises `StoreFailure` and
        `JournalDamaged`.
        """
        self._step("before_publish")
        self._recorder.journal.publish()
        self._step("after_publish")

    def publish_at_s(self) -> float:
        """Return the monotonic time at which `fold` publishes; inf if nothing is unpublished."""
        return self._publish_s if self._recorder.journal.unpublished else float("inf")

    def close(self) -> None:
        self._stager.close()


def require_room(writes: int, most_open: int) -> None:
    """Raise `Refusal` if a request has more writes than files can be open: each holds its displaced file open until all
    are on disk.
    """
    most = max(most_open - SPARE_FILES, SPARE_FILES // 8)
    if writes > most:
        message = f"That is to write {writes} files at once, and here it can be {most}; nothing was changed."
        raise Refusal("schema_invalid", message, "narrow_the_choice", most=most)


def most_open() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _one_a_folder(writes: Sequence[Write]) -> Iterable[str]:
    return {path.rpartition("/")[0]: path for write in writes for path in names(write)}.values()
