"""The journal as one thing: bytes, records and views of one store, changed together or not at all.

`append` is the only way in. One transaction stores the bytes, seals the records into the chain and folds them
into every view; when it returns, all of that is durable, and when it raises, nothing happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from quire_journal import FORMAT, VERSION
from quire_journal.history import DeltaBases
from quire_journal.model import (
    GENESIS,
    HEAD_KEY,
    BatchId,
    Event,
    FileMoved,
    JournalDamaged,
    OutsideMoved,
    Record,
    Seq,
    WriterId,
    encode_record,
    head_row,
    read_record,
    record_hash,
    seal,
)
from quire_journal.storage import ReadTransaction, RowChange, Store, apply_changes, blobs, random_id, u64
from quire_journal.storage.blobs import BlobCache, Frame, HashedBytes, overflow
from quire_journal.text import Text
from quire_journal.views import dated, replay

CACHE_BYTES: Final = 12 * 1024 * 1024
"""Memory for recent versions that are held, so that the next delta need not unpack the one before."""

ENTRY_BYTES: Final = 200
"""Memory that a held version takes besides its bytes. Ten thousand small versions take 2 MB of it."""


Bytes = bytes | Text | Frame | HashedBytes
"""Bytes that events name: as they are, as a text or `HashedBytes` (whose address is known), or as a frame made
ready."""

_MOVES: Final = (FileMoved, OutsideMoved)


class OtherFormat(Exception):
    """The journal was made by a version of Quire with another format. Nothing was changed."""


class NewRecord(msgspec.Struct, frozen=True):
    """An event that is to become a record. Its seq is its place: `journal.head` + 1 + index in the call."""

    event: Event
    writer: WriterId
    at_ns: int  # wall clock, UTC; the record may be dated a moment later (`views.clock.dated`)
    batch: BatchId  # seq of the batch's first record, known from the place
    op: bytes = b""  # the caller's operation id, on the first record of a batch


class Journal:
    """An open journal. Only one thread appends; others read through `store.reading()`."""

    def __init__(self, store: Store, workspace_id: str, last: Record | None, last_hash: bytes) -> None:
        self._store = store
        self._workspace_id = workspace_id
        self._cache = BlobCache(CACHE_BYTES, ENTRY_BYTES)
        self._head = Seq(last.seq if last else 0)
        self._last_hash = last_hash
        self._last_at_ns = last.at_ns if last else 0

    @classmethod
    def open(cls, store: Store, now_ns: int, workspace_id: str | None = None) -> Journal:
        """The journal in `store`; an empty store becomes one, under `workspace_id` or a random one.

        Views that are behind the log are caught up. Raises `OtherFormat` (nothing changed), `JournalDamaged` or
        `StoreFailure`.
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
        with store.reading() as r:
            name = r.get("meta", b"workspace") or b""
            last, last_hash = _last(r)
        replay.catch_up(store)
        return cls(store, name.decode("ascii", "replace"), last, last_hash)

    @property
    def store(self) -> Store:
        """Where it is stored; for readers, and for tables that are neither log nor view (`seen`)."""
        return self._store

    @property
    def workspace_id(self) -> str:
        """Names the workspace for life: 32 hexadecimal digits."""
        return self._workspace_id

    @property
    def head(self) -> Seq:
        """The newest record; 0 for an empty log."""
        return self._head

    @property
    def last_hash(self) -> bytes:
        """sha256 of the newest record as stored: `prev` of the next. Remembering it shows when the past was changed."""
        return self._last_hash

    def append(
        self,
        entries: Sequence[NewRecord],
        bytes_named: Sequence[tuple[Bytes, str | None]] = (),
        at_hand: Callable[[bytes], Text | None] = lambda blob: None,
        dropped: Sequence[bytes] = (),
        instead: Sequence[RowChange] = (),
    ) -> list[Record]:
        """Store the bytes, then one record for each entry, and fold them: one durable transaction.

        `bytes_named` are the bytes that the events name, each with the path that it is a version of. `at_hand`
        finds the text of a blob that the caller still has, so that it need not be unpacked. The bytes of the blobs
        `dropped` go: a `BytesGone` among the entries names them with their paths, and nothing that stays is made from
        them (see `blobs.drop`). `instead` are rows that stand in place of others from now on: records,
        blobs, and what views tell of them (see `purge`). Raises `ValueError` for a batch that cannot be (a caller's
        mistake), and `StoreFailure`, `JournalDamaged` or `OutOfOrder` when nothing of it was stored.
        """
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
        if not sealed and not bytes_named:
            return []
        prepared = [data for data, _ in bytes_named if isinstance(data, Frame)]
        with self._store.writing() as w:
            for blob in dropped:  # first, so that no new blob is made from one of them
                blobs.drop(w, blob)
                self._cache.forget(blob)
            if prepared:
                blobs.put_prepared(w, prepared)
            named: dict[bytes, bytes] = {}
            bases = DeltaBases({one.event.to: one.event.path for one in entries if isinstance(one.event, _MOVES)})

            def bytes_of(r: ReadTransaction, blob: bytes) -> bytes:
                if blob in named:
                    return named[blob]
                text = at_hand(blob)
                return text.data if text is not None else blobs.get(r, blob, self._cache)

            for data, path in bytes_named:
                if isinstance(data, Frame):
                    continue
                plain = data.data if isinstance(data, Text | HashedBytes) else data
                address = data.blob if isinstance(data, Text | HashedBytes) else None
                named[bases.put(w, plain, path, self._cache, address, bytes_of)] = plain
            for table, key, _ in instead:
                if table == "blobs":
                    overflow.forget(w, int.from_bytes(key, "big"))
            apply_changes(w, instead)
            w.append_all("records", [(u64(seq), stored) for seq, stored in enumerate(encoded, self._head + 1)])
            if sealed:
                w.put("meta", HEAD_KEY, head_row(self._head + len(sealed), prev))
            replay.fold_all(w, sealed, bytes_of)
        self._head = Seq(self._head + len(sealed))
        self._last_hash, self._last_at_ns = prev, at_ns
        return [record for record, _ in sealed]

    def _require_batch(self, seq: int, entry: NewRecord, entries: Sequence[NewRecord]) -> None:
        """A batch is named by its first record: one that is stored, this one, or one before it in this call."""
        first = entry.batch - self._head - 1
        if not 0 < entry.batch <= seq or (first >= 0 and entries[first].batch != entry.batch):
            raise ValueError(f"record {seq} cannot belong to batch {entry.batch}, which no record begins")

    def at_hand(self, blob: bytes) -> bytes | None:
        """The bytes of a blob that was stored or used recently, without looking into the store."""
        return self._cache.find(blob)

    def close(self) -> None:
        """Close the store. Idempotent."""
        self._store.close()


def _create(store: Store, now_ns: int, workspace_id: str) -> None:
    with store.writing() as w:
        w.put("meta", HEAD_KEY, head_row(0, GENESIS))
        w.put("meta", b"workspace", workspace_id.encode("ascii"))
        w.put("meta", b"created", str(now_ns).encode())
        w.put("meta", b"created_by", VERSION.encode())
        w.put("meta", b"format", str(FORMAT).encode())


def require_format(found: bytes) -> None:
    """`found` is the format that `meta` says. Raises `OtherFormat` for that of another version, `JournalDamaged` for
    what no version says."""
    if not found.isdigit():
        raise JournalDamaged(f"the journal's format is {found!r}, not a number; keep a copy of its folder first")
    if int(found) != FORMAT:
        raise OtherFormat(other_format(int(found)))


def other_format(found: int) -> str:
    """What is said of a journal of format `found`, and what brings it over."""
    said = f"the journal has format {found}, and Quire {VERSION} reads format {FORMAT}; nothing was changed; "
    if found > FORMAT:
        return said + "start a newer Quire"
    return said + (
        "run `quire export jsonl --out FILE` with the Quire that wrote it, move its folder away, and run "
        "`quire import FILE` with this one"
    )


def _last(r: ReadTransaction) -> tuple[Record | None, bytes]:
    """The newest record, and its hash as stored. Raises `JournalDamaged` when it is not one, or others are missing."""
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
    """Raise `JournalDamaged` when the journal says that its log ends otherwise."""
    said = r.get("meta", HEAD_KEY)
    if said is None:
        raise JournalDamaged("nothing says where the log ends; run `quire verify`")
    if said != head_row(seq, last_hash):
        ends = int.from_bytes(said[:8], "big")
        what = f"with record {ends}, not with {seq}" if ends != seq else f"with another record {seq} than the one there"
        raise JournalDamaged(f"the log should end {what}; run `quire verify`")
