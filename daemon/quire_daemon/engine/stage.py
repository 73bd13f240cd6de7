"""Preparing what a request writes: its new bytes in temporary files, synced, while its records are committed.

A small file is written in the loop and synced beside it; a large one is written on a thread, too. Many are prepared in
portions, which are synced together. What goes wrong is told when the outcome is asked for: by then the log has it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from quire_daemon.commit import InFlightWrite
from quire_daemon.core import Move, Put, Write
from quire_daemon.workspace import TOGETHER, StagedWrite, UnsyncedWrites, Workspace
from quire_journal.model import disk_path
from quire_journal.storage import Pool, Sync, Syncer

STAGERS: Final = 8
"""Threads that stage: they wait for the disk, which syncs eight files in little more time than one."""

PORTION: Final = 256
"""Writes that are synced together, while those behind them are written and those before them swapped."""

SMALL_BYTES: Final = 512 * 1024
"""A file of so many bytes is written in the loop, and only synced beside it: that takes less than to take turns."""

MOST_SMALL_BYTES: Final = 32 << 20
"""So many bytes of small files are written there in one portion."""

AT_ONCE: Final = 8
"""Of many writes so many are prepared, or swapped, before the time is looked at."""

T = TypeVar("T")

Slices = Generator[bool, None, T]
"""Work that stops now and then: True where it waits for the disk, False where there is more to do at once."""


def to_end(work: Slices[T]) -> T:
    """Do all of it at once."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result


class StagedWrites(Protocol):
    """Writes that are being staged."""

    def done(self) -> bool:
        """Is `result` there without a wait?"""

    def result(self) -> list[StagedWrite]:
        """The writes, staged; waits for that. Raises what went wrong."""

    def exception(self) -> BaseException | None:
        """What went wrong, if something did; waits for it."""


class _Syncing(msgspec.Struct):
    """Small writes: written in the loop, synced on a worker thread, named in the loop when they are asked for."""

    workspace: Workspace
    written: UnsyncedWrites
    sync: Sync | Future[None]
    staged: list[StagedWrite] | None = None

    def done(self) -> bool:
        return self.sync.done()

    def result(self) -> list[StagedWrite]:
        if self.staged is None:
            self.sync.result()
            self.staged = self.workspace.name(self.written)
        return self.staged

    def exception(self) -> BaseException | None:
        try:
            self.result()
        except Exception as error:  # noqa: BLE001  told as a value, as a future does
            return error
        return None


def only_syncs(staging: StagedWrites) -> bool:
    """Has all of it been written, so that nothing but a disk that fails can still refuse it?"""
    return isinstance(staging, _Syncing)


class Stager:
    """Prepares writes. For the loop's thread only, but for `submit`."""

    def __init__(self, workspace: Workspace, wake: Callable[[], None], stagers: int = STAGERS) -> None:
        """`wake`: on any thread, when the disk is through with something long. `stagers` 0: the loop itself waits."""
        self._workspace, self._wake = workspace, wake
        self._pool = Pool(stagers, "stage") if stagers else None
        self._syncer = Syncer() if stagers else None

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """Do it on one of the threads."""
        return self._submit(work)

    def begin(self, writes: Sequence[Write]) -> StagedWrites:
        """Begin to stage; what goes wrong is told when the result is asked for, after the log has the records."""
        return to_end(self.beginning(writes, long=False))

    def beginning(self, writes: Sequence[Write], long: bool) -> Slices[StagedWrites]:
        """The same in slices. `long`: the loop is woken when the disk is through with it."""
        if not _are_small(writes):
            staging = self._submit(partial(self._workspace.stage_all, writes))
            return self._heard(staging) if long else staging
        try:
            written = self._workspace.write(writes[:AT_ONCE])
            for start in range(AT_ONCE, len(writes), AT_ONCE):
                yield False
                self._workspace.write(writes[start : start + AT_ONCE], written)
        except Exception as error:  # noqa: BLE001  told when the result is asked for, as by a thread
            failed: Future[list[StagedWrite]] = Future()
            failed.set_exception(error)
            return failed
        sync = partial(self._workspace.sync, written)
        if long:
            return _Syncing(self._workspace, written, self._heard(self._submit(sync)))
        begun = self._syncer.begin(sync) if self._syncer is not None else None
        return _Syncing(self._workspace, written, begun or self._submit(sync))

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Do it on one of the threads; at once, and here, where there is none and none can be started."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  told when the result is asked for
                future.set_exception(error)

        if self._pool is None:
            run()
            return future
        try:
            self._pool.submit(run)
        except RuntimeError:
            run()
        return future

    def _heard(self, work: Future[T]) -> Future[T]:
        """Have the loop woken when it has ended: nobody waits for it in there."""
        work.add_done_callback(lambda _: self._wake())
        return work

    def portions(self, one: InFlightWrite) -> Iterator[Sequence[Write]]:
        """What is staged together; each write by itself where they are few, or cannot be synced together."""
        writes = [on_disk(write) for write in one.decision.writes]
        many = len(writes) >= TOGETHER and self._workspace.protection.sync_many
        size = PORTION if many else 1
        for start in range(0, len(writes), size):
            yield writes[start : start + size]

    def close(self) -> None:
        """End the worker threads."""
        if self._syncer is not None:
            self._syncer.close()
        if self._pool is not None:
            self._pool.close()


def _are_small(writes: Sequence[Write]) -> bool:
    """Are all of them written in the loop? On threads, each call of the disk waits for the loop to yield anew.

    A thousand files that took 0.2 s took 0.9 s of the processor on two threads beside a commit.
    """
    size = sum(len(write.data) for write in writes if isinstance(write, Put))
    return size <= MOST_SMALL_BYTES and all(map(_is_small, writes))


def _is_small(write: Write) -> bool:
    """Is it written at once?"""
    return not isinstance(write, Put) or len(write.data) <= SMALL_BYTES


def on_disk(write: Write) -> Write:
    """`write` with its paths as the workspace spells them (they differ where a name is not UTF-8)."""
    if isinstance(write, Move):
        return replace(write, path=disk_path(write.path), to=disk_path(write.to))
    return replace(write, path=disk_path(write.path)) if disk_path(write.path) != write.path else write
