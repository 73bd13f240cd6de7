"""The ports: what the journal asks of a store. Two adapters (`stores/memory`, `stores/lmdb`) pass one contract suite.

A store is a set of ordered tables of bytes, read in snapshots and written in transactions that are all or
nothing. The log, the blobs and every view are written on these few calls, so a new store is one small file.

What a store promises:

* a `writing()` block that ends normally is durable when it returns (kill -9, power cut); one that raises
  leaves no trace; of one that folds what is `logged` a power cut may take all back, which is folded again then;
* what `log` took is durable when it returns;
* a `reading()` block sees one state from start to end, whatever is written meanwhile;
* keys are ordered as bytes; integer keys are big-endian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import msgspec

TABLES: Final[tuple[str, ...]] = (
    "meta",  # word → bytes: format, workspace id, watermarks of the views
    "records",  # seq → record
    "blobs",  # blob number → frame (see `row`)
    "pieces",  # blob number | part → what of a long frame does not stand in the row of its blob
    "addresses",  # sha256[:16] → number of the blob
    "kin",  # sha256(a name, or a suffix)[:8] → sha256(path)[:8] of the last new path that has it
    "seen",  # path id → stat signature and blob: a cache of the disk, not a view
    # views, one fold each; disposable
    "paths",  # path id → path
    "path_ids",  # sha256(path)[:16] → path id
    "files",  # path id → head, and how many versions each writer type made
    "versions",  # path id | seq → what the record does not say of the version
    "writers",  # writer id → introduction
    "writer_ids",  # hash of the identity → writer id
    "callers",  # caller → how many writers it was, and the newest of them
    "newest_callers",  # writer id, the newest of a caller → caller
    "reads",  # caller | path id → version and lines shown
    "reads_before",  # seq | caller | path id → what stood there before this write moved the base; until it is settled
    "anchors",  # path id | seq → line hashes that this version added and removed; path id | 0 → the newest such seq
    "checkpoints",  # sha256(name)[:16] → name and cursor
    "edit_checkpoints",  # path id → the newest checkpoint of an edit, and what became of it
    "ops",  # operation id → batch
    "batches",  # batch → its tool writes, and which of them stand
    "batches_by",  # caller | seq // 256 → the batches with tool writes that it began there, and their writers
    "probable_by",  # the same of outside writes that are probably, not provably, the caller's
    "undone",  # batch | seq → batch that undid it by record seq
    "replies",  # caller | sha256(idempotency key)[:16] → kept reply
    "leases",  # seq of the grant → lease that no record has ended
    "times",  # when a stretch of records begins, whose times only rise → seq of its first record
    "set_back",  # seq of a record that is dated before the one in front of it → the time of that
    "broken_leases",  # the same, of those that somebody broke, while their holder may not know
    "readers",  # path id | caller → nothing: who was shown the path, and has no row in `stale_reads` since
    "stale_reads",  # caller | path id → nothing: reads that somebody else's change may have overtaken
    "bursts",  # seq of the beginning → burst
    "open_bursts",  # seq of the beginning → nothing: the bursts of which no record says that they ended
    "burst_batches",  # burst | batch → why the batch belongs to it, or why that is not known
    "uncaptured",  # path id → why, of files whose bytes the journal does not hold now
    "uncaptured_once",  # path id → nothing: the files of which a version is not held
    "scanned",  # b"first" → seq of the first record that says the whole tree was looked at
    "gone",  # sha256 → since which record the bytes are not held any more, and why
    "replaced",  # seq → hash of the record that stood there before it was lost or its bytes were purged
    "contents",  # seq // 256 → which of these records made a version, and how the address of its bytes begins
    "terms",  # seq // 256 → which of these records have which kind, agent, agent session and turn
    "salvages",  # seq of the record that says that the journal was salvaged → nothing
    "term_spans",  # seq // 16384 → every term of `terms` that occurs there
    "unsettled",  # batch → seq of its last tool write: writes that are not known to be on disk
)
"""Every table of a journal. A view owns the tables it names; `meta` to `seen` are the journal's own."""


RowChange = tuple[str, bytes, bytes | None]
"""Table, key, and the value that stands there from now on; None: none. An empty key (which no row has): the whole table
is emptied."""


class ReadTransaction(Protocol):
    """One consistent state of the tables."""

    known: dict[Any, Any]
    """Rows that were read, and do not change while this lasts: the folds of one record ask for the same ones."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value at `key`, or None."""

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start <= key < stop, in key order or backwards. Do not keep it open: copy and end."""

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        """The values of all keys from `start` on, or of the first `most` of them, in key order.

        For tables that are read whole: there is no step for each row.
        """

    def count(self, table: str) -> int:
        """How many keys."""

    def empty(self, table: str) -> bool:
        """Is there no key? A fold asks that of each record, and to count takes ten times as long."""


class WriteTransaction(ReadTransaction, Protocol):
    """A transaction; it sees its own writes."""

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Set the value at `key`."""

    def append(self, table: str, key: bytes, value: bytes) -> None:
        """Set the value at `key`, which must be greater than every key there. Raises `OutOfOrder` otherwise."""

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """Set all of these; quickest where the keys ascend."""

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        """`append` of each, in this order."""

    def delete(self, table: str, key: bytes) -> bool:
        """Remove `key`; False when it was not there."""

    def clear(self, table: str) -> None:
        """Remove every key of `table`."""


class CompactionResult(msgspec.Struct, frozen=True):
    """What a compaction did to the bytes on disk."""

    before_bytes: int
    after_bytes: int


Elsewhere = Callable[[str, str, Callable[[], None]], None]
"""Has the pairs of the database in one folder copied to the one in another by another process, and waits for its end.

It calls the third now and then, whose error ends that process. Raises `StoreFailure` and `JournalDamaged` besides.
"""


class Compaction(Protocol):
    """A compaction on its way (see `compaction`): `copy`, `finish`, `release`, or `cancel` instead of `finish`.

    Afterwards no byte of a pair that was gone when it began is in the store's file, nor one of its free pages.
    """

    def copy(self, pause: Callable[[], None] = lambda: None, elsewhere: Elsewhere | None = None) -> None:
        """The long part, for a worker thread; others read and write meanwhile.

        `pause` is called between slices of about half a millisecond: to let others run, and to end it by raising.
        With `elsewhere` most of it is done there. Raises `StoreFailure`, `JournalDamaged`, or what `pause` raises; the
        caller then calls `cancel`.
        """

    def finish(self) -> CompactionResult:
        """The short part, where no transaction is open: catch up, and put the copy in the place of the old file.

        Raises `StoreFailure`; nothing has changed then, and the caller calls `cancel`.
        """

    def release(self) -> None:
        """Give the old file back, when all who read it have ended. Takes time for a big one: for a worker thread."""

    def cancel(self) -> None:
        """Everything stays as it is. Idempotent; not after a `finish` that returned."""


class Store(Protocol):
    """Ordered tables of bytes."""

    fold_first: Callable[[], None]
    """Folds what is logged; nothing where there is nothing to fold. The journal sets it, and the store calls it before
    each other transaction of the thread that logs."""

    def reading(self) -> AbstractContextManager[ReadTransaction]: ...

    def writing(self, folding: bool = False) -> AbstractContextManager[WriteTransaction]:
        """`folding`: all that is logged by now is put into the tables."""

    def log(self, entry: bytes) -> bool:
        """Append `entry` to the write-ahead log, where it lasts. False: it is too large, or there is none.

        Raises `StoreFailure`; nothing of it is found again then, unless that is `unsure`.
        """

    def logged(self) -> Sequence[bytes]:
        """The entries of the write-ahead log that no transaction has folded. Raises `JournalDamaged`, `StoreFailure`.

        To be asked, and folded, before the first `log`.
        """

    def clear_log(self) -> None:
        """Leave no byte of what was logged; it is folded. Raises `StoreFailure`."""

    def forget_log(self) -> None:
        """Go on with what the tables hold, whatever was logged. Raises `StoreFailure`."""

    def size_bytes(self) -> int:
        """Bytes on disk."""

    def used_bytes(self) -> int:
        """Bytes of `size_bytes` that hold pairs; the rest would be given back by a compaction."""

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> Compaction:
        """Begin a compaction. No transaction may be open on this thread.

        `step` is called at each fault point (`compaction.STEPS`). Raises `StoreFailure` (no room for the copy:
        it says how much is missing; `disk_full`) and `RuntimeError` when one is going on.
        """

    def sync(self) -> None:
        """Make every finished commit durable; for stores that were opened to do so only when asked."""

    def leave_image(self, unproven: bool) -> None:
        """From now on let a start after a kill tell whether the file is as this process left it.

        `unproven`: it was not checked at this start. A store without a file has nothing to tell.
        """

    def drop_image(self) -> None:
        """Let no start tell that: the file may be damaged."""

    def reader_check(self) -> int:
        """Free what readers that died have left; how many there were."""

    def close(self) -> None:
        """Give everything back. Idempotent."""


class OutOfOrder(Exception):
    """An append would not have gone to the end: the log is not what the caller takes it for."""


class StoreFailure(Exception):
    """The store could not commit (disk full, I/O error). Nothing of the transaction is stored, unless it is `unsure`.

    `for_good`: nor will anything else be, until it is opened again. `unsure`: only then it shows whether this
    transaction is; one that could not be synced may be. What fails for good is unsure where nothing else is said.
    """

    def __init__(
        self, message: str, disk_full: bool = False, for_good: bool = False, unsure: bool | None = None
    ) -> None:
        super().__init__(message)
        self.disk_full = disk_full
        self.for_good = for_good
        self.unsure = for_good if unsure is None else unsure


class Outrun(StoreFailure):
    """A compaction gave up: more was written meanwhile than can be held. Nothing is wrong with the store."""


class JournalGone(StoreFailure):
    """The journal's file was removed, moved away or replaced by another: no start finds what is committed to it.

    `unsure`: the transaction was committed all the same, and a start finds it where the file is put back.
    """

    def __init__(self, message: str, unsure: bool = False) -> None:
        super().__init__(message, for_good=True, unsure=unsure)


class JournalUnseen(StoreFailure):
    """The transaction was committed, and the disk does not say whether the journal's file is still at its path."""

    def __init__(self, message: str) -> None:
        super().__init__(message, for_good=True)


def apply_changes(w: WriteTransaction, changes: Iterable[RowChange]) -> None:
    """Make `changes`. Harmless for those that are made already, as long as all that followed them come, too."""
    for table, key, value in changes:
        if not key:
            w.clear(table)
        elif value is None:
            w.delete(table, key)
        else:
            w.put(table, key, value)


def last_number(r: ReadTransaction, table: str) -> int:
    """The greatest of the numbers that are the keys of `table`; 0 where there are none."""
    for key, _ in r.scan(table, reverse=True):
        return int.from_bytes(key, "big")
    return 0


def u64(number: int) -> bytes:
    """A key that sorts as the number does."""
    return number.to_bytes(8, "big")


def u32(number: int) -> bytes:
    """A key that sorts as the number does."""
    return number.to_bytes(4, "big")
