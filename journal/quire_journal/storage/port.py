"""Store port: the interface of the journal to a store. Two adapters (`memory`, `lmdb`) pass one contract suite.

A store is a set of ordered tables of bytes, read in snapshots and written in atomic transactions. It promises:
* A `writing()` block that ends normally is durable (kill -9, power cut); a block that raises changes nothing. Only a
  transaction that folds logged entries may be reverted by a power cut, and is folded again.
* An entry that `log` accepted is durable.
* A `reading()` block sees one state from start to end.
* Keys are ordered as bytes; integer keys are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import msgspec

KEY_BYTES: Final = 511
"""Maximum length of a key: LMDB's limit, enforced by every store."""

TABLES: Final[tuple[str, ...]] = (
    "meta",  # word → bytes: format, workspace id, watermarks of the views
    "records",  # seq → record
    "blobs",  # blob number → frame (see `row`)
    "pieces",  # blob number | part → a part of a frame too long for the row of its blob
    "packs",  # id → sha256 of a pack, which is its name
    "addresses",  # sha256[:16] → number of the blob
    "kin",  # sha256(a name, or a suffix)[:8] → sha256(path)[:8] of the last new path that has it
    "seen",  # path id → stat signature and blob: a cache of the disk, not a view
    "content_keys",  # sha256 → key under which these bytes are encrypted in the remote store
    # views, one fold each; disposable
    "paths",  # path id → path
    "path_ids",  # sha256(path)[:16] → path id
    "files",  # path id → head, and how many versions each writer type made; of a first version only its seq
    "versions",  # path id | seq → the fields of the version that its record lacks
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
    "batches",  # batch → its tool writes, and which of them were abandoned
    "batches_by",  # caller | seq // 256 → batches with tool writes that the caller began in this block; writers
    "probable_by",  # the same for outside writes that are probably the caller's
    "undone",  # batch | seq → batch that undid it by record seq
    "replies",  # caller | sha256(idempotency key)[:16] → reply
    "leases",  # seq of the grant → lease that no record has ended
    "times",  # time of the first record of a stretch with ascending times → seq of that record
    "set_back",  # seq of a record dated before its predecessor → the time of the predecessor
    "broken_leases",  # as `leases`, for broken leases whose holder may not know
    "readers",  # path id | caller → nothing: the caller was shown the path, and nobody else changed it since
    "stale_reads",  # caller | path id → nothing: another writer may have changed the path since the caller read it
    "bursts",  # seq of the beginning → burst
    "open_bursts",  # seq of the beginning → nothing: bursts without a record of their end
    "burst_batches",  # burst | batch → evidence that the batch belongs to the burst
    "uncaptured",  # path id → why, for files whose bytes the journal does not hold now
    "uncaptured_once",  # path id → nothing: files with a version that is not held
    "scanned",  # b"first" → seq of the first record of a whole scan
    "gone",  # sha256 → the record since which the bytes are not held, and why
    "replaced",  # seq → hash of the original record, which was lost or purged
    "contents",  # seq // 256 → which of these records made a version, and the first bytes of its address
    "terms",  # seq // 256 → which of these records have which kind, agent, agent session and turn
    "salvages",  # seq of a salvage record → nothing
    "term_spans",  # seq // 16384 → every term of `terms` that occurs in these records
    "unsettled",  # batch → seq of its last tool write: writes that may not be on disk
)
"""Every table of a journal; `meta` to `content_keys` belong to the journal itself, the rest to views."""


RowChange = tuple[str, bytes, bytes | None]
"""Table, key, and new value; None: the key is deleted. An empty key (no row has it): the table is cleared."""


def checked_key(key: bytes) -> bytes:
    """Return `key` if it has 1 to 511 bytes, else raise `ValueError`."""
    if not 0 < len(key) <= KEY_BYTES:
        raise ValueError(f"a key has 1 to {KEY_BYTES} bytes, not {len(key)}")
    return key


class ReadTransaction(Protocol):
    """One consistent state of the tables."""

    known: dict[Any, Any]
    """Cache of facts that do not change within the transaction, shared by folds."""

    def get(self, table: str, key: bytes) -> bytes | None: ...

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs with start <= key < stop, in key order or reverse. Do not hold the scan
        open: copy and end.
        """

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        """Return the values of at most `most` keys from `start` on, in key order; faster than
        `scan` for a whole table.
        """

    def count(self, table: str) -> int: ...

    def empty(self, table: str) -> bool:
        """True if the table has no key. Ten times as fast as `count`; folds call it for each record."""

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        """Return `size` bytes of the pack with this id. Raises `JournalDamaged` if they cannot be read."""


class WriteTransaction(ReadTransaction, Protocol):
    """Transaction that sees its own writes."""

    def put(self, table: str, key: bytes, value: bytes) -> None: ...

    def append(self, table: str, key: bytes, value: bytes) -> None:
        """Add a pair whose key must be greater than every key in the table. Raises `OutOfOrder`."""

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None: ...

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """`append` all pairs, which must ascend."""

    def delete(self, table: str, key: bytes) -> bool:
        """Remove `key`; False if it is not in the table."""

    def clear(self, table: str) -> None: ...


class CompactionResult(msgspec.Struct, frozen=True):
    before_bytes: int
    after_bytes: int


class CopyOrder(msgspec.Struct, frozen=True):
    """Copy between the databases in two folders."""

    source: str
    target: str
    shared: tuple[str, ...] = ()  # folders of other journals' databases, whose packs may be linked
    erase: bool = False  # leave no bytes in packs that the journal does not hold


Elsewhere = Callable[[CopyOrder, Callable[[], None]], None]
"""Function that makes a copy in another process, and waits for it.

Calls the second argument at intervals; an error of it ends that process. Raises `StoreFailure` and `JournalDamaged`.
"""


class Compaction(Protocol):
    """Running compaction: `copy`, `finish`, `release`, or `cancel` instead of `finish`. Afterwards the file has no byte
    of a pair that was deleted before the compaction began.
    """

    def copy(
        self,
        pause: Callable[[], None] = lambda: None,
        elsewhere: Elsewhere | None = None,
        shared: Sequence[str] = (),
        erase: bool = False,
    ) -> None:
        """Copy all pairs, on a worker thread, while others read and write. `elsewhere` may do most of it. `shared` and
        `erase` are those of `CopyOrder`.

        `pause` is called each half a millisecond, and may raise to end the copy. Raises `StoreFailure`,
        `JournalDamaged`, or the error of `pause`; the caller then calls `cancel`.
        """

    def finish(self) -> CompactionResult:
        """Apply the last changes, and put the copy in place of the old file; short, with no transaction open. Raises
        `StoreFailure`, with nothing changed; the caller then calls `cancel`.
        """

    def release(self) -> None:
        """Close the old file when its readers have ended. Slow for a big file: for a worker thread."""

    def cancel(self) -> None:
        """Give up the copy. Idempotent; not after a `finish` that returned."""


class Store(Protocol):
    fold_first: Callable[[bool], None]
    """Function that folds the logged entries, and with a true argument publishes them. Set by the journal; the store
    calls it before each other transaction of the thread that logs.
    """

    def reading(self) -> AbstractContextManager[ReadTransaction]: ...

    def writing(self) -> AbstractContextManager[WriteTransaction]: ...

    def folding(self, again: bool = False) -> AbstractContextManager[WriteTransaction]:
        """Run a transaction that puts all logged entries into the tables. Before `publish` only this thread sees it.

        An error in the block loses all unpublished folds; a block with `again` repeats the lost folds and no other.
        """

    @property
    def is_read(self) -> bool:
        """True while a snapshot of unpublished folds is in use: publish before the next fold."""

    def publish(self) -> None:
        """Commit all folds. Snapshots in use keep their state. Raises as the end of a `writing` block; the folds are
        then lost.
        """

    def log(self, entry: bytes) -> bool:
        """Append `entry` durably to the write-ahead log. False if the entry is too large, the disk has no room or
        refused it, or there is no log. Raises `StoreFailure`; the entry is then lost, unless the failure is `unsure`.
        """

    def logged(self) -> Sequence[bytes]:
        """Return the entries that no transaction has folded, to be folded before the first `log`. Raises
        `JournalDamaged`, `StoreFailure`.
        """

    def clear_log(self) -> None:
        """Fold the log, and remove its files. Raises `StoreFailure`."""

    def forget_log(self) -> None:
        """Drop the log without folding it. Raises `StoreFailure`."""

    def size_bytes(self) -> int: ...

    def used_bytes(self) -> int:
        """Return the part of `size_bytes` that holds pairs; a compaction frees the rest."""

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
        """Free the slots of dead readers, and return their number."""

    def close(self) -> None:
        """Close everything. Idempotent."""


class OutOfOrder(Exception):
    pass


class StoreFailure(Exception):
    """The store could not commit (`disk_full`, I/O error). Nothing of the transaction is stored, unless `unsure`.

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
    """A compaction gave up because too much was written during it. The store is sound."""


class JournalGone(StoreFailure):
    """The journal's file was removed, moved or replaced: no start would find a commit. `unsure`: the transaction was
    committed to the moved file, and is found if the file is put back.
    """

    def __init__(self, message: str, unsure: bool = False) -> None:
        super().__init__(message, for_good=True, unsure=unsure)


class JournalUnseen(StoreFailure):
    """The transaction was committed, but it is unknown whether the file is still at its path."""

    def __init__(self, message: str) -> None:
        super().__init__(message, for_good=True)


def apply_changes(w: WriteTransaction, changes: Iterable[RowChange]) -> None:
    """Apply the changes. Repeating the last changes of a history is harmless."""
    for table, key, value in changes:
        if not key:
            w.clear(table)
        elif value is None:
            w.delete(table, key)
        else:
            w.put(table, key, value)


def last_number(r: ReadTransaction, table: str) -> int:
    """Return the greatest key as a number; 0 for an empty table."""
    for key, _ in r.scan(table, reverse=True):
        return int.from_bytes(key, "big")
    return 0


u64: Final[Callable[[int], bytes]] = struct.Struct(">Q").pack

u32: Final[Callable[[int], bytes]] = struct.Struct(">I").pack
