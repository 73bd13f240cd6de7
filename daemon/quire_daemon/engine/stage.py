"""Staging of writes: new bytes go into temporary files and are synced, while the request's records are committed.

A small file is written in the loop and synced on a thread; a large file is written and synced on a thread. Many files
are synced together in portions. Errors are raised by `result`, when the log has the records.
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
from quire_journal.storage import Pool

STAGERS: Final = 8
"""Number of staging threads: a disk syncs eight files in little more time than one."""

PORTION: Final = 256

SMALL_BYTES: Final = 512 * 1024
"""Size in bytes up to which a file is written in the loop."""

MOST_SMALL_BYTES: Final = 32 << 20
"""Maximum bytes of one portion that is written in the loop."""

AT_ONCE: Final = 8

T = TypeVar("T")

Slices = Generator[bool, None, T]
"""Work in slices: yields True while waiting for the disk, False if more can be done at once."""


def to_end(work: Slices[T]) -> T:
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result


class StagedWrites(Protocol):
    def done(self) -> bool:
        """Return True if the staging has ended, so that `result` does not block."""

    def result(self) -> list[StagedWrite]:
        """Wait for the staging and return the staged writes. Raises the error of the staging."""

    def exception(self) -> BaseException | None:
        """Wait for the staging and return its error; None if it succeeded."""


class _Syncing(msgspec.Struct):
    workspace: Workspace
    written: UnsyncedWrites
    sync: Future[None]
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
    """Return True if the staging has written all bytes, so that only the sync can still fail."""
    return isinstance(staging, _Syncing)


class Stager:
    """Stages writes. Not thread-safe, except `submit`: only for the main loop's thread."""

    def __init__(self, workspace: Workspace, wake: Callable[[], None], stagers: int = STAGERS) -> None:
        """`wake` is called on any thread when the disk has done long work. `stagers`: number of threads; 0: the loop
        itself waits for the disk.
        """
        self._workspace, self._wake = workspace, wake
        self._pool = Pool(stagers, "stage") if stagers else None

    def submit(self, work: Callable[[], None]) -> Future[None]:
        return self._submit(work)

    def begin(self, writes: Sequence[Write]) -> StagedWrites:
        """Begin to stage `writes`. Errors are raised by `result`, which is called when the log has the records."""
        return to_end(self.beginning(writes, long=False))

    def beginning(self, writes: Sequence[Write], long: bool) -> Slices[StagedWrites]:
        """Begin to stage `writes` in slices. `long`: `wake` is called when the disk is done."""
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
        sync = self._submit(partial(self._workspace.sync, written))
        return _Syncing(self._workspace, written, self._heard(sync) if long else sync)

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on a staging thread; in this thread if none can be started."""
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
        work.add_done_callback(lambda _: self._wake())
        return work

    def portions(self, one: InFlightWrite) -> Iterator[Sequence[Write]]:
        """Yield the writes that are staged together, with paths as on disk: single writes if they are few or cannot be
        synced together.
        """
        writes = [on_disk(write) for write in one.decision.writes]
        many = len(writes) >= TOGETHER and self._workspace.protection.sync_many
        size = PORTION if many else 1
        for start in range(0, len(writes), size):
            yield writes[start : start + size]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


def _are_small(writes: Sequence[Write]) -> bool:
    size = sum(len(write.data) for write in writes if isinstance(write, Put))
    return size <= MOST_SMALL_BYTES and all(map(_is_small, writes))


def _is_small(write: Write) -> bool:
    return not isinstance(write, Put) or len(write.data) <= SMALL_BYTES


def on_disk(write: Write) -> Write:
    if isinstance(write, Move):
        return replace(write, path=disk_path(write.path), to=disk_path(write.to))
    return replace(write, path=disk_path(write.path)) if disk_path(write.path) != write.path else write
