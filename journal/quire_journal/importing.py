"""A journal made again of a JSONL export: the same records, to the byte and in the same chain, and their blobs.

Only into a store that holds no record. The records are not judged again: they are what happened, elsewhere. Every
hash is checked, of blobs and of records; a record of which a later one says that it was replaced (after a purge) may
differ from what the next one remembers. Paths must lead to something inside a workspace that is not git's or Quire's
own, and modes, sizes and kinds must be ones that a disk can have. The bytes of every version must have come, or be said
to be missing. The views are folded from the records as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from quire_journal import blobs, replay
from quire_journal.blobs import BlobCache, NotHeld
from quire_journal.events import (
    FOLDER,
    LINK,
    REGULAR,
    CaptureFailed,
    Event,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
)
from quire_journal.export.lines import (
    FORMAT,
    BlobLine,
    EndLine,
    EventLine,
    Header,
    Line,
    MissingLine,
    decode_line,
    stored_record,
)
from quire_journal.ids import blob_id, leads_inside
from quire_journal.log import Reading, Store, Writing, u64
from quire_journal.migrating import HEAD_KEY, head_row
from quire_journal.records import GENESIS, Record, decode_record, link, record_hash
from quire_journal.reserved import is_reserved
from quire_journal.salvage import not_held
from quire_journal.views.losses import hash_of_replaced

_CHUNK_LINES: Final = 500
_CHUNK_BYTES: Final = 8 << 20
_CACHE_BYTES: Final = 24 << 20

_MOST_MODE: Final = 0o7777
_MOST_SIZE: Final = (1 << 63) - 1
_ADDRESS: Final = 32
"""Bytes of a sha256."""

_PLACED: Final = (FileWritten, FileMoved, ModeChanged, OutsideWritten, OutsideMoved, OutsideModeChanged)
"""What puts something at a path, from where it may be brought back; a refused edit may name any path."""


class NotAnExport(ValueError):
    """The lines are no export that can be imported. Says the line, and what is wrong with it."""


class Imported(NamedTuple):
    """What came in."""

    events: int
    blobs: int
    missing: int  # blobs that the exporting journal did not have


def import_lines(
    lines: Iterable[bytes], store: Store, progress: Callable[[int, int], None] = lambda done, total: None
) -> Imported:
    """Put everything that the lines hold into `store`, an open journal's without a record.

    Raises `NotAnExport`, and then leaves what came in so far: the caller throws the store away. `progress` is told
    how many events of how many are in. Raises `log.StoreFailed` as every write does.
    """
    with store.reading() as r:
        if r.count("records"):
            raise NotAnExport("the journal holds records already; an export is imported into an empty one")
    reading = _Import(store)
    for number, raw in enumerate(lines, 1):
        try:
            reading.take(decode_line(raw))
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError, OverflowError) as wrong:
            raise NotAnExport(f"line {number}: {wrong}") from wrong
        if number % _CHUNK_LINES == 0:
            progress(reading.events, reading.upto)
    reading.finish()
    return Imported(reading.events, reading.blobs, reading.missing)


def _require_sense(seq: int, event: FileWritten | FileMoved | CaptureFailed | Event) -> None:
    """Raises `ValueError` for a version that no disk can have had."""
    size, mode, blob = (getattr(event, name) for name in ("size", "mode", "blob"))
    entry, base = getattr(event, "entry", REGULAR), getattr(event, "base", 0)
    if not 0 <= mode <= _MOST_MODE:
        raise ValueError(f"record {seq} has the mode {mode:o}, which is more than permission bits")
    if not 0 <= size <= _MOST_SIZE:
        raise ValueError(f"record {seq} has a size of {size} bytes")
    if entry not in (REGULAR, LINK, FOLDER):
        raise ValueError(f"record {seq} has an entry of the kind {entry}, which there is not")
    if len(blob) not in (0, _ADDRESS) or (entry == FOLDER and blob):
        raise ValueError(f"record {seq} names its bytes by {len(blob)} bytes, which is no sha256 of a file")
    if not 0 <= base < seq:
        raise ValueError(f"record {seq} is made from record {base}, which does not come before it")


class _Import:
    """Takes lines, and commits them in pieces."""

    def __init__(self, store: Store) -> None:
        self.events = self.blobs = self.missing = self.upto = 0
        self._store = store
        self._header: Header | None = None
        self._ended = False
        self._prev = GENESIS
        self._bytes: list[BlobLine] = []
        self._records: list[tuple[bytes, Record, Event | None]] = []
        self._missing: set[bytes] = set()  # blobs of which the export says so
        self._held = 0  # bytes that wait
        self._cache = BlobCache(_CACHE_BYTES)
        self._breaks: dict[int, bytes] = {}  # record → the link that the next one has to it, where that differs

    def take(self, line: Line) -> None:
        """The next line. Raises `ValueError`."""
        if self._ended:
            raise ValueError("there is more after the end")
        if isinstance(line, Header):
            self._begin(line)
        elif self._header is None:
            raise ValueError("an export begins with its header")
        elif isinstance(line, BlobLine):
            self._bytes.append(line)
            self._held += len(line.data)
            self.blobs += 1
        elif isinstance(line, EventLine):
            self._take_event(line)
        elif isinstance(line, EndLine):
            if (line.events, line.hash) != (self.events, self._prev.hex()):
                raise ValueError(f"the export had {line.events} events; {self.events} came in")
            self._ended = True
        elif isinstance(line, MissingLine):
            self.missing += 1
            self._missing.add(bytes.fromhex(line.sha256))
        if self._held > _CHUNK_BYTES or len(self._records) >= _CHUNK_LINES:
            self._commit()

    def finish(self) -> None:
        """Everything was taken. Raises `NotAnExport` when something lacks."""
        if not self._ended:
            raise NotAnExport("the export has no end: it was cut off; make it again")
        self._commit()
        with self._store.reading() as r:
            for seq, known in self._breaks.items():
                if link(hash_of_replaced(r, seq) or b"") != known:
                    raise NotAnExport(f"record {seq + 1} does not hold the hash of record {seq}: one was changed")
            for blob in not_held(r)[0]:
                if blob not in self._missing:
                    raise NotAnExport(f"the bytes {blob.hex()}, which a version has, are on no line")

    def _begin(self, header: Header) -> None:
        if self._header is not None:
            raise ValueError("there is a second header")
        if header.format > FORMAT:
            raise ValueError(f"the export has format {header.format}, and this version reads up to {FORMAT}")
        if header.after:
            raise ValueError(f"the export begins after record {header.after}; only one of the whole log is imported")
        self._header, self.upto = header, header.upto

    def _take_event(self, line: EventLine) -> None:
        if line.seq != self.events + 1:
            raise ValueError(f"record {line.seq} stands where record {self.events + 1} is expected")
        stored = stored_record(line)
        record = decode_record(stored)
        if record.seq != line.seq:
            raise ValueError(f"the record at {line.seq} says that it is record {record.seq}")
        if link(record.prev) != link(self._prev):
            self._breaks[line.seq - 1] = link(record.prev)
        event = record.event()
        if isinstance(event, _PLACED):
            for path in (event.path, getattr(event, "to", event.path)):
                if not leads_inside(path):
                    raise ValueError(f"record {line.seq} tells of {path!r}, which is no path inside a workspace")
                if is_reserved(path):
                    raise ValueError(f"record {line.seq} tells of {path!r}, which is git's or Quire's own")
        if isinstance(event, (*_PLACED, CaptureFailed)):
            _require_sense(line.seq, event)
        self._records.append((stored, record, event))
        self._prev = record_hash(stored)
        self._held += len(stored)
        self.events += 1

    def _commit(self) -> None:
        with self._store.writing() as w:
            for line in self._bytes:
                self._put(w, line)
            for stored, record, _ in self._records:
                w.append("records", u64(record.seq), stored)
                w.put("meta", HEAD_KEY, head_row(record.seq, record_hash(stored)))
            replay.fold_all(w, [(record, event) for _, record, event in self._records], self._bytes_of)
        self._bytes, self._records, self._held = [], [], 0

    def _put(self, w: Writing, line: BlobLine) -> None:
        data = line.data
        if line.base:
            try:
                base = blobs.get(w, bytes.fromhex(line.base), self._cache)
            except NotHeld as error:
                raise NotAnExport(
                    f"the blob {line.sha256} is made of {line.base}, which is on no earlier line"
                ) from error
            data = base[: line.head] + data + base[len(base) - line.tail :]
        address = blob_id(data)
        if address.hex() != line.sha256:
            raise NotAnExport(f"the bytes of the blob {line.sha256} have another sha256")
        blobs.put(w, data, line.path or None, self._cache, address)

    def _bytes_of(self, r: Reading, blob: bytes) -> bytes:
        return blobs.get(r, blob, self._cache)
