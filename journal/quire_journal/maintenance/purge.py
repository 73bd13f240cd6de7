"""Purge: find everything that holds a secret in a journal, and compute the replacement rows. Nothing is written here.

A purge removes the bytes of a path, of a blob, or of all matches of a regular expression:
* whole blobs, and their keys in the remote store; blobs based on them are stored as keyframes;
* texts in records: kept replies, reasons of refusals, labels and notes. The record is stored again with `[purged]` in
  their place. The `purged` record confirms its old and new hash.

The sha256 of a purged blob stays. A short secret can be guessed from it, so the plan warns of small files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from quire_journal.maintenance.multi_search import AnyOf
from quire_journal.model import (
    BurstEnded,
    BytesDisplaced,
    BytesGone,
    CaptureFailed,
    Event,
    JournalDamaged,
    LeaseReleased,
    Purged,
    Record,
    ReplyKept,
    WritesAbandoned,
    blob_id,
    decode_record,
    encode_record,
    link,
    paths_of,
    read_record,
    record_hash,
)
from quire_journal.storage import MemoryStore, ReadTransaction, RowChange, Store, blobs, last_number, u64
from quire_journal.storage.blobs import BlobCache, BlobRow, NotHeld, codec, index as blob_index
from quire_journal.views import (
    ShadowViews,
    View,
    abandoned_writes,
    lost_bytes,
    path_of,
    record_before,
    told_by,
    version_in_row,
    with_needed,
)
from quire_journal.views.indexes import term_index

MASK: Final = "[purged]"

MOST_LINES: Final = 5000
"""Maximum number of purged lines that are searched in other places."""

SHORTEST: Final = 6
"""Minimum length in bytes of a purged line that is searched in other places."""

SHORT_FILE: Final = 64
"""Size in bytes below which a file can be guessed from its sha256."""

_CACHE_BYTES: Final = 32 << 20


class Expression(Protocol):
    """Used part of `re.Pattern[bytes]`; an implementation may bound its time."""

    def search(self, data: bytes, /) -> re.Match[bytes] | None: ...

    def finditer(self, data: bytes, /) -> Iterable[re.Match[bytes]]: ...

    def sub(self, to: Callable[[re.Match[bytes]], bytes], data: bytes, /) -> bytes: ...


class PurgeTarget(msgspec.Struct, frozen=True):
    """Target of a purge; exactly one field is set."""

    path: str = ""
    blob: bytes = b""
    matching: Expression | None = None

    @property
    def how(self) -> str:
        return "path" if self.path else "blob" if self.blob else "matching"


class Texts(msgspec.Struct, frozen=True):
    """Texts to mask: matches of the expression, and lines of purged bytes."""

    asked: Expression | None = None
    lines: AnyOf | None = None

    def __bool__(self) -> bool:
        return self.asked is not None or self.lines is not None

    def stand_in(self, data: bytes) -> bool:
        if self.asked is not None and self.asked.search(data) is not None:
            return True
        return self.lines is not None and self.lines.stands_in(data)

    def replaced(self, data: bytes, by: Callable[[bytes], bytes]) -> bytes:
        """Return `data` with every text replaced by what `by` returns for it, first the matches of the expression."""
        if self.asked is not None:
            data = self.asked.sub(lambda match: by(match[0]), data)
        return data if self.lines is None else self.lines.replaced(data, by)


class Found(msgspec.Struct):
    """Blobs, versions and records that a purge changes."""

    blobs: dict[bytes, int] = {}  # blob → size in bytes
    versions: dict[bytes, list[tuple[str, int]]] = {}  # blob → path and seq of its versions
    texts: Texts = Texts()  # texts to mask in records and logs
    records: list[int] = []  # seqs of records with such texts

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(sorted({path for named in self.versions.values() for path, _ in named}))

    @property
    def short(self) -> tuple[str, ...]:
        """Paths of files small enough to be guessed from their hash."""
        few = (named for blob, named in self.versions.items() if self.blobs.get(blob, 0) < SHORT_FILE)
        return tuple(sorted({path for named in few for path, _ in named}))


class PurgeTransaction(msgspec.Struct):
    rows: list[RowChange] = []
    dropped: list[bytes] = []
    events: list[Purged | BytesGone] = []


class PurgeSurvey:
    """Search of a journal for a purge, repeated as the journal grows. The first `look` reads everything, later calls
    only new records. `change` folds views in a separate store, made by `beside`.
    """

    def __init__(self, wanted: PurgeTarget, note: str = "", beside: Callable[[], Store] = MemoryStore) -> None:
        self._wanted, self._note, self._beside = wanted, note, beside
        self.found = Found()
        self._looked = False
        self._head = 0  # the newest record read
        self._newest = 0  # the newest blob read
        self._named: set[bytes] = set()  # blobs that records name for the path
        self._lines: dict[bytes, None] = {}  # lines of purged bytes
        self._again: ShadowViews | None = None
        self._store: Store | None = None  # the store of `_again`, closed with it

    def look(self, r: ReadTransaction) -> Found:
        """Search records and blobs that are new since the last call, and return all findings. Raises `JournalDamaged`,
        as damaged bytes could hold the secret.
        """
        fresh = self._look_at_blobs(r) or not self._looked
        if fresh or any(getattr(record.event(), "blob", None) in self.found.blobs for _, record, _ in self._news(r)):
            self._begin_again(r)
        self._looked = True
        wanted, found = self._wanted, self.found
        for seq, record, stored in self._news(r):
            self._head = seq
            if _tells(record, stored, found, wanted):
                found.records.append(seq)
        return found

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
        self._again = self._store = None

    # ── finding ──

    def _news(self, r: ReadTransaction) -> Iterator[tuple[int, Record, bytes]]:
        return _records(r, self._head)

    def _begin_again(self, r: ReadTransaction) -> None:
        found = self.found
        found.versions = {}
        for key, value in r.scan("versions"):
            version = version_in_row(r, key, value)
            if version.blob in found.blobs:
                path = path_of(r, int.from_bytes(key[:4], "big")) or ""
                found.versions.setdefault(version.blob, []).append((path, version.seq))
        found.texts = Texts(self._wanted.matching, _one_of(self._lines))
        found.records = []
        self._head = 0
        self.close()

    def _look_at_blobs(self, r: ReadTransaction) -> bool:
        before = self.found.blobs
        self.found.blobs = {blob: size for blob, size in before.items() if blobs.holds(r, blob)}
        for blob, data in self._chosen(r):
            self.found.blobs[blob] = len(data)
            for line in _secret_lines(data, self._wanted):
                if len(self._lines) < MOST_LINES:
                    self._lines[line] = None
        return self.found.blobs != before

    def _chosen(self, r: ReadTransaction) -> Iterator[tuple[bytes, bytes]]:
        if (matching := self._wanted.matching) is not None:
            near = BlobCache(_CACHE_BYTES)
            for number in sorted(number for number in blob_index.numbers(r) if number > self._newest):
                self._newest = number
                data = blobs.unpack(r, number, near)
                address = blob_id(data)
                if blob_index.find(r, address) != number:  # not every frame has a checksum
                    raise JournalDamaged(f"blob {number} does not have the bytes that it had; run `quire verify`")
                if matching.search(data):
                    yield address, data
            return
        if self._wanted.blob:
            self._named = {self._wanted.blob}
        else:
            self._named.update(_blobs_of(self._news(r), self._wanted.path))
        for blob in self._named - self.found.blobs.keys():
            try:
                yield blob, blobs.get(r, blob)
            except NotHeld:
                continue

    # ── changes ──

    def change(self, r: ReadTransaction) -> PurgeTransaction:
        """Return the changes that erase everything found with the same `r`."""
        found, done = self.found, PurgeTransaction()
        done.dropped = list(found.blobs)
        done.rows = _keyframes(r, {blobs.number_of(r, blob) for blob in found.blobs})
        replaced: list[tuple[int, bytes]] = []
        standing: list[bytes] = []
        instead: dict[bytes, bytes] = {}
        masked: set[type[Event]] = set()
        for seq in found.records:
            stored = r.get("records", u64(seq))
            assert stored is not None
            record = decode_record(stored)
            if (event := record.event()) is not None:
                masked.add(type(event))
            instead[u64(seq)] = encode_record(_masked(record, found))
            replaced.append((seq, lost_bytes.hash_of_replaced(r, seq) or record_hash(stored)))
            standing.append(link(record_hash(instead[u64(seq)])))
        told = self._wanted.how, found.paths, len(found.blobs), tuple(replaced), self._note, tuple(standing)
        done.events.append(Purged(*told))
        taken_back = _taken_back(r, found.blobs)
        for at in range(0, len(done.dropped), 1000):
            some = tuple(done.dropped[at : at + 1000])
            paths = {path for blob in some for path, _ in found.versions.get(blob, ())}
            paths.update(path for blob in some for path in taken_back.get(blob, ()))
            done.events.append(BytesGone(some, lost_bytes.PURGED, tuple(sorted(paths))))
        shipped = found.blobs.keys() | self._named
        done.rows += [("content_keys", blob, None) for blob in sorted(shipped) if r.get("content_keys", blob)]
        done.rows += [("records", key, row) for key, row in instead.items()]
        done.rows += self._rows_of_views(r, instead, told_by(masked))
        return done

    def _rows_of_views(
        self, r: ReadTransaction, instead: Mapping[bytes, bytes], views: Sequence[View]
    ) -> Iterator[RowChange]:
        if not views:
            return
        folded = with_needed(views)
        if self._again is None or self._again.views != folded:
            self.close()
            self._store = self._beside()
            self._again = ShadowViews(folded, self._store)
        self._again.go_on(r, instead)
        yield from self._again.changes(r, views)


def stand(r: ReadTransaction) -> tuple[int, int]:
    """Return the numbers of the newest record and blob: findings are complete while neither changes."""
    return last_number(r, "records"), last_number(r, "blobs")


def mask(data: bytes, texts: Texts) -> bytes:
    """Return `data` with purged texts replaced by stars of equal length, for a log file to which a process appends."""
    return texts.replaced(data, lambda text: b"*" * len(text))


# ── finding ──────────────────────────────────────────────────────────────────


def _blobs_of(records: Iterable[tuple[int, Record, bytes]], path: str) -> Iterator[bytes]:
    for _, record, _ in records:
        event = record.event()
        blob = getattr(event, "blob", b"")
        if blob and path in paths_of(event):
            yield blob


def _taken_back(r: ReadTransaction, going: Collection[bytes]) -> dict[bytes, set[str]]:
    found: dict[bytes, set[str]] = {}
    head, _ = stand(r)
    for _, seqs in term_index.find(r, [[term_index.of_kind(WritesAbandoned.kind)]], 0, head, reverse=False):
        for record in (record_before(r, seq, head + 1) for seq in seqs):
            event = None if record is None else record.event()
            if record is not None and isinstance(event, WritesAbandoned):
                for _, write in abandoned_writes(r, record, event):
                    blob = getattr(write, "blob", b"")
                    if blob in going:
                        found.setdefault(blob, set()).add(getattr(write, "to", write.path))
    return found


def _records(r: ReadTransaction, after: int) -> Iterator[tuple[int, Record, bytes]]:
    for key, stored in r.scan("records", u64(after + 1)):
        seq = int.from_bytes(key, "big")
        yield seq, read_record(seq, stored), stored


def _secret_lines(data: bytes, wanted: PurgeTarget) -> Iterator[bytes]:
    parts = [data] if wanted.matching is None else [match[0] for match in wanted.matching.finditer(data)]
    for part in parts:
        for line in part.splitlines():
            if len(line.strip()) >= SHORTEST:
                yield line.strip()


def _one_of(texts: Iterable[bytes]) -> AnyOf | None:
    listed = list(texts)
    # Logs write JSON, with quotes and backslashes escaped.
    escaped = (msgspec.json.encode(line.decode("utf-8", "replace"))[1:-1] for line in listed)
    return AnyOf([*listed, *escaped]) if listed else None


def _tells(record: Record, stored: bytes, found: Found, wanted: PurgeTarget) -> bool:
    if found.texts.stand_in(stored):
        return _masked(record, found).body != record.body
    if wanted.matching is None and record.kind == ReplyKept.kind:
        return any(path.encode("utf-8", "surrogateescape") in stored for path in found.paths)
    return False


# ── masking ──────────────────────────────────────────────────────────────────


def _masked(record: Record, found: Found) -> Record:
    event = record.event()
    if isinstance(event, ReplyKept):
        reply = msgspec.msgpack.encode({"ok": True, "message": "What was answered has been purged.", "purged": True})
        key = _without(event.key, found, frozenset())
        body = msgspec.msgpack.encode(msgspec.structs.replace(event, key=key, reply=reply))
    else:
        kept = _named(event)
        fields = msgspec.msgpack.decode(bytes(record.body))
        body = msgspec.msgpack.encode([_without(field, found, kept) for field in fields])
    return msgspec.structs.replace(record, body=msgspec.Raw(body))


_NAMES: Final = ("path", "to", "name")
"""Fields with the subject of an event, never masked."""

_WORDS: Final = ("by", "how", "evidence", "uncaptured", "code", "tool", "dialect", "strength", "bind", "kept")
"""Fields with codes of Quire itself, never masked although they may equal a purged line."""

_WHY_IN_A_WORD: Final = (WritesAbandoned, BytesDisplaced, CaptureFailed, BytesGone, BurstEnded, LeaseReleased)
"""Events whose `why` is a code, never masked."""


def _named(event: object) -> frozenset[str]:
    fields = (*_NAMES, *_WORDS, *(("why",) if isinstance(event, _WHY_IN_A_WORD) else ()))
    named = (value for name in fields if isinstance(value := getattr(event, name, None), str))
    return frozenset((*named, *getattr(event, "paths", ())))


def _without(value: Any, found: Found, kept: frozenset[str]) -> Any:
    if isinstance(value, str) and value not in kept:
        data = value.encode("utf-8", "surrogateescape")
        masked = found.texts.replaced(data, lambda text: MASK.encode())
        return value if masked == data else masked.decode("utf-8", "replace")
    if isinstance(value, list):
        return [_without(one, found, kept) for one in value]
    return value


# ── replacement rows ──────────────────────────────────────────────────


def _keyframes(r: ReadTransaction, going: Collection[int]) -> list[RowChange]:
    rows: list[RowChange] = []
    if not going:
        return rows
    for key, value in r.scan("blobs"):
        number = int.from_bytes(key, "big")
        stored = blobs.read_row(number, value)
        if stored.base in going and number not in going:
            frame = codec.compress(blobs.unpack(r, number))
            row, parts = blobs.rows_of(number, BlobRow(0, 0, frame.size, frame.kind, frame.body))
            rows.append(("blobs", key, row))
            rows += [("pieces", *part) for part in parts]
    return rows
