"""Compaction by copy, beside a store that goes on being read and written.

Why pair by pair: LMDB's own compact copy takes pages as they are, and what was deleted from a page stays in its gaps
and behind its long values (measured: more than half of the occurrences of a deleted text were still in the copy).
In the copy made here there is no byte that is not of a pair that stood in a table while it was made. A `purge`
deletes bytes first and compacts then.

How the copy comes to hold one state although nobody waits for it: since before the first pair is read, every committed
change is noted (`Tee`), in order. The pairs are copied in slices, each from the newest state, so that no snapshot holds
old pages for long; what comes out is a mix of states. Then the noted changes are made to it again. A key that was
changed since has its last change, any other stood still: the copy is what the store is. Most of the changes are made in
rounds while others write; the last, short round is made with the writers held, and the copy put in place.

    1. `copy`     on a worker thread: the pairs, then the rounds. The pairs of a daemon's journal are copied by another
                  process: beside a loop that has much to do a thread gets its turn twice for each pair, and a journal
                  of 250 MB took most of an hour, which is 15 seconds of work
    2. `finish`   in the loop: the last round, synced; the file is renamed over the old one
    3. `release`  on a worker thread: the old file is given back (which takes time for a big one)

A crash before the rename leaves a folder that the next `open` removes; one after it, the new file. Nothing was
committed in between, so nothing can be lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from quire_journal.storage.port import (
    TABLES,
    CompactionResult,
    Elsewhere,
    Outrun,
    RowChange,
    Store,
    WriteTransaction,
    apply_changes,
)

STEPS: Final = ("compact_begun", "compact_copied", "compact_applied", "compact_moved", "compact_finished")
"""Fault points: a crash test stops at each."""

SLICE_PAIRS: Final = 256
SLICE_BYTES: Final = 128 * 1024
"""A slice ends with whichever comes first: about half a millisecond in which other threads wait."""

COMMIT_BYTES: Final = 1 << 20
"""Of the copy, which are written at once."""

SHORT_BYTES: Final = 64 * 1024
"""Bytes of noted changes that are few enough to be made while writers wait."""

MOST_ROUNDS: Final = 50

MOST_NOTED_BYTES: Final = 256 << 20
"""Changes that are held in memory while the pairs are copied; with more the compaction gives up."""


class Tee:
    """The changes that were committed since the beginning, in order. Added to by writers, taken by the compaction."""

    def __init__(self, most_bytes: int = MOST_NOTED_BYTES) -> None:
        self._lock = threading.Lock()
        self._most = most_bytes
        self._noted: list[RowChange] = []
        self._bytes = 0
        self._overrun = False

    def add(self, changes: list[RowChange]) -> None:
        """Note the changes of one committed transaction. Never raises: the transaction is done."""
        size = sum(64 + len(key) + len(value or b"") for _, key, value in changes)
        with self._lock:
            if self._overrun or self._bytes + size > self._most:
                self._overrun, self._noted = True, []
                return
            self._noted += changes
            self._bytes += size

    def begin(self) -> None:
        """Forget what was noted: the pairs that are read from now on tell of it."""
        with self._lock:
            self._noted, self._bytes, self._overrun = [], 0, False

    def take(self) -> list[RowChange]:
        """What was noted since the last call. Raises `Outrun` when it was more than can be held."""
        with self._lock:
            if self._overrun:
                raise Outrun("more was written during the compaction than can be held; try when less is going on")
            noted, self._noted, self._bytes = self._noted, [], 0
            return noted

    @property
    def size_bytes(self) -> int:
        """About how much is noted."""
        return self._bytes


class Target(Store, Protocol):
    """The copy on its way: a store of its own, in which commits need not last until it is `hardened`."""

    @property
    def path(self) -> Path:
        """The folder of its database."""

    def harden(self) -> None:
        """Sync it, and from now on let commits last as those of the store that is copied."""

    def throw_away(self) -> None:
        """Close it and remove its files."""


class Compactable(Store, Protocol):
    """What a compaction asks of the store that it works for."""

    @property
    def path(self) -> Path:
        """The folder of its database."""

    def replace_by(self, target: Target, last_round: Callable[[], None], step: Callable[[str], None]) -> None:
        """Hold the writers, make the last round, and put `target` in the place of the present file."""

    def require_room(self, copy_bytes: int = 0) -> None:
        """Raise `StoreFailure` when the disk is too full to go on."""

    def stop_noting(self) -> None:
        """No compaction is going on any more."""

    def give_back(self) -> None:
        """Close the file that was replaced, once nobody reads it any more."""


class ByCopy:
    """A `port.Compaction`."""

    def __init__(self, source: Compactable, target: Target, tee: Tee, step: Callable[[str], None]) -> None:
        self._source, self._target, self._tee, self._step = source, target, tee, step
        self._before_bytes = source.size_bytes()
        self._copied = False

    def copy(self, pause: Callable[[], None] = lambda: None, elsewhere: Elsewhere | None = None) -> None:
        self._step("compact_begun")
        self._tee.begin()
        if elsewhere is None:
            copy_pairs(self._source, self._target, pause)
        else:
            elsewhere(str(self._source.path), str(self._target.path), pause)
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
                apply_changes(w, changes)
        self._target.sync()
        self._step("compact_applied")

    def release(self) -> None:
        self._source.give_back()

    def cancel(self) -> None:
        self._source.stop_noting()
        self._target.throw_away()


def copy_pairs(source: Compactable, target: Store, pause: Callable[[], None]) -> None:
    """Put every pair of `source` into the empty `target`, in slices, with `pause` called between two.

    What `source` is changed to meanwhile may or may not be among them.
    """
    for table in TABLES:
        start: bytes | None = b""
        while start is not None:
            source.require_room()
            with target.writing() as w:
                size = 0
                while start is not None and size < COMMIT_BYTES:
                    start, copied = _copy_slice(source, w, table, start)
                    size += copied
                    pause()
            target.sync()  # in small portions: the commits of others wait for the same disk
            pause()


def _copy_slice(source: Store, w: WriteTransaction, table: str, start: bytes) -> tuple[bytes | None, int]:
    """Copy from `start` on; where to go on (None: the table is through), and the bytes that were copied."""
    size = 0
    with source.reading() as r:
        for number, (key, value) in enumerate(r.scan(table, start)):
            if number == SLICE_PAIRS or size >= SLICE_BYTES:
                return key, size
            w.append(table, key, value)
            size += len(key) + len(value)
    return None, size


def lasting(changes: list[RowChange]) -> list[RowChange]:
    """Of `changes` those that no later one of them made void, in order: what they had put is not put at all."""
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


def catch_up(target: Store, tee: Tee, pause: Callable[[], None]) -> None:
    """Make noted changes to `target`, round by round, until only few are left."""
    for _ in range(MOST_ROUNDS):
        changes = lasting(tee.take())
        with target.writing() as w:  # one for a round: its commit may be synced, and others must not outrun it
            for first in range(0, len(changes), SLICE_PAIRS):
                apply_changes(w, changes[first : first + SLICE_PAIRS])
                pause()
        if tee.size_bytes <= SHORT_BYTES:
            return
