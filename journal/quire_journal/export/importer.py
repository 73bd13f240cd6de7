"""Importer: rebuild a journal from a JSONL export, with byte-identical records in the same chain, and their blobs, in a
store without records.

An export may be hostile: each line is accepted whole, or refused by its number. Every hash is checked; only a record
replaced by a purge or salvage may differ from its successor's link. Paths must be inside a workspace and not git's or
Quire's own; the bytes of every version must be included, or declared missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec

from quire_journal.export.jsonl_schema import (
    FORMAT,
    BlobLine,
    EndLine,
    EventLine,
    Header,
    JsonLine,
    MissingLine,
    decode_line,
    stored_record,
)
from quire_journal.history import DeltaBases
from quire_journal.integrity import not_held
from quire_journal.model import (
    FOLDER,
    GENESIS,
    HEAD_KEY,
    LINK,
    OUTSIDE,
    REGULAR,
    BatchId,
    CaptureFailed,
    Event,
    FileMoved,
    FileWritten,
    JournalDamaged,
    ModeChanged,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    Purged,
    Record,
    Seq,
    blob_id,
    decode_record,
    encode_record,
    head_row,
    is_reserved,
    leads_inside,
    link,
    paths_of,
    record_hash,
    seal,
)
from quire_journal.storage import ReadTransaction, Store, StoreFailure, WriteTransaction, blobs, u64
from quire_journal.storage.blobs import BlobCache, NotHeld
from quire_journal.views import lost_bytes, replay, version_in_row

_CHUNK_LINES: Final = 500
_CHUNK_BYTES: Final = 8 << 20
_CACHE_BYTES: Final = 24 << 20

_MOST_MODE: Final = 0o7777
_MOST_SIZE: Final = (1 << 63) - 1
_ADDRESS: Final = 32

_MOST_WRITERS: Final = 1 << 32
_MOST_NS: Final = (1 << 63) - 1

_PLACED: Final = (FileWritten, FileMoved, ModeChanged, OutsideWritten, OutsideMoved, OutsideModeChanged)


class NotAnExport(ValueError):
    """The lines are no importable export; the message names the line."""


class ImportResult(NamedTuple):
    events: int
    blobs: int
    missing: int  # number of blobs that the exporting journal lacked


def import_lines(
    lines: Iterable[bytes], store: Store, progress: Callable[[int, int], None] = lambda done, total: None
) -> ImportResult:
    """Import all lines into the store of an open journal without records. `progress` gets events done and total. Raises
    `StoreFailure`, and `NotAnExport`, after which the caller deletes the store.
    """
    with store.reading() as r:
        if r.count("records"):
            raise NotAnExport("the journal holds records already; an export is imported into an empty one")
    reading = _Import(store)
    for number, raw in enumerate(lines, 1):
        with _of_line(number):
            line = decode_line(raw)
            reading.take(number, line)
        reading.commit_if_due()
        if number % _CHUNK_LINES == 0:
            progress(reading.events, reading.upto)
    reading.finish()
    return ImportResult(reading.events, reading.blobs, reading.missing)


@contextmanager
def _of_line(number: int) -> Iterator[None]:
    try:
        yield
    except StoreFailure:
        raise
    except (msgspec.MsgspecError, NotHeld, ValueError) as wrong:
        raise NotAnExport(f"line {number}: {wrong}") from wrong
    except Exception as wrong:  # views do not validate hand-made records
        raise NotAnExport(f"line {number}: it cannot be taken ({type(wrong).__name__}: {wrong})") from wrong


def _require_order(record: Record) -> None:
    if not 0 < record.batch <= record.seq:
        raise ValueError(f"record {record.seq} belongs to batch {record.batch}, which cannot have begun yet")
    if not 0 <= record.at_ns <= _MOST_NS:
        raise ValueError(f"record {record.seq} is dated before 1970, or after the year 2262, when nanoseconds end")
    if not 0 <= record.writer < _MOST_WRITERS:
        raise ValueError(f"record {record.seq} is of writer {record.writer}, which cannot be")


def _require_sense(seq: int, event: Event) -> None:
    size, mode, blob = (getattr(event, name) for name in ("size", "mode", "blob"))
    entry, base = getattr(event, "entry", REGULAR), getattr(event, "base", 0)
    if not 0 <= mode <= _MOST_MODE:
        raise ValueError(f"record {seq} has the mode {mode:o}, which is more than permission bits")
    if not 0 <= size <= _MOST_SIZE:
        raise ValueError(f"record {seq} has a size of {size} bytes")
    if entry not in (REGULAR, LINK, FOLDER):
        raise ValueError(f"record {seq} has an entry of the unknown kind {entry}")
    if len(blob) not in (0, _ADDRESS) or (entry == FOLDER and blob):
        raise ValueError(f"record {seq} names its bytes by {len(blob)} bytes, which is no sha256 of a file")
    if not 0 <= base < seq:
        raise ValueError(f"record {seq} is made from record {base}, which does not come before it")


class _Waiting(NamedTuple):
    number: int
    blob: BlobLine | None = None
    stored: bytes = b""
    record: Record | None = None
    event: Event | None = None


class _Import:
    def __init__(self, store: Store) -> None:
        self.events = self.blobs = self.missing = self.upto = 0
        self._store = store
        self._header: Header | None = None
        self._ended = False
        self._prev = GENESIS
        self._waiting: list[_Waiting] = []
        self._missing: set[bytes] = set()  # blobs that the export declares missing
        self._withheld: list[tuple[int, bytes]] = []  # (seq, hash) of records exported without their private texts
        self._held = 0  # bytes waiting for the commit
        self._cache = BlobCache(_CACHE_BYTES)
        self._bases = DeltaBases()
        self._breaks: dict[int, tuple[bytes, int]] = {}
        """Record → (link in its successor, line of the successor), where that link is not the record's."""
        self._standing: dict[int, tuple[bytes, int, int]] = {}
        """Replaced record → (its link, the record that replaced it, line of that record)."""

    def take(self, number: int, line: JsonLine) -> None:
        if self._ended:
            raise ValueError("there is more after the end")
        if isinstance(line, Header):
            self._begin(line)
        elif self._header is None:
            raise ValueError("an export begins with its header")
        elif isinstance(line, BlobLine):
            if line.size != len(line.data) + line.head + line.tail:
                raise ValueError(f"the blob {line.sha256} has another size than its {line.size} bytes")
            self._waiting.append(_Waiting(number, line))
            self._held += len(line.data)
            self.blobs += 1
        elif isinstance(line, EventLine):
            self._take_event(number, line)
        elif isinstance(line, EndLine):
            if (line.events, line.hash) != (self.events, self._prev.hex()):
                raise ValueError(f"the export had {line.events} events; {self.events} came in")
            self._ended = True
        elif isinstance(line, MissingLine):
            self.missing += 1
            self._missing.add(bytes.fromhex(line.sha256))

    def commit_if_due(self) -> None:
        if self._held > _CHUNK_BYTES or len(self._waiting) >= _CHUNK_LINES:
            self._commit()

    def finish(self) -> None:
        """Commit the remaining lines and check the whole. Raises `NotAnExport`."""
        if not self._ended:
            raise NotAnExport("the export has no end: it was cut off; make it again")
        self._commit()
        if self._withheld:
            self._tell_of_withheld()
        with self._store.reading() as r:
            for seq, (known, number) in self._breaks.items():
                if link(lost_bytes.hash_of_replaced(r, seq) or b"") != known:
                    said = (
                        f"record {seq + 1} does not hold the hash of record {seq}: one was changed, or replaced by a "
                        "purge or a salvage that comes after the end of this export: export the whole log then"
                    )
                    raise NotAnExport(f"line {number}: {said}")
            for seq, (known, by, number) in self._standing.items():
                if known and link(record_hash(r.get("records", u64(seq)) or b"")) != known:
                    said = f"record {by} put another record {seq} there than the one that came"
                    raise NotAnExport(f"line {number}: {said}")
            lacking = [blob for blob in not_held(r)[0] if blob not in self._missing]
            if lacking:
                named = (version_in_row(r, key, value) for key, value in r.scan("versions"))
                seq = next(version.seq for version in named if version.blob == lacking[0])
                raise NotAnExport(f"the bytes {lacking[0].hex()}, which record {seq} tells of, are on no line")

    def _tell_of_withheld(self) -> None:
        last = self._last
        seq = Seq(last.seq + 1)
        event = Purged("withheld", (), 0, tuple(self._withheld), "prompts and command lines were not exported")
        record = seal(seq, last.at_ns, OUTSIDE, BatchId(seq), event, self._prev)
        self._put_all([_Waiting(0, None, encode_record(record), record, event)])

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise ValueError("there is a second header")
        if header.format > FORMAT:
            raise ValueError(f"the export has format {header.format}, and this version reads up to {FORMAT}")
        if header.after:
            raise ValueError(f"the export begins after record {header.after}; only one of the whole log is imported")
        self._header, self.upto = header, header.upto

    def _take_event(self, number: int, line: EventLine) -> None:
        if line.seq != self.events + 1:
            raise ValueError(f"record {line.seq} stands where record {self.events + 1} is expected")
        stored = stored_record(line)
        record = decode_record(stored)
        if record.seq != line.seq:
            raise ValueError(f"the record at {line.seq} says that it is record {record.seq}")
        if link(record.prev) != link(self._prev):
            self._breaks[line.seq - 1] = link(record.prev), number
        _require_order(record)
        try:
            event = record.event()
        except JournalDamaged as wrong:
            raise ValueError(f"the body of record {line.seq} is not a {record.kind!r} ({wrong.__cause__})") from wrong
        if isinstance(event, _PLACED):
            for path in paths_of(event):
                if not leads_inside(path):
                    raise ValueError(f"record {line.seq} tells of {path!r}, which is no path inside a workspace")
                if is_reserved(path):
                    raise ValueError(f"record {line.seq} tells of {path!r}, which is git's or Quire's own")
        if isinstance(event, (*_PLACED, CaptureFailed)):
            _require_sense(line.seq, event)
        self._standing.update((of, (there, line.seq, number)) for of, there in lost_bytes.links_since(event))
        self._waiting.append(_Waiting(number, None, stored, record, event))
        self._prev = record_hash(stored)
        if line.withheld:
            self._withheld.append((line.seq, bytes.fromhex(line.hash)))
            self._prev = bytes.fromhex(line.hash)
        self._last = record
        self._held += len(stored)
        self.events += 1

    def _commit(self) -> None:
        waiting, self._waiting, self._held = self._waiting, [], 0
        try:
            self._put_all(waiting)
        except StoreFailure:
            raise
        except Exception:  # noqa: BLE001  nothing was stored: storing one by one shows the line at fault
            self._cache = BlobCache(_CACHE_BYTES)
            for one in waiting:
                with _of_line(one.number):
                    self._put_all([one])

    def _put_all(self, waiting: Sequence[_Waiting]) -> None:
        with self._store.writing() as w:
            for one in waiting:
                if one.blob is not None:
                    self._put(w, one.blob)
            records: list[tuple[Record, Event | None]] = []
            for one in waiting:
                if one.record is not None:
                    w.append("records", u64(one.record.seq), one.stored)
                    w.put("meta", HEAD_KEY, head_row(one.record.seq, record_hash(one.stored)))
                    records.append((one.record, one.event))
            replay.fold_all(w, records, self._bytes_of)

    def _put(self, w: WriteTransaction, line: BlobLine) -> None:
        data = line.data
        if line.base:
            try:
                base = blobs.get(w, bytes.fromhex(line.base), self._cache)
            except NotHeld as error:
                raise ValueError(
                    f"the blob {line.sha256} is made of {line.base}, which is on no earlier line"
                ) from error
            if min(line.head, line.tail) < 0 or line.head + line.tail > len(base):
                raise ValueError(f"the blob {line.sha256} takes more of {line.base} than its {len(base)} bytes")
            data = base[: line.head] + data + base[len(base) - line.tail :]
        address = blob_id(data)
        if address.hex() != line.sha256:
            raise ValueError(f"the bytes of the blob {line.sha256} have another sha256")
        self._bases.put(w, data, line.path or None, self._cache, address)

    def _bytes_of(self, r: ReadTransaction, blob: bytes) -> bytes:
        return blobs.get(r, blob, self._cache)
