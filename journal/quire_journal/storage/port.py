"""The store port: what the journal needs of a store. Two adapters (`memory`, `lmdb`) pass one contract suite.

A store is a set of ordered tables of bytes, read in snapshots and written in atomic transactions. It promises:

* a `writing()` block that ends normally is durable (kill -9, power cut), one that raises leaves no trace; only one that
  folds what is `logged` may be reverted by a power cut, and is folded again;
* an entry that `log` accepted is durable;
* a `reading()` block sees one state from start to end;
* keys are ordered as bytes; integer keys are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import msgspec

TABLES: Final[tuple[str, ...]] = (
    "meta",  # word → bytes: format, workspace id, watermarks of the views
    "records",  # seq → record
    "blobs",  # blob number → frame (see `row`)
    "pieces",  # blob number | part → a part of a frame too long for the row of its blob
    "addresses",  # sha256[:16] → number of the blob
    "kin",  # sha256(a name, or a suffix)[:8] → sha256(path)[:8] of the last new path that has it
    "seen",  # path id → stat signature and blob: a cache of the disk, not a view
    "content_keys",  # sha256 → key under which these bytes are encrypted at the far side
    # views, one fold each; disposable
    "paths",  # path id → path
    "path_ids",  # sha256(path)[:16] → path id
    "files",  # path id → head, and how many versions each writer type made
    "versions",  # path id | seq → what the record does not say about the version
    "writers",  # writer id → introduction
    "writer_ids",  # hash of the identity → writer id
    "callers",  # caller → the number of its writers, and the newest
    "newest_callers",  # writer id, the newest of a caller → caller
    "reads",  # caller | path id → version and lines shown
    "reads_before",  # seq | caller | path id → the row of `reads` before this write moved the base; until it is settled
    "anchors",  # path id | seq → line hashes that this version added and removed; path id | 0 → the newest such seq
    "checkpoints",  # sha256(name)[:16] → name and cursor
    "edit_checkpoints",  # path id → the newest checkpoint of an edit, and its outcome
    "ops",  # operation id → batch
    "batches",  # batch → its tool writes, and which of them stand
    "batches_by",  # caller | seq // 256 → the batches with tool writes that it began there, and their writers
    "probable_by",  # the same for outside writes that are probably the caller's
    "undone",  # batch | seq → batch that undid it by record seq
    "replies",  # caller | sha256(idempotency key)[:16] → kept reply
    "leases",  # seq of the grant → lease that no record has ended
    "times",  # start of a stretch of records with ascending times → seq of its first record
    "set_back",  # seq of a record dated before its predecessor → the time of the predecessor
    "broken_leases",  # like `leases`, for leases that somebody broke, while their holder may not know
    "readers",  # path id | caller → nothing: the caller was shown the path, and has no row in `stale_reads` since
    "stale_reads",  # caller | path id → nothing: reads that another writer's change may have overtaken
    "bursts",  # seq of the beginning → burst
    "open_bursts",  # seq of the beginning → nothing: bursts without a record of their end
    "burst_batches",  # burst | batch → why the batch belongs to it, or why that is unknown
    "uncaptured",  # path id → why, for files whose bytes the journal does not hold now
    "uncaptured_once",  # path id → nothing: files with a version that is not held
    "scanned",  # b"first" → seq of the first record of a whole scan
    "gone",  # sha256 → the record since which the bytes are not held, and why
    "replaced",  # seq → hash of the record there before it was lost or its bytes were purged
    "contents",  # seq // 256 → which of these records made a version, and the first bytes of its address
    "terms",  # seq // 256 → which of these records have which kind, agent, agent session and turn
    "salvages",  # seq of the record that the journal was salvaged → nothing
    "term_spans",  # seq // 16384 → every term of `terms` that occurs there
    "unsettled",  # batch → seq of its last tool write: writes that may not be on disk
)
"""Every table of a journal; `meta` to `content_keys` are the journal's own."""


RowChange = tuple[str, bytes, bytes | None]
"""Table, key, and new value; None: the key is deleted. An empty key (no row has it): the table is cleared."""


class ReadTransaction(Protocol):
    """One consistent state of the tables."""

    known: dict[Any, Any]
    """Cache of rows that cannot change within the transaction: the folds of one record share them."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value at `key`, or None."""

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start <= key < stop, in key order or reverse. Do not keep the scan open: copy and end."""

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        """The values of the keys from `start` on, at most `most`, in key order.

        For tables that are read whole: avoids a step for each row.
        """

    def count(self, table: str) -> int:
        """The number of keys."""

    def empty(self, table: str) -> bool:
        """True if the table has no key. Takes a tenth of the time of `count`; folds call it for each record."""


class WriteTransaction(ReadTransaction, Protocol):
    """A transaction; it sees its own writes."""

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Set the value at `key`."""

    def append(self, table: str, key: bytes, value: bytes) -> None:
        """Set the value at `key`, which must be greater than every key there, or `OutOfOrder` is raised."""

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """Set all pairs; fastest with ascending keys."""

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """`append` each pair, in this order."""

    def delete(self, table: str, key: bytes) -> bool:
        """Remove `key`; False when it was not there."""

    def clear(self, table: str) -> None:
        """Remove every key of `table`."""


class CompactionResult(msgspec.Struct, frozen=True):
    """The size of the file before and after."""

    before_bytes: int
    after_bytes: int


Elsewhere = Callable[[str, str, Callable[[], None]], None]
"""Copies the pairs between the databases in two folders, in another process, and waits for it.

Calls the third argument now and then, whose error ends that process. Raises `StoreFailure` and `JournalDamaged`.
"""


class Compaction(Protocol):
    """A running compaction: `copy`, `finish`, `release`, or `cancel` instead of `finish`.

    Afterwards the file has no byte of a pair that was deleted before the compaction began.
    """

    def copy(self, pause: Callable[[], None] = lambda: None, elsewhere: Elsewhere | None = None) -> None:
        """The long part, for a worker thread; others read and write meanwhile. `elsewhere` may do most of it.

        `pause` is called each half a millisecond, and may raise to end the copy. Raises `StoreFailure`,
        `JournalDamaged`, or what `pause` raises; the caller then calls `cancel`.
        """

    def finish(self) -> CompactionResult:
        """The short part, with no transaction open: catch up, and put the copy in place of the old file.

        Raises `StoreFailure`, with nothing changed; the caller then calls `cancel`.
        """

    def release(self) -> None:
        """Close the old file when its readers have ended. Slow for a big file: for a worker thread."""

    def cancel(self) -> None:
        """Give up the copy. Idempotent; not after a `finish` that returned."""


class Store(Protocol):
    """Ordered tables of bytes."""

    fold_first: Callable[[bool], None]
    """Folds what is logged; with a true argument also publishes that. The journal sets it, and the store calls it
    before each other transaction of the thread that logs.
    """

    def reading(self) -> AbstractContextManager[ReadTransaction]: ...

    def writing(self) -> AbstractContextManager[WriteTransaction]: ...

    def folding(self, again: bool = False) -> AbstractContextManager[WriteTransaction]:
        """A transaction that puts all logged entries into the tables. Before `publish` only this thread sees it.

        A block that raises loses all that was folded and not published; with `again` the block repeats just that.
        """

    @property
    def is_read(self) -> bool:
        """True while a snapshot of unpublished folds is in use: publish before the next fold."""

    def publish(self) -> None:
        """Commit what was folded. Snapshots in use keep their state. Raises as the end of a transaction; then all of
        it is lost.
        """

    def log(self, entry: bytes) -> bool:
        """Append `entry` durably to the write-ahead log. False if it is too large, or there is no log.

        Raises `StoreFailure`; the entry is then lost, unless the failure is `unsure`.
        """

    def logged(self) -> Sequence[bytes]:
        """The entries that no transaction has folded. Raises `JournalDamaged`, `StoreFailure`.

        Fold them before the first `log`.
        """

    def clear_log(self) -> None:
        """Erase every byte of the folded log. Raises `StoreFailure`."""

    def forget_log(self) -> None:
        """Drop the log without folding it. Raises `StoreFailure`."""

    def size_bytes(self) -> int:
        """Bytes on disk."""

    def used_bytes(self) -> int:
        """Bytes of `size_bytes` that hold pairs; a compaction frees the rest."""

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> Compaction:
        """Begin a compaction. No transaction may be open on this thread.

        `step` is called at each fault point (`compaction.STEPS`). Raises `StoreFailure` (`disk_full`, with the missing
        size) if the copy has no room, and `RuntimeError` if a compaction is running.
        """

    def sync(self) -> None:
        """Make every finished commit durable, in a store that is not `synced`."""

    def mistrust(self) -> None:
        """Have the next start check the file, which may be damaged. A store without a file ignores it."""

    def reader_check(self) -> int:
        """Free slots of dead readers; returns their number."""

    def close(self) -> None:
        """Close everything. Idempotent."""


class OutOfOrder(Exception):
    """An append out of order: the log differs from what the caller expects."""


class StoreFailure(Exception):
    """The store could not commit (disk full, I/O error). Nothing of the transaction is stored, unless `unsure`.

    `for_good`: every later write fails, too, until the store is opened again. `unsure` (default: `for_good`): the
    transaction may be stored after all, for example when only the sync failed.
    """

    def __init__(
        self, message: str, disk_full: bool = False, for_good: bool = False, unsure: bool | None = None
    ) -> None:
        super().__init__(message)
        self.disk_full = disk_full
        self.for_good = for_good
        self.unsure = for_good if unsure is None else unsure


class Outrun(StoreFailure):
    """A compaction gave up because too much was written meanwhile. The store is sound."""


class JournalGone(StoreFailure):
    """The journal's file was removed, moved or replaced: no start would find a commit.

    `unsure`: the transaction was committed to the moved file, and is found if the file is put back.
    """

    def __init__(self, message: str, unsure: bool = False) -> None:
        super().__init__(message, for_good=True, unsure=unsure)


class JournalUnseen(StoreFailure):
    """The transaction was committed, but the disk does not say whether the file is still at its path."""

    def __init__(self, message: str) -> None:
        super().__init__(message, for_good=True)


def apply_changes(w: WriteTransaction, changes: Iterable[RowChange]) -> None:
    """Apply `changes`. Repeating a suffix of the history is harmless."""
    for table, key, value in changes:
        if not key:
            w.clear(table)
        elif value is None:
            w.delete(table, key)
        else:
            w.put(table, key, value)


def last_number(r: ReadTransaction, table: str) -> int:
    """The greatest key of `table` as a number; 0 without keys."""
    for key, _ in r.scan(table, reverse=True):
        return int.from_bytes(key, "big")
    return 0


u64: Final[Callable[[int], bytes]] = struct.Struct(">Q").pack

u32: Final[Callable[[int], bytes]] = struct.Struct(">I").pack
