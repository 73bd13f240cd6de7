"""Journal: bytes, records and views of one store, changed together or not at all.

Only `append` adds records. It seals them into the hash chain and puts them, with their bytes, into the write-ahead log,
synced. `fold` puts all logged commits into the tables and views, in a transaction that stays open until `publish`
commits it. Reads on the journal's thread fold first; other threads and processes see published commits only. A commit
that the log does not accept (many bytes, a purge) goes to the tables at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NoReturn

import msgspec

from quire_journal import FORMAT, READS, VERSION
from quire_journal.history import DeltaBases
from quire_journal.model import (
    GENESIS,
    HEAD_KEY,
    BatchId,
    BlobId,
    Event,
    FileMoved,
    JournalDamaged,
    OutsideMoved,
    Record,
    Seq,
    WriterId,
    blob_id,
    encode_record,
    head_row,
    limits,
    read_record,
    record_hash,
    seal,
)
from quire_journal.storage import (
    JournalGone,
    JournalUnseen,
    LogEntry,
    ReadTransaction,
    RowChange,
    Store,
    StoreFailure,
    WriteTransaction,
    apply_changes,
    blobs,
    log_entry,
    random_id,
    u64,
)
from quire_journal.storage.blobs import BlobCache, Frame, HashedBytes, overflow
from quire_journal.text import Text
from quire_journal.views import dated, replay

CACHE_BYTES: Final = 12 * 1024 * 1024
"""Size of the cache of recent versions, the bases of deltas."""

ENTRY_BYTES: Final = 200
"""Memory for a cached version besides its bytes."""


Bytes = bytes | Text | Frame | HashedBytes
"""Bytes that events name: plain, with an address, or compressed."""

_MOVES: Final = (FileMoved, OutsideMoved)


class OtherFormat(Exception):
    """The journal has the format of another version of Quire. Nothing was changed."""


class NewRecord(msgspec.Struct, frozen=True):
    """Event to be recorded. Its seq is `journal.head` + 1 + its index in the call of `append`."""

    event: Event
    writer: WriterId
    at_ns: int  # wall clock, UTC; the record may get a slightly later time (`views.clock.dated`)
    batch: BatchId  # seq of the batch's first record
    op: bytes = b""  # the caller's operation id, on the first record of a batch


MOST_PENDING: Final = 1000
"""Maximum number of logged records that are not published."""

PATHS: Final = 1000


class _Commit(msgspec.Struct, frozen=True):
    first: int  # seq of its first record
    sealed: list[tuple[Record, Event | None]]
    encoded: list[bytes]
    last_hash: bytes  # of its last record
    bytes_named: Sequence[tuple[Bytes, str | None]]
    at_hand: Callable[[bytes], Text | None] = lambda blob: None


class Journal:
    """Open journal. Only one thread appends; other threads read through `store.reading()`."""

    def __init__(self, store: Store, workspace_id: str, last: Record | None, last_hash: bytes) -> None:
        self._store = store
        self._workspace_id = workspace_id
        self._cache = BlobCache(CACHE_BYTES, ENTRY_BYTES)
        self._head = Seq(last.seq if last else 0)
        self._last_hash = last_hash
        self._last_at_ns = last.at_ns if last else 0
        self._pending: list[_Commit] = []  # logged, not folded
        self._folded: list[_Commit] = []  # folded, not published
        self._unpublished = 0  # number of records in both lists
        self._logged: OrderedDict[str, bytes] = OrderedDict()  # path → blob of its last logged version
        self._folding = False
        self._unfolded = ""  # why folding failed for good
        store.fold_first = self._fold_first

    @classmethod
    def open(cls, store: Store, now_ns: int, workspace_id: str | None = None, repair: bool = False) -> Journal:
        """Open the journal in `store`; an empty store becomes a journal, under `workspace_id` or a random id.

        Catches up views and folds the log; with `repair`, removes a log that does not fit the records. Raises
        `OtherFormat` (nothing changed), `JournalDamaged` or `StoreFailure`.
        """
        with store.reading() as r:
            found = r.get("meta", b"format")
            if found is None and any(r.count(table) for table in ("meta", "records", "blobs")):
                raise JournalDamaged(
                    "the journal does not say its format; keep a copy of its folder before anything else"
                )
        if found is None:
            _create(store, now_ns, workspace_id or random_id())
        else:
            require_format(found)
            if int(found) != FORMAT:
                with store.writing() as w:
                    w.put("meta", b"format", str(FORMAT).encode())
        with store.reading() as r:
            name = r.get("meta", b"workspace") or b""
            last, last_hash = _last(r)
        replay.catch_up(store)
        journal = cls(store, name.decode("ascii", "replace"), last, last_hash)
        try:
            commits = journal._left()
        except JournalDamaged:
            if not repair:
                raise
            store.forget_log()
        else:
            journal._take_up(commits)
        return journal

    def _left(self) -> list[_Commit]:
        """Return the logged commits of an earlier process. Raises `JournalDamaged` if they do not continue the records,
        or need bytes that the database lacks.
        """
        seq, last_hash = self._head + 1, self._last_hash
        commits: list[_Commit] = []
        held: dict[bytes, bytes] = {}
        for entry in map(log_entry.decode, self._store.logged()):
            if entry.workspace != self._workspace_id:
                raise JournalDamaged(f"the log beside the database is that of another workspace ({entry.workspace})")
            if entry.first != seq or entry.last_hash != last_hash:
                raise JournalDamaged(
                    f"the log goes on with record {entry.first}, and the database does not end with the one before; "
                    "nothing was changed; put the files back that belong together"
                )
            with self._store.reading() as r:
                try:
                    for one in entry.contents:
                        held[one.blob] = log_entry.bytes_of(
                            one, lambda blob: held[blob] if blob in held else blobs.get(r, blob)
                        )
                except blobs.NotHeld as error:
                    raise JournalDamaged(f"the log needs bytes: {error}; run `quire verify`") from error
            records = [read_record(at, stored) for at, stored in enumerate(entry.records, seq)]
            sealed = [(record, record.event()) for record in records]
            contents = [(HashedBytes(held[one.blob], BlobId(one.blob)), one.path) for one in entry.contents]
            seq, last_hash = seq + len(records), record_hash(entry.records[-1])
            commits.append(_Commit(entry.first, sealed, [*entry.records], last_hash, contents))
        return commits

    def _take_up(self, commits: list[_Commit]) -> None:
        if commits:
            newest = commits[-1].sealed[-1][0]
            self._pending = commits
            self._head, self._last_hash, self._last_at_ns = Seq(newest.seq), commits[-1].last_hash, newest.at_ns
            self.publish()

    @property
    def store(self) -> Store:
        """Store below the journal, for readers, and for tables that are neither log nor view (such as `seen`)."""
        return self._store

    @property
    def workspace_id(self) -> str:
        """Permanent id of the workspace: 32 hexadecimal digits."""
        return self._workspace_id

    @property
    def head(self) -> Seq:
        """Seq of the newest record; 0 for an empty log."""
        return self._head

    @property
    def last_hash(self) -> bytes:
        """sha256 of the newest record as stored, which proves that the past is unchanged."""
        return self._last_hash

    def append(
        self,
        entries: Sequence[NewRecord],
        bytes_named: Sequence[tuple[Bytes, str | None]] = (),
        at_hand: Callable[[bytes], Text | None] = lambda blob: None,
        dropped: Sequence[bytes] = (),
        instead: Sequence[RowChange] = (),
    ) -> list[Record]:
        """Store the bytes, then one record for each entry: durable, all or nothing.

        `bytes_named` are the bytes that the events name, each with its path. `at_hand` returns the text of a blob if
        the caller has it in memory. Blobs in `dropped` are removed: a `BytesGone` names them with their paths, and no
        other blob is based on them. `instead` are rows to replace (see `purge`). Raises `ValueError` for an impossible
        batch, and `StoreFailure`, `JournalDamaged` or `OutOfOrder` with nothing stored; a `StoreFailure` that is
        `unsure` may have stored all.
        """
        commit = self._sealed(entries, bytes_named, at_hand)
        if not commit.sealed and not bytes_named:
            return []
        if self._unfolded:
            raise StoreFailure(self._unfolded, for_good=True, unsure=False)
        if len(entries) + self._unpublished > MOST_PENDING:
            self.publish()
        if instead:
            self._store.clear_log()  # it may contain the purged bytes
        if dropped or instead or not self._log(commit):
            with self._store.writing() as w:  # folds first
                for blob in dropped:  # first, so that no new blob is based on one of them
                    blobs.drop(w, blob)
                    self._cache.forget(blob)
                self._put(w, commit, instead)
            if dropped:
                self._logged.clear()
        self._head, self._last_hash = Seq(self._head + len(commit.sealed)), commit.last_hash
        if commit.sealed:
            self._last_at_ns = commit.sealed[-1][0].at_ns
        return [record for record, _ in commit.sealed]

    def _sealed(
        self,
        entries: Sequence[NewRecord],
        bytes_named: Sequence[tuple[Bytes, str | None]],
        at_hand: Callable[[bytes], Text | None],
    ) -> _Commit:
        sealed: list[tuple[Record, Event | None]] = []
        encoded: list[bytes] = []
        prev, at_ns = self._last_hash, self._last_at_ns
        for seq, entry in enumerate(entries, self._head + 1):
            self._require_batch(seq, entry, entries)
            at_ns = dated(at_ns, entry.at_ns)
            record = seal(Seq(seq), at_ns, entry.writer, entry.batch, entry.event, prev, entry.op)
            encoded.append(encode_record(record))
            prev = record_hash(encoded[-1])
            sealed.append((record, entry.event))
        return _Commit(self._head + 1, sealed, encoded, prev, bytes_named, at_hand)

    # ── write-ahead log and fold ──

    def _log(self, commit: _Commit) -> bool:
        if not commit.sealed:
            return False
        contents: list[log_entry.LoggedBytes] = []
        for data, path in commit.bytes_named:
            if isinstance(data, Frame):
                return False
            plain, blob = _plain(data)
            blob = blob or blob_id(plain)
            like = self._logged.get(path, b"") if path is not None else b""
            base = self._find(like, commit.at_hand) if like else None
            contents.append(log_entry.logged(plain, blob, path, like, base))
        entry = LogEntry(self._workspace_id, commit.first, self._last_hash, tuple(commit.encoded), tuple(contents))
        if not self._store.log(log_entry.encode(entry)):
            return False
        self._pending.append(commit)
        self._unpublished += len(commit.sealed)
        for one in contents:
            if one.path is not None:
                self._logged[one.path] = one.blob
                self._logged.move_to_end(one.path)
        while len(self._logged) > PATHS:
            self._logged.popitem(last=False)
        return True

    def _find(self, blob: bytes, at_hand: Callable[[bytes], Text | None]) -> bytes | None:
        text = at_hand(blob)
        return text.data if text is not None else self._cache.find(blob)

    @property
    def pending(self) -> int:
        """Number of commits that are logged and not folded."""
        return len(self._pending)

    @property
    def unpublished(self) -> bool:
        return self._unpublished > 0

    @property
    def unfolded(self) -> str:
        """Why logged records cannot be folded, and are invisible until the next start; else ""."""
        return self._unfolded

    def fold(self) -> None:
        """Put all logged commits into the tables and views, for this thread. Raises `StoreFailure` and
        `JournalDamaged`.

        After a lasting error nothing is appended, and reads see earlier folds; opening the journal tries again.
        """
        if not self._pending or self._unfolded or self._folding:
            return
        if self._store.is_read:  # a reading block is open, whose state must not change
            self._publish()
        self._folding = True
        try:
            with self._store.folding() as w:
                for commit in self._pending:
                    self._put(w, commit)
        except BaseException as error:  # noqa: BLE001  every error is reported
            self._fail(error)
        finally:
            self._folding = False
        self._folded += self._pending
        self._pending.clear()

    def publish(self) -> None:
        """Fold, and make all folds visible to other threads and processes, in one commit. Raises `StoreFailure` and
        `JournalDamaged`.
        """
        self.fold()
        if self._folded and not self._folding:
            self._publish()

    def _publish(self) -> None:
        try:
            self._store.publish()
        except BaseException as error:  # noqa: BLE001  every error is reported
            self._fail(error)
        self._folded.clear()
        self._unpublished = sum(len(one.sealed) for one in self._pending)

    def _fold_first(self, published: bool) -> None:
        (self.publish if published else self.fold)()

    def _fail(self, error: BaseException) -> NoReturn:
        """Raise the error, after restoring the folds that the store lost: as pending after a temporary error, such as
        an interrupt, else by folding again. A lasting error is raised as damage, or as a `StoreFailure` that is
        `for_good`.
        """
        folded, self._folded = self._folded, []
        interrupted = not isinstance(error, Exception)
        if interrupted or limits.reached(error) or (isinstance(error, StoreFailure) and not error.for_good):
            self._pending = [*folded, *self._pending]
            raise error
        self._unfolded = (
            f"the last records are in the write-ahead log only: they could not be put into the database ({error}); "
            "restart the daemon to try again"
        )
        self._unpublished = 0
        if folded:
            with suppress(Exception):  # then reads see the published commits
                with self._store.folding(again=True) as w:
                    for commit in folded:
                        self._put(w, commit)
                self._store.publish()
        if isinstance(error, JournalDamaged | JournalGone | JournalUnseen):
            raise error
        raise StoreFailure(self._unfolded, for_good=True, unsure=False) from error

    def _put(self, w: WriteTransaction, commit: _Commit, instead: Sequence[RowChange] = ()) -> None:
        prepared = [data for data, _ in commit.bytes_named if isinstance(data, Frame)]
        if prepared:
            blobs.put_prepared(w, prepared)
        named: dict[bytes, bytes] = {}
        events = (event for _, event in commit.sealed)
        bases = DeltaBases({event.to: event.path for event in events if isinstance(event, _MOVES)})

        def bytes_of(r: ReadTransaction, blob: bytes) -> bytes:
            if blob in named:
                return named[blob]
            text = commit.at_hand(blob)
            return text.data if text is not None else blobs.get(r, blob, self._cache)

        for data, path in commit.bytes_named:
            if isinstance(data, Frame):
                continue
            plain, address = _plain(data)
            named[bases.put(w, plain, path, self._cache, address, bytes_of)] = plain
        for table, key, _ in instead:
            if table == "blobs":
                overflow.forget(w, int.from_bytes(key, "big"))
        apply_changes(w, instead)
        w.append_all("records", [(u64(seq), stored) for seq, stored in enumerate(commit.encoded, commit.first)])
        if commit.sealed:
            w.put("meta", HEAD_KEY, head_row(commit.first - 1 + len(commit.sealed), commit.last_hash))
        replay.fold_all(w, commit.sealed, bytes_of)

    def _require_batch(self, seq: int, entry: NewRecord, entries: Sequence[NewRecord]) -> None:
        first = entry.batch - self._head - 1
        if not 0 < entry.batch <= seq or (first >= 0 and entries[first].batch != entry.batch):
            raise ValueError(f"record {seq} cannot belong to batch {entry.batch}, which no record begins")

    def at_hand(self, blob: bytes) -> bytes | None:
        """Return the bytes of a blob from the cache; None if not cached."""
        return self._cache.find(blob)

    def close(self) -> None:
        """Publish the log and close the store. Idempotent."""
        with suppress(StoreFailure, JournalDamaged):  # opening tries again, and reports the error
            self.publish()
        self._store.close()


def _plain(data: Bytes) -> tuple[bytes, BlobId | None]:
    assert not isinstance(data, Frame)
    return (data, None) if isinstance(data, bytes) else (data.data, data.blob)


def _create(store: Store, now_ns: int, workspace_id: str) -> None:
    with store.writing() as w:
        w.put("meta", HEAD_KEY, head_row(0, GENESIS))
        w.put("meta", b"workspace", workspace_id.encode("ascii"))
        w.put("meta", b"created", str(now_ns).encode())
        w.put("meta", b"created_by", VERSION.encode())
        w.put("meta", b"format", str(FORMAT).encode())


def require_format(found: bytes) -> None:
    """Raise `OtherFormat` for a format that is not in `READS`, `JournalDamaged` if `found` is not a number."""
    if not found.isdigit():
        raise JournalDamaged(f"the journal's format is {found!r}, not a number; keep a copy of its folder first")
    if int(found) not in READS:
        raise OtherFormat(other_format(int(found)))


def other_format(found: int) -> str:
    said = f"the journal has format {found}, and Quire {VERSION} reads format {FORMAT}; nothing was changed; "
    if found > FORMAT:
        return said + "start a newer Quire"
    return said + (
        "run `quire export jsonl --out FILE` with the Quire that wrote it, move its folder away, and run "
        "`quire import FILE` with this one"
    )


def _last(r: ReadTransaction) -> tuple[Record | None, bytes]:
    for key, stored in r.scan("records", reverse=True):
        seq = int.from_bytes(key, "big")
        record = read_record(seq, stored)
        if record.seq != seq or r.count("records") != seq:
            raise JournalDamaged(
                f"the log ends with record {record.seq} at {seq}, and holds {r.count('records')} records"
            )
        last_hash = record_hash(stored)
        require_head(r, seq, last_hash)
        return record, last_hash
    require_head(r, 0, GENESIS)
    return None, GENESIS


def require_head(r: ReadTransaction, seq: int, last_hash: bytes) -> None:
    """Raise `JournalDamaged` if table `meta` has another seq or hash of the last record."""
    said = r.get("meta", HEAD_KEY)
    if said is None:
        raise JournalDamaged("nothing says where the log ends; run `quire verify`")
    if said != head_row(seq, last_hash):
        ends = int.from_bytes(said[:8], "big")
        what = f"with record {ends}, not with {seq}" if ends != seq else f"with another record {seq} than the one there"
        raise JournalDamaged(f"the log should end {what}; run `quire verify`")
