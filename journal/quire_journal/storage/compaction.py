"""Compaction: a copy of the database, made while the store is read and written.

The copy is made pair by pair and has no other byte, unlike LMDB's own compact copy; `purge` relies on it. Only
frames of blobs without a base go into files of their own (`packer`). From before the first pair on, every committed
change is recorded (`Tee`). Pairs are copied in slices, each from the newest state. Applying the recorded changes then
makes the copy equal to the store: mostly in rounds while others write, the last, short round with the writers blocked.

  1. `copy`     on a worker thread; for a daemon's journal in a process
  2. `finish`   in the loop: the last round, synced; the file is renamed over the old one
  3. `release`  on a worker thread: close the old file, which is slow for a big one

After a crash before the rename, the next `open` removes the copy. Nothing is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

from quire_journal.storage.disk import NO_ROOM
from quire_journal.storage.packer import Packer
from quire_journal.storage.port import (
    TABLES,
    CompactionResult,
    CopyOrder,
    Elsewhere,
    Outrun,
    RowChange,
    Store,
    StoreFailure,
    WriteTransaction,
    apply_changes,
)

STEPS: Final = (
    *("compact_begun", "compact_copied", "compact_applied"),
    *("compact_packed", "compact_moved", "compact_finished"),
)

SLICE_PAIRS: Final = 256
SLICE_BYTES: Final = 128 * 1024
"""Size of a slice, about half a millisecond in which other threads wait."""

COMMIT_BYTES: Final = 1 << 20

SHORT_BYTES: Final = 64 * 1024
"""Maximum size of recorded changes that are applied while writers wait."""

MOST_ROUNDS: Final = 50

MOST_NOTED_BYTES: Final = 256 << 20
"""Maximum size of recorded changes in memory; above it the compaction gives up."""


class Tee:
    """Queue of the changes committed since `begin`, filled by writers and drained by the compaction."""

    def __init__(self, most_bytes: int = MOST_NOTED_BYTES) -> None:
        self._lock = threading.Lock()
        self._most = most_bytes
        self._noted: list[RowChange] = []
        self._bytes = 0
        self._overrun = False

    def add(self, changes: list[RowChange]) -> None:
        """Append the changes of a committed transaction. Never raises."""
        size = sum(64 + len(key) + len(value or b"") for _, key, value in changes)
        with self._lock:
            if self._overrun or self._bytes + size > self._most:
                self._overrun, self._noted = True, []
                return
            self._noted += changes
            self._bytes += size

    def begin(self) -> None:
        with self._lock:
            self._noted, self._bytes, self._overrun = [], 0, False

    def take(self) -> list[RowChange]:
        """Return the changes since the last call. Raises `Outrun` if there were too many."""
        with self._lock:
            if self._overrun:
                raise Outrun("more was written during the compaction than can be held; try when less is going on")
            noted, self._noted, self._bytes = self._noted, [], 0
            return noted

    @property
    def size_bytes(self) -> int:
        return self._bytes


class Target(Store, Protocol):
    """Copy: a store whose commits are not durable until `harden`."""

    @property
    def path(self) -> Path: ...

    def harden(self) -> None:
        """Sync, and make later commits as durable as those of the source."""

    def throw_away(self) -> None: ...


class Compactable(Store, Protocol):
    @property
    def path(self) -> Path: ...

    def replace_by(self, target: Target, last_round: Callable[[], None], step: Callable[[str], None]) -> None:
        """Block the writers, call `last_round`, and put `target` in place of the present file. `step` gets the name of
        each fault point.
        """

    def require_room(self, copy_bytes: int = 0) -> None:
        """Raise `StoreFailure` if the disk has no room for a copy of `copy_bytes`."""

    def stop_noting(self) -> None: ...

    def give_back(self) -> None:
        """Close the replaced file when its last reader ends."""


class ByCopy:
    def __init__(self, source: Compactable, target: Target, tee: Tee, step: Callable[[str], None]) -> None:
        self._source, self._target, self._tee, self._step = source, target, tee, step
        self._before_bytes = source.size_bytes()
        self._copied = False

    def copy(
        self,
        pause: Callable[[], None] = lambda: None,
        elsewhere: Elsewhere | None = None,
        shared: Sequence[str] = (),
        erase: bool = False,
    ) -> None:
        order = CopyOrder(str(self._source.path), str(self._target.path), (*shared,), erase)
        self._step("compact_begun")
        self._tee.begin()
        if elsewhere is None:
            copy_pairs(self._source, self._target, order, pause)
        else:
            elsewhere(order, pause)
        catch_up(self._target, self._tee, pause)
        self._target.harden()
        catch_up(self._target, self._tee, pause)
        self._copied = True
        self._step("compact_copied")

    def finish(self) -> CompactionResult:
        if not self._copied:
            raise RuntimeError("a compaction is finished when everything is copied")
        self._source.replace_by(self._target, self._last_round, self._step)
        self._source.stop_noting()
        self._step("compact_finished")
        return CompactionResult(self._before_bytes, self._source.size_bytes())

    def _last_round(self) -> None:
        changes = lasting(self._tee.take())
        if changes:
            with self._target.writing() as w:
                _repeat(w, changes)
        self._target.sync()
        self._step("compact_applied")

    def release(self) -> None:
        self._source.give_back()

    def cancel(self) -> None:
        self._source.stop_noting()
        self._target.throw_away()


def copy_pairs(source: Compactable, target: Target, order: CopyOrder, pause: Callable[[], None]) -> None:
    """Copy every pair of `source` into the empty `target`, in slices, calling `pause` between two. Concurrent changes
    of `source` may or may not be copied. Raises `StoreFailure`, `JournalDamaged`.
    """
    packer = Packer(source.path, target.path, [Path(folder) for folder in order.shared], order.erase)
    try:
        packer.survey(source, pause)
        _copy_tables(source, target, packer, pause)
        packer.finish(target)
    except OSError as error:
        said = f"could not write a pack in {target.path}: {error.strerror}"
        raise StoreFailure(said, disk_full=error.errno in NO_ROOM) from error


def _copy_tables(source: Compactable, target: Store, packer: Packer, pause: Callable[[], None]) -> None:
    for table in TABLES:
        if table == "packs":
            continue
        start: bytes | None = b""
        while start is not None:
            source.require_room()
            with target.writing() as w:
                size = 0
                while start is not None and size < COMMIT_BYTES:
                    start, copied = _copy_slice(source, w, table, start, packer)
                    size += copied
                    pause()
            target.sync()  # in small portions, as commits of other transactions wait for the same disk
            pause()


def _copy_slice(
    source: Store, w: WriteTransaction, table: str, start: bytes, packer: Packer
) -> tuple[bytes | None, int]:
    size = 0
    with source.reading() as r:
        for number, (key, value) in enumerate(r.scan(table, start)):
            if number == SLICE_PAIRS or size >= SLICE_BYTES:
                return key, size
            size += len(key) + len(value)
            if table == "blobs":
                value = packer.row(r, int.from_bytes(key, "big"), value)
            elif table == "pieces" and int.from_bytes(key[:8], "big") in packer.moved:
                continue
            w.append(table, key, value)
    return None, size


def lasting(changes: list[RowChange]) -> list[RowChange]:
    """Return the changes that no later change overwrites."""
    left: list[RowChange] = []
    seen: set[tuple[str, bytes]] = set()
    cleared: set[str] = set()
    for table, key, value in reversed(changes):
        if table in cleared or (table, key) in seen:
            continue
        left.append((table, key, value))
        if key:
            seen.add((table, key))
        else:
            cleared.add(table)
    return left[::-1]


def _repeat(w: WriteTransaction, changes: list[RowChange]) -> None:
    """Apply the changes; what comes after the last key is appended, which fills pages."""
    for table, key, value in changes:
        if key and value is not None and next((last for last, _ in w.scan(table, reverse=True)), b"") < key:
            w.append(table, key, value)
        else:
            apply_changes(w, [(table, key, value)])


def catch_up(target: Store, tee: Tee, pause: Callable[[], None]) -> None:
    """Apply recorded changes to `target` in up to `MOST_ROUNDS` rounds, until few are left, calling `pause` between
    slices. Raises `StoreFailure`.
    """
    for _ in range(MOST_ROUNDS):
        changes = lasting(tee.take())
        with target.writing() as w:  # one transaction a round: its commit may be synced, and writers must not outrun it
            for first in range(0, len(changes), SLICE_PAIRS):
                _repeat(w, changes[first : first + SLICE_PAIRS])
                pause()
        if tee.size_bytes <= SHORT_BYTES:
            return
