"""Checker: comparison of everything in a journal with its expected state. Nothing is changed. A finding names the
record, or the table and key.

* log: records from 1 without a gap, each with the hash of its predecessor and a body that fits its kind;
* blobs: each has one address, its base, and the bytes of its sha256;
* views: byte for byte the result of folding the log;
* versions: their bytes are held, unless the log says that they were not captured or are gone.

A later record must confirm the original hash of a replaced record (lost or purged). Records and blobs are read in many
short snapshots; views are compared in one snapshot, after folding the newer records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

import msgspec

from quire_journal.journal import require_head
from quire_journal.model import (
    GENESIS,
    HEAD_KEY,
    CaptureFailed,
    Event,
    FileWritten,
    JournalDamaged,
    Record,
    blob_id,
    capitalised,
    counted,
    decode_record,
    link,
    record_hash,
)
from quire_journal.storage import (
    MemoryStore,
    OutOfOrder,
    ReadTransaction,
    Store,
    WriteTransaction,
    blobs,
    last_number,
    packs,
    u64,
)
from quire_journal.storage.blobs import BlobCache, codec, index as blob_index, row as blob_row
from quire_journal.views import TABLES, VIEWS, ViewsElsewhere, differing, lost_bytes, replay, version_in_row, watermarks

Progress = Callable[[str, int, int], None]
"""Callback with the phase ("records", "blobs", "views"), the number done, and the total."""

_CHUNK: Final = 1000

_FEW: Final = 5

_CACHE_BYTES: Final = 32 * 1024 * 1024


class Finding(msgspec.Struct, frozen=True):
    sentence: str
    table: str
    key: bytes = b""
    seq: int = 0  # of the record at fault; 0: none

    def __str__(self) -> str:
        return self.sentence


def check(
    store: Store,
    read_data: bool = True,
    progress: Progress | None = None,
    part: tuple[int, int] = (1, 1),
    views: bool = True,
) -> Iterator[Finding]:
    """Yield everything wrong with the journal in `store`.

    `read_data` False skips unpacking blobs, which takes most of the time; `part` (n, t) unpacks the n-th of t parts.
    `views` False skips folding. Raises `JournalDamaged` if the store cannot be read any further.
    """
    tell = progress or (lambda what, done, total: None)
    with MemoryStore().writing() as again:
        log = _Log(again, views)
        yield from log.read(store, tell)
        yield from _blobs(store, (lambda number: number % part[1] == part[0] % part[1]) if read_data else None, tell)
        with store.reading() as r:
            yield from log.finish(r)
            if not views:
                return
            if log.overtaken:
                log = log.anew(r)
            tell("views", 0, len(VIEWS))
            yield from _versions_held(r, again, log.uncaptured)
            if log.stopped:
                yield Finding(f"The views were not compared with the log: {log.stopped}.", "meta")
                return
            for at, view in enumerate(VIEWS, 1):
                for table in view.tables:
                    yield from _differences(table, r, again)
                if watermarks.read(r).get(view.name) != watermarks.read(again).get(view.name):
                    told = f"The view {view.name} does not say that it stands at the end of the log."
                    yield Finding(
                        told, view.tables[0]
                    )  # the first table stands for the whole view, which must be rebuilt
                tell("views", at, len(VIEWS))


def replaced(r: ReadTransaction) -> Mapping[int, bytes]:
    """Return replaced record → original hash, read from the log if the losses view, which holds these hashes, is behind
    the log; else {}.
    """
    whole = watermarks.read(r).get("losses") == replay.level(last_number(r, "records"))["losses"]
    return {} if whole else lost_bytes.replaced_by_log(r)


def not_standing(r: ReadTransaction, standing: Mapping[int, tuple[bytes, int]]) -> Iterator[Finding]:
    """Yield a finding for each replacement that differs from the link in its `Purged` or salvage record. `standing`:
    record → (its link, b"" if unknown; seq of that record).
    """
    for seq, (known, by) in sorted(standing.items()):
        stored = r.get("records", u64(seq))
        if known and stored is not None and link(record_hash(stored)) != known:
            yield Finding(f"Record {seq} is not what record {by} put there.", "records", u64(seq), seq)


class _Log:
    def __init__(self, again: WriteTransaction, folds: bool) -> None:
        self.uncaptured: set[bytes] = set()  # blobs never stored, according to the log
        self.stopped = ""  # why folding stopped
        self.overtaken = False  # a purge replaced records that may have been read
        self._began_at = 0  # the newest record when the check began
        self._again = again
        self._folds = folds
        self._seq = 0
        self._replaced: Mapping[int, bytes] = {}
        self._standing: dict[int, tuple[bytes, int]] = {}  # replaced record → its link, and the record that says so
        self._prev = GENESIS
        self._cache = BlobCache(_CACHE_BYTES)

    def read(self, store: Store, tell: Progress) -> Iterator[Finding]:
        with store.reading() as r:
            self._replaced = replaced(r)
            self._began_at = r.count("records")
        while True:
            with store.reading() as r:
                rows = list(islice(r.scan("records", u64(self._seq + 1)), _CHUNK))
                found = self._rows(r, rows)
                total = r.count("records")
            yield from found
            tell("records", self._seq, total)
            if len(rows) < _CHUNK:
                return

    def finish(self, r: ReadTransaction) -> Iterator[Finding]:
        yield from self._rows(r, r.scan("records", u64(self._seq + 1)))
        try:
            require_head(r, self._seq, self._prev)
        except JournalDamaged as error:
            yield Finding(f"{capitalised(str(error))}.", "meta", HEAD_KEY)
        yield from not_standing(r, self._standing)

    def anew(self, r: ReadTransaction) -> _Log:
        for table in (*TABLES, "meta"):
            self._again.clear(table)
        log = _Log(self._again, self._folds)
        log._replaced = replaced(r)
        rows = r.scan("records")
        while few := list(islice(rows, _CHUNK)):
            log._rows(r, few)
        return log

    def _rows(self, r: ReadTransaction, rows: Iterable[tuple[bytes, bytes]]) -> list[Finding]:
        found: list[Finding] = []
        sound: list[tuple[Record, Event | None]] = []
        for key, stored in rows:
            before = len(found)
            event = self._row(r, key, stored, found)
            if event is not None:
                sound.append(event)
            elif len(found) > before and not self.stopped:
                self._fold(r, sound, found)
                sound = []
                self.stopped = f"record {self._seq} is damaged or missing"
        self._fold(r, sound, found)
        return found

    def _row(
        self, r: ReadTransaction, key: bytes, stored: bytes, found: list[Finding]
    ) -> tuple[Record, Event | None] | None:
        seq = int.from_bytes(key, "big")
        gap = seq != self._seq + 1

        def tell(sentence: str) -> None:
            found.append(Finding(sentence, "records", key, seq))

        if gap:
            first = self._seq + 1
            missing = f"Record {first} is" if seq == first + 1 else f"Records {first} to {seq - 1} are"
            tell(f"{missing} missing from the log.")
        stands_for = lost_bytes.hash_of_replaced(r, seq) or self._replaced.get(seq) or record_hash(stored)
        expected, self._prev, self._seq = self._prev, stands_for, seq
        try:
            record = decode_record(stored)
        except msgspec.MsgspecError as error:
            tell(f"Record {seq} is not a record ({error}).")
            return None
        if record.seq != seq:
            tell(f"The record at {seq} says that it is record {record.seq}.")
            return None
        if link(record.prev) != link(expected) and not gap:
            tell(f"Record {seq} does not hold the hash of the record before it: one of the two was changed.")
        if not 0 < record.batch <= seq:
            tell(f"Record {seq} belongs to batch {record.batch}, which cannot have begun yet.")
        try:
            event = record.event()
        except JournalDamaged as error:
            tell(f"The body of record {seq} is not a {record.kind!r} ({error.__cause__}).")
            return None
        self.overtaken |= seq > self._began_at and bool(lost_bytes.hashes_before(event))
        self._standing.update((of, (there, seq)) for of, there in lost_bytes.links_since(event))
        if isinstance(event, CaptureFailed | FileWritten) and _never_kept(event):
            self.uncaptured.add(event.blob)
        return None if gap else (record, event)

    def _fold(self, r: ReadTransaction, records: list[tuple[Record, Event | None]], found: list[Finding]) -> None:
        if self.stopped or not records or not self._folds:
            return
        try:
            replay.fold_all(
                ViewsElsewhere(r, self._again, {*TABLES, "meta"}),
                records,
                lambda r, blob: blobs.get(r, blob, self._cache),
            )
        except (JournalDamaged, OutOfOrder, msgspec.MsgspecError, KeyError, ValueError, IndexError) as error:
            first, last = records[0][0].seq, records[-1][0].seq
            self.stopped = f"folding one of the records {first} to {last} failed ({error})"
        self._again.known.clear()  # this single transaction folds the whole log, so its cache is cleared


def _blobs(store: Store, unpacked: Callable[[int], bool] | None, tell: Progress) -> Iterator[Finding]:
    with store.reading() as r:
        total = r.count("blobs")
        newest = last_number(r, "blobs")
        key_of, found = _addresses(r)
        found += _pieces(r)
        found += _packs(r)
    yield from found
    cache = BlobCache(_CACHE_BYTES)
    at = 0
    while True:
        with store.reading() as r:
            rows = list(islice(r.scan("blobs", u64(at + 1)), _CHUNK))
            found = []
            for key, value in rows:
                at = int.from_bytes(key, "big")
                if at <= newest:  # later blobs belong to the next check
                    found += _blob(r, key, value, key_of.get(at), unpacked is not None and unpacked(at), cache)
        yield from found
        tell("blobs", min(at, total), total)
        if len(rows) < _CHUNK:
            return


def _addresses(r: ReadTransaction) -> tuple[dict[int, bytes], list[Finding]]:
    key_of: dict[int, bytes] = {}
    found: list[Finding] = []
    for key, row in r.scan("addresses"):
        name = f"The address {key.hex()}"
        try:
            number = blob_index.number_in(key, row)
        except ValueError as error:
            found.append(Finding(f"{name} cannot be read: {error}.", "addresses", key))
            continue
        if number in key_of:
            found.append(Finding(f"{name} leads to blob {number}, as another one does.", "addresses", key))
        elif r.get("blobs", u64(number)) is None:
            found.append(Finding(f"{name} leads to blob {number}, which is missing.", "addresses", key))
        else:
            key_of[number] = key
    return key_of, found


def _pieces(r: ReadTransaction) -> Iterator[Finding]:
    owner = -1
    for key, _ in r.scan("pieces"):
        number = int.from_bytes(key[:8], "big")
        if number == owner:
            continue
        owner, row = number, r.get("blobs", key[:8])
        try:
            stored = None if row is None else blob_row.read(number, row)
            known = stored is not None and stored.rest and not stored.pack
        except ValueError:
            continue  # reported with the blob
        if not known:
            yield Finding(f"A piece of the frame of blob {number} stands there, which it does not have.", "pieces", key)


def _packs(r: ReadTransaction) -> Iterator[Finding]:
    for key, name in r.scan("packs"):
        try:
            sound = packs.is_head(r.packed(key, 0, packs.HEAD_BYTES), key)
        except JournalDamaged as error:
            yield Finding(f"A pack is lost: {error}.", "packs", key)
            continue
        if not sound:
            yield Finding(f"The file pack.{name.hex()} is not the pack {key.hex()}.", "packs", key)


def _blob(
    r: ReadTransaction, key: bytes, value: bytes, address: bytes | None, read_data: bool, cache: BlobCache
) -> Iterator[Finding]:
    number = int.from_bytes(key, "big")
    if address is None:
        yield Finding(f"Blob {number} has no address: nothing leads to it.", "blobs", key)
    try:
        stored = blob_row.read(number, value)
    except ValueError as error:
        yield Finding(f"Blob {number} is not a blob ({error}).", "blobs", key)
        return
    if not (0 < stored.base < number if stored.kind in codec.MADE_OF_BASE else stored.base == 0):
        yield Finding(f"Blob {number} names blob {stored.base} as its base, which cannot be.", "blobs", key)
        return
    if stored.base and r.get("blobs", u64(stored.base)) is None:
        yield Finding(f"Blob {number} is made from blob {stored.base}, which is missing.", "blobs", key)
        return
    if stored.pack and r.get("packs", stored.pack) is None:
        yield Finding(f"Blob {number} is in the pack {stored.pack.hex()}, which is missing.", "blobs", key)
        return
    if not read_data:
        return
    try:
        data = blobs.unpack(r, number, cache)
    except JournalDamaged as error:
        yield Finding(f"The bytes of blob {number} are lost: {error}.", "blobs", key)
        return
    if address and not blob_id(data).startswith(address):
        told = f"The bytes of blob {number} do not have the sha256 that begins with {address.hex()}: lost."
        yield Finding(told, "blobs", key)


def _never_kept(event: CaptureFailed | FileWritten) -> bool:
    return bool(event.blob and (event.why if isinstance(event, CaptureFailed) else event.uncaptured))


def _versions_held(r: ReadTransaction, again: ReadTransaction, uncaptured: set[bytes]) -> Iterator[Finding]:
    for key, value in r.scan("versions"):
        try:
            version = version_in_row(r, key, value)
        except JournalDamaged as error:
            yield Finding(f"The version {key.hex()} cannot be told: {error}.", "versions", key)
            continue
        blob = version.blob
        if not blob or version.uncaptured or blob in uncaptured or lost_bytes.gone(again, blob) is not None:
            continue
        try:
            held = blobs.holds(r, blob)
        except JournalDamaged:
            return  # reported with the addresses
        if not held:
            sentence = f"Record {version.seq} made a version with the bytes {blob.hex()}, which are not held."
            yield Finding(sentence, "versions", key, version.seq)


def _differences(table: str, r: ReadTransaction, again: ReadTransaction) -> Iterator[Finding]:
    count = 0
    for key, held, made in differing(r.scan(table), again.scan(table)):
        count += 1
        if count > _FEW:
            continue
        if made is None:
            yield Finding(f"{table} has the key {key.hex()}, which the log does not make.", table, key)
        elif held is None:
            yield Finding(f"{table} lacks the key {key.hex()}, which the log makes.", table, key)
        else:
            yield Finding(f"{table} holds something else at {key.hex()} than the log makes.", table, key)
    if count > _FEW:
        more = counted(count - _FEW, "more key")
        yield Finding(f"{more} of {table} {'differs' if count - _FEW == 1 else 'differ'} from the log.", table)
