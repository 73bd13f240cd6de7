"""Salvage: build a new journal from the provable parts of a damaged one, and record the losses.

A record is accepted if its successor holds its hash: the chain is followed backwards, so a flipped bit costs one
record. The remains of a lost record may give the hash of its predecessor. A `record_lost` takes the place of each lost
record, because callers remember seqs as versions. Original hashes go into the `replaced` table, confirmed by a final
`journal_salvaged`.

Bytes of the pages, the packs and the write-ahead log are kept if an accepted record names their sha256; missing bytes
are listed in a `bytes_gone`. Purged bytes and replaced records are not kept, even if free pages or the log hold them.
Views are folded again. The next scan captures the present files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Final, NamedTuple, Protocol

import msgspec

from quire_journal import READS
from quire_journal.journal import Journal, NewRecord, OtherFormat, other_format
from quire_journal.model import (
    GENESIS,
    HEAD_KEY,
    LINKS,
    OUTSIDE,
    BatchId,
    BytesGone,
    Event,
    JournalDamaged,
    JournalSalvaged,
    Record,
    RecordLost,
    Seq,
    WriterId,
    WriterIntroduced,
    blob_id,
    counted,
    decode_record,
    encode_record,
    head_row,
    link,
    ranges_of,
    record_hash,
    seal,
)
from quire_journal.storage import LoggedBytes, ReadTransaction, Store, WriteTransaction, blobs, log_entry, u64
from quire_journal.storage.blobs import BlobCache, BlobRow, Frame, codec, index as blob_index, overflow, row as blob_row
from quire_journal.views import lost_bytes, replay, version_in_row

Progress = Callable[[str, int, int], None]

CHUNK: Final = 1000

_CACHE_BYTES: Final = 32 * 1024 * 1024
_RECORDS_OF_A_PAGE: Final = 128  # upper bound: a row is 18 bytes and a record, with a time and half a hash
_FURTHEST: Final = 1 << 40  # upper bound of plausible record numbers

CONTENT_KEY_BYTES: Final = 32
"""Length of a key with which a blob is encrypted in the remote store; no other value under a sha256 is as long."""

Parts = Mapping[bytes, list[bytes]]

Rows = tuple[bytes, list[tuple[bytes, bytes]]]
"""Row of a blob, and its rows in `pieces`."""


class FoundRow(NamedTuple):
    """Row found: the place of its value, and whether it belongs to the newest tree (`live`)."""

    live: bool
    key: bytes
    at: int
    size: int


class Remains(Protocol):
    """Rows of a damaged database, none of which can be trusted."""

    @property
    def count(self) -> int:
        """Number of pages to read."""

    @property
    def certain(self) -> bool:
        """True if the tree of `live` rows is known to be the newest."""

    @property
    def ends(self) -> Iterable[bytes]:
        """Rows with seq and hash of a last record (`head_row`), found outside the pages."""

    @property
    def given_out(self) -> int:
        """Greatest seq proved outside the pages; 0 for none."""

    def rows(self) -> Iterable[tuple[int, Iterable[FoundRow]]]:
        """Yield (page number, its rows)."""

    @property
    def contents(self) -> Iterable[LoggedBytes]:
        """Bytes of versions found outside the pages, in the order of their commits."""

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        """Return bytes of the pack with this id. Raises `JournalDamaged` if they cannot be read."""

    def packed_rows(self) -> Iterable[bytes]:
        """Yield the rows of all packs, of which any byte may be damaged."""

    def value(self, row: FoundRow) -> bytes: ...


def sentence(event: JournalSalvaged) -> str:
    gone = sum(last - first + 1 for first, last in event.lost if last)
    after = [first - 1 for first, last in event.lost if not last]
    kept = counted(event.records, "record")
    if not event.records:
        return "Everything was lost: not one record could be read."
    if not event.lost and not event.blobs:
        return f"Nothing was lost: all of its {kept} could be read."
    told = []
    if gone:
        few = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in event.lost[:5] if b)
        more = f" and {counted(len(event.lost) - 5, 'more stretch', 'more stretches')}" if len(event.lost) > 5 else ""
        told.append(f"{counted(gone, 'record')} ({few}{more})")
    if after:
        told.append(f"whatever came after record {after[0]}, if anything did")
    if event.blobs:
        told.append(f"the bytes of {counted(event.versions, 'version')}")
    return f"Lost: {' and '.join(told)}; {kept} could be kept."


def salvage(
    remains: Remains,
    store: Store,
    workspace_id: str,
    now_ns: int,
    why: str,
    set_aside: str,
    by: str = "",
    progress: Progress | None = None,
) -> JournalSalvaged:
    """Build a journal in the empty `store` from `remains`, and return its event with the losses, which has `why`,
    `set_aside` and `by`. Raises `OtherFormat` or `StoreFailure`.
    """
    tell = progress or (lambda what, done, total: None)
    found = _Found.read(remains, tell)
    if found.format not in (0, *READS):
        raise OtherFormat(other_format(found.format))
    kept = _Chain(remains, found).kept()
    Journal.open(store, now_ns, workspace_id)
    wanted = _Wanted.told(remains, kept, found.purged)
    _store_blobs(remains, found, wanted, store, tell)
    _store_packed(remains, wanted, store)
    _store_logged(remains.contents, wanted, store)
    replaced = _store_records(remains, kept, store, tell)
    journal = Journal.open(store, now_ns)
    with store.writing() as w:
        w.put_all("content_keys", sorted((b, key) for b, key in found.content_keys.items() if b not in found.purged))
    with store.reading() as r:
        purged = sorted(
            b for b in found.purged if (known := lost_bytes.gone(r, b)) is None or known.why != lost_bytes.PURGED
        )
        gone, versions = not_held(r, found.purged)
    lost = tuple((first, end - 1) for first, end in ranges_of(seq for seq, row in enumerate(kept, 1) if row is None))
    if not found.head:
        lost = (*lost, (len(kept) + 1, 0))
    records = sum(row is not None for row in kept)
    hashes = tuple((seq, was) for seq, was, _ in replaced)
    standing = tuple(there for _, _, there in replaced)
    event = JournalSalvaged(why, set_aside, records, lost, len(gone), hashes, by, versions, standing)
    note(journal, now_ns, [event, *bytes_gone(gone, lost_bytes.LOST), *bytes_gone(purged, lost_bytes.PURGED)])
    journal.publish()
    return event


def note(journal: Journal, now_ns: int, events: Iterable[Event], writer: int = OUTSIDE) -> None:
    """Append the events as one batch; nothing else may append in between."""
    batch = BatchId(journal.head + 1)
    journal.append([NewRecord(event, WriterId(writer), now_ns, batch) for event in events])


def bytes_gone(gone: Iterable[bytes], why: str) -> Iterator[BytesGone]:
    """Yield `BytesGone` events of bounded size for these blobs."""
    listed = list(gone)
    for at in range(0, len(listed), CHUNK):
        yield BytesGone(tuple(listed[at : at + CHUNK]), why)


def not_held(r: ReadTransaction, purged: Collection[bytes] = ()) -> tuple[list[bytes], int]:
    """Return the missing blobs of versions, in order, and how many versions name them. Excludes blobs never captured,
    recorded as gone, or `purged`.
    """
    never: set[bytes] = set()
    missing: dict[bytes, int] = {}
    for key, value in r.scan("versions"):
        version = version_in_row(r, key, value)
        if version.uncaptured:
            never.add(version.blob)
        elif version.blob and not blobs.holds(r, version.blob) and lost_bytes.gone(r, version.blob) is None:
            missing[version.blob] = missing.get(version.blob, 0) + 1
    gone = [blob for blob in missing if blob not in never and blob not in purged]
    return gone, sum(missing[blob] for blob in gone)


# ── found rows ────────────────────────────────────────────────────────────


class _Found:
    """Rows that may be records or blobs, by number, live rows first."""

    def __init__(self) -> None:
        self.records: dict[int, list[FoundRow]] = {}
        self.blobs: dict[int, list[FoundRow]] = {}
        self.pieces: dict[int, dict[bytes, list[FoundRow]]] = {}  # blob → key of a piece → its rows
        self.replaced: dict[int, set[bytes]] = {}  # seq → links
        self.heads: dict[int, set[bytes]] = {}  # head rows: seq → links of the last record
        self.purged: set[bytes] = set()  # purged blobs, according to the view
        self.content_keys: dict[bytes, bytes] = {}  # blob → key that decrypts its bytes in the remote store
        self.head = 0  # the newest seq in a live head row; 0: unknown
        self.given_out = 0  # new records get greater seqs, as callers remember these as versions
        self.format = 0

    @classmethod
    def read(cls, remains: Remains, tell: Progress) -> _Found:
        found = cls()
        found.given_out = remains.given_out
        for page, rows in remains.rows():
            for row in rows:
                found._take(remains, row)
            if page % CHUNK == 0:
                tell("pages", page, remains.count)
        for end in remains.ends:  # an older page may be in place of the newest page
            found._take_end(end, live=True)
        if found.head > max(found.records, default=0) + remains.count * _RECORDS_OF_A_PAGE:
            found.head = 0  # damaged: so many lost records would not fit the file
        if not remains.certain:
            found.head = 0  # the tree may be older than the last commits
        several = [*found.records.values(), *found.blobs.values()]
        several += [rows for parts in found.pieces.values() for rows in parts.values()]
        for rows in several:
            rows.sort(key=lambda row: not row.live)
        return found

    def _take(self, remains: Remains, row: FoundRow) -> None:
        if len(row.key) == 8:
            value, number = remains.value(row), int.from_bytes(row.key, "big")
            if not 0 < number < _FURTHEST:
                return
            if len(value) in LINKS and row.live:
                self.replaced.setdefault(number, set()).add(link(value))
            record = record_at(number, value)
            if record is not None:
                self.records.setdefault(number, []).append(row)
                for seq, was in lost_bytes.hashes_before(record.event()) if row.live else ():
                    self.replaced.setdefault(seq, set()).add(link(was))
            elif blob_row.may_be(value):
                self.blobs.setdefault(number, []).append(row)
        elif len(row.key) == overflow.KEY_BYTES:
            number = int.from_bytes(row.key[:8], "big")
            if 0 < number < _FURTHEST:
                self.pieces.setdefault(number, {}).setdefault(row.key, []).append(row)
        elif len(row.key) == lost_bytes.GONE_KEY_BYTES:
            # A tree that may not be the newest lacks valid rows.
            if (row.live or not remains.certain) and lost_bytes.tells_of_purge(remains.value(row)):
                self.purged.add(row.key)
            elif row.live and row.size == CONTENT_KEY_BYTES:
                self.content_keys[row.key] = remains.value(row)
        elif row.key == HEAD_KEY and row.size == 40:
            self._take_end(remains.value(row), row.live)
        elif row.key == b"format" and row.live and (value := remains.value(row)).isdigit() and len(value) < 6:
            self.format = max(self.format, int(value))

    def _take_end(self, value: bytes, live: bool) -> None:
        last = int.from_bytes(value[:8], "big")
        self.heads.setdefault(last, set()).add(link(value[8:]))
        if live:
            self.head = max(self.head, last)


def record_at(seq: int, stored: bytes) -> Record | None:
    """Return the record in `stored`, if it is valid for `seq`, else None."""
    try:
        record = decode_record(stored)
        record.event()
    except (JournalDamaged, msgspec.MsgspecError, ValueError):
        return None
    return record if record.seq == seq and len(record.prev) in LINKS and 0 < record.batch <= seq else None


# ── records ──────────────────────────────────────────────────────────────────


class _Chain:
    def __init__(self, remains: Remains, found: _Found) -> None:
        self._remains = remains
        self._found = found
        self._standing: dict[int, bytes] = {}  # replaced record → its link; b"": unknown
        self._stood: dict[int, set[bytes]] = {}  # replaced record → links of the originals

    def kept(self) -> list[FoundRow | None]:
        last = self._last()
        kept: list[FoundRow | None] = [None] * last
        heads = self._found.heads
        # The second choice is for a head row of which only the number is wrong.
        wanted = heads.get(last) or self._hashes(last) & set().union(*heads.values())
        for seq in range(last, 0, -1):
            row, before = self._choose(seq, wanted)
            kept[seq - 1] = row
            if row is not None:
                self._note_replaced(self._remains.value(row))
            wanted = {before} if before else heads.get(seq - 1, set())
        return kept

    def _last(self) -> int:
        """Return the seq of the last record. Without a known head, rows outside the tree count up to the first gap, as
        they may be of a commit that never finished.
        """
        found = self._found.records
        live = max((seq for seq, rows in found.items() if rows[0].live), default=0)
        if self._found.head:
            return max(self._found.head, live, self._found.given_out)
        last = max(live, self._found.given_out)
        for seq in sorted(seq for seq in found if seq > live):
            if seq > last + 1:
                break
            last = seq
        return last

    def _choose(self, seq: int, wanted: set[bytes]) -> tuple[FoundRow | None, bytes]:
        """Return the row of record `seq` whose link is in `wanted` (empty: unknown), and the link of its predecessor
        (b"": unknown); None without such a row.
        """
        stood = self._found.replaced.get(seq, set()) | self._stood.get(seq, set())
        standing = self._standing.get(seq)
        told = self._found.replaced.get(seq - 1, set()) | self._stood.get(seq - 1, set())
        possible: list[tuple[FoundRow | None, bytes]] = []
        copies: Counter[bytes] = Counter()
        for row in self._found.records.get(seq, ()):
            stored = self._remains.value(row)
            before, of = link(decode_record(stored).prev), link(record_hash(stored))
            # An original that was purged, or a replacement that no record confirms.
            refused = of in stood or (standing and of != standing)
            # Or the result of an earlier purge, on a page freed by a later purge whose record is lost.
            refused = refused or (bool(stood) and not row.live and self._remains.certain)
            # No record confirms the `prev` of a replacement.
            refused = refused or (bool(told) and of not in wanted and not standing and before not in told)
            if (stood & wanted or of in wanted) and not refused:
                return row, before
            copies[of] += 1
            # An unproved row is accepted if found twice: damage would not give equal rows.
            possible.append((row if copies[of] > 1 and not refused and not wanted else None, before))
        earlier = self._hashes(seq - 1)
        linked = [(row, before) for row, before in possible if before in earlier]
        sound = (one for one in (*linked, *possible) if one[0] is not None)
        # A row that does not fit its predecessor also shows that one of the two is damaged.
        return next(chain(sound, linked, possible), (None, b""))

    def _note_replaced(self, stored: bytes) -> None:
        record = decode_record(stored)
        if record.kind not in lost_bytes.REPLACING:
            return
        event = record.event()
        for seq, there in lost_bytes.links_since(event):
            self._standing.setdefault(seq, there)
        for seq, was in lost_bytes.hashes_before(event):
            self._stood.setdefault(seq, set()).add(link(was))

    def _hashes(self, seq: int) -> set[bytes]:
        if seq == 0:
            return {link(GENESIS)}
        hashes = {link(record_hash(self._remains.value(row))) for row in self._found.records.get(seq, ())}
        return hashes | self._found.replaced.get(seq, set()) | self._stood.get(seq, set())


def _store_records(
    remains: Remains, kept: list[FoundRow | None], store: Store, tell: Progress
) -> list[tuple[int, bytes, bytes]]:
    """Append the accepted records, and stand-ins for lost records. Return the hashes to be confirmed: (seq, hash that
    the next record holds, link of the record at seq).
    """
    replaced: list[tuple[int, bytes, bytes]] = []
    introductions, told = _introductions(remains, kept), _told(remains, kept)
    prev, at_ns = GENESIS, 0
    for first in range(0, len(kept), CHUNK):
        with store.writing() as w:
            for seq, row in enumerate(kept[first : first + CHUNK], first + 1):
                if row is None:
                    event = introductions.get(seq) or RecordLost()
                    record = seal(Seq(seq), at_ns, OUTSIDE, BatchId(seq), event, prev)
                    stored = encode_record(record)
                else:
                    stored = remains.value(row)
                    at_ns = decode_record(stored).at_ns
                w.append("records", u64(seq), stored)
                following = kept[seq] if seq < len(kept) else None
                there = record_hash(stored)
                prev = told.get(seq, there) if following is None else decode_record(remains.value(following)).prev
                if link(prev) == link(there):
                    prev = there
                elif row is None or following is not None:  # otherwise the source of `prev` confirms this hash, too
                    replaced.append((seq, prev, link(there)))
        tell("records", min(first + CHUNK, len(kept)), len(kept))
    if kept:
        with store.writing() as w:
            w.put("meta", HEAD_KEY, head_row(len(kept), prev))
    replay.catch_up(store)
    return replaced


def _told(remains: Remains, kept: list[FoundRow | None]) -> dict[int, bytes]:
    told: dict[int, bytes] = {}
    for row in kept:
        for seq, was in lost_bytes.hashes_before(decode_record(remains.value(row)).event()) if row is not None else ():
            told.setdefault(seq, was)
    return told


def _introductions(remains: Remains, kept: list[FoundRow | None]) -> dict[int, WriterIntroduced]:
    """Return seq of a lost record → stand-in introduction that keeps a lost writer's number in use."""
    introduced: set[int] = set()
    lost = (seq for seq, row in enumerate(kept, 1) if row is None)
    found: dict[int, WriterIntroduced] = {}
    for row in kept:
        if row is None:
            continue
        record = decode_record(remains.value(row))
        event = record.event()
        if isinstance(event, WriterIntroduced):
            introduced.add(event.id)
        if record.writer not in introduced and record.writer != OUTSIDE:
            introduced.add(record.writer)
            place = next(lost, record.seq)
            if place < record.seq:
                found[place] = WriterIntroduced(record.writer, agent="lost", agent_session=f"w{record.writer}")
    return found


# ── bytes ────────────────────────────────────────────────────────────────────


class _Wanted(NamedTuple):
    named: set[bytes]  # without purged blobs
    purged: set[bytes]

    @classmethod
    def told(cls, remains: Remains, kept: list[FoundRow | None], purged: Collection[bytes]) -> _Wanted:
        named: set[bytes] = set()
        purged = set(purged)
        for row in kept:
            event = None if row is None else decode_record(remains.value(row)).event()
            if blob := getattr(event, "blob", b""):
                named.add(blob)
            elif isinstance(event, BytesGone) and event.why == lost_bytes.PURGED:
                purged.update(event.blobs)
        return cls(named - purged, purged)


def _store_blobs(remains: Remains, found: _Found, wanted: _Wanted, store: Store, tell: Progress) -> None:
    """Store each blob under its number. Bases have smaller numbers, so they are stored first, or lost."""
    cache = BlobCache(_CACHE_BYTES)
    numbers = sorted(found.blobs)
    for first in range(0, len(numbers), CHUNK):
        with store.writing() as w:
            for number in numbers[first : first + CHUNK]:
                values = [remains.value(row) for row in found.blobs[number]]
                found_parts = found.pieces.get(number, {})
                parts = {key: [remains.value(row) for row in rows] for key, rows in found_parts.items()}
                packed = [rows for value in values for rows in _unpacked(remains, number, value)]
                _store_blob(values, parts, packed, number, wanted, w, cache)
        tell("blobs", min(first + CHUNK, len(numbers)), len(numbers))


def _unpacked(remains: Remains, number: int, value: bytes) -> Iterator[Rows]:
    """Yield the rows of a blob whose frame is in a pack, as they would be with the frame in the database."""
    with suppress(ValueError, JournalDamaged):
        stored = blob_row.read(number, value)
        if stored.pack:
            frame = remains.packed(stored.pack, stored.at, stored.rest)
            yield blobs.rows_of(number, BlobRow(0, 0, stored.size, stored.kind, frame))


def _store_packed(remains: Remains, wanted: _Wanted, store: Store) -> None:
    """Store the wanted bytes of packs to which no row leads any more."""
    with store.writing() as w:
        missing = {blob for blob in wanted.named if not blobs.holds(w, blob)}
        for row in remains.packed_rows() if missing else ():
            with suppress(ValueError, JournalDamaged):
                stored = blob_row.read(1, row)
                blob = blob_id(codec.unframe(1, stored, b""))
                if blob in missing:
                    blobs.put_prepared(w, [Frame(blob, stored.size, stored.kind, stored.frame)])


def _store_logged(contents: Iterable[LoggedBytes], wanted: _Wanted, store: Store) -> None:
    """Store the wanted bytes of the write-ahead log that the pages do not give."""
    cache = BlobCache(_CACHE_BYTES)
    bases: dict[bytes, bytes] = {}  # blob → bytes that are not stored; later bytes may be logged relative to them
    with store.writing() as w:

        def base_of(blob: bytes) -> bytes:
            return bases[blob] if blob in bases else blobs.get(w, blob, cache)

        for one in contents:
            if one.blob in bases or blobs.holds(w, one.blob):
                continue
            try:
                data = log_entry.bytes_of(one, base_of)
            except (JournalDamaged, blobs.NotHeld):
                continue
            if one.blob in wanted.named:
                blobs.put(w, data, cache, before=partial(bytes, one.like))
            else:
                bases[one.blob] = data


def _store_blob(
    values: list[bytes],
    parts: Parts,
    packed: list[Rows],
    number: int,
    wanted: _Wanted,
    w: WriteTransaction,
    cache: BlobCache,
) -> None:
    spare: Rows | None = None
    for value, some in chain(packed, ((value, some) for value in values for some in _choices(parts))):
        try:
            blob_row.read(number, value)
            _put_blob(w, number, value, some)
            address = blob_id(blobs.unpack(w, number, cache))
        except (JournalDamaged, ValueError):
            continue
        if address in wanted.named and not blobs.holds(w, address):
            blob_index.put(w, address, number)
            return
        cache.forget(u64(number))
        if address not in wanted.purged:
            spare = spare or (value, some)
    _put_blob(w, number, *(spare or (b"", [])))
    if spare:
        address = blob_id(blobs.unpack(w, number, cache))
        if blobs.holds(w, address):
            _put_blob(w, number, b"", [])
            cache.forget(u64(number))  # no longer usable as a base
        else:
            blob_index.put(w, address, number)


def _put_blob(w: WriteTransaction, number: int, value: bytes, some: list[tuple[bytes, bytes]]) -> None:
    overflow.forget(w, number)
    if not value:
        w.delete("blobs", u64(number))
        return
    w.put("blobs", u64(number), value)
    if blob_row.read(number, value).rest:
        w.put_all("pieces", some)


def _choices(parts: Parts) -> Iterator[list[tuple[bytes, bytes]]]:
    for at in range(max(map(len, parts.values()), default=1)):
        yield [(key, values[min(at, len(values) - 1)]) for key, values in sorted(parts.items())]
