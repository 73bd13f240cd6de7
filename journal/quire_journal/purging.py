"""Purge: what of a journal holds a secret, and what stands in its place afterwards. Nothing is written here.

Asked for are the bytes of one path, of one blob, or whatever matches a regular expression. What goes:

* the blobs, whole; blobs that were made from one of them are stored as keyframes;
* texts in records: answers that were kept for a repeated call, reasons of refusals, labels and notes. Such a record is
  stored again with `[purged]` in their place. Its number, time and writer stay, and its old hash, which the next record
  holds, goes into the `purged` record, which vouches for it.

Records name blobs by sha256, and that stays: it says that a version existed. Of a short secret that was all of a file
it can be guessed from that; the plan warns of files of few bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import msgspec

from quire_journal import addresses, blobs, frames
from quire_journal.any_of import any_of
from quire_journal.beside import rows_anew
from quire_journal.blobs import BlobCache, NotHeld
from quire_journal.events import BytesGone, Purged, ReplyKept, WriterIntroduced
from quire_journal.ids import blob_id
from quire_journal.log import Damaged, Reading, u64
from quire_journal.records import Record, decode_record, encode_record, record_hash
from quire_journal.views import VIEWS, View, losses
from quire_journal.views.files import version_at
from quire_journal.views.paths import path_of

MASK: Final = "[purged]"

MOST_LINES: Final = 5000
"""Lines of what is purged that are looked for elsewhere."""

SHORTEST: Final = 6
"""Bytes of a line that is looked for elsewhere: shorter ones are everywhere."""

SHORT_FILE: Final = 64
"""Bytes of a file that can be guessed from its sha256, if it is a password and nothing else."""

_CACHE_BYTES: Final = 32 << 20

_decode_stored: Final = msgspec.msgpack.Decoder(frames.Stored).decode


class Expression(Protocol):
    """What `re.Pattern[bytes]` can do, as far as it is needed: whoever asks may bound the time that it takes."""

    def search(self, data: bytes, /) -> re.Match[bytes] | None: ...

    def finditer(self, data: bytes, /) -> Iterable[re.Match[bytes]]: ...

    def sub(self, to: bytes | Callable[[re.Match[bytes]], bytes], data: bytes, /) -> bytes: ...


class Wanted(msgspec.Struct, frozen=True):
    """What is to go: one of these."""

    path: str = ""
    blob: bytes = b""
    matching: Expression | None = None

    @property
    def how(self) -> str:
        return "path" if self.path else "blob" if self.blob else "matching"


class Texts(msgspec.Struct, frozen=True):
    """What is masked: what matches the expression that was asked for, and lines of what goes."""

    asked: Expression | None = None
    lines: Expression | None = None  # one that takes time as data is long (`any_of`)

    def __bool__(self) -> bool:
        return self.asked is not None or self.lines is not None

    def stand_in(self, data: bytes) -> bool:
        """Is one of them in there?"""
        return any(one is not None and one.search(data) is not None for one in (self.asked, self.lines))

    def replaced(self, data: bytes, by: bytes | Callable[[re.Match[bytes]], bytes]) -> bytes:
        """`data` with something else for each. The whole of what matched first: a line of it may not match alone."""
        for one in (self.asked, self.lines):
            data = one.sub(by, data) if one is not None else data
        return data


class Found(msgspec.Struct):
    """Where it is."""

    blobs: dict[bytes, int] = {}  # → bytes that it has
    versions: dict[bytes, list[tuple[str, int]]] = {}  # → path and seq of those with these bytes
    texts: Texts = Texts()  # what is masked in records and logs
    records: list[int] = []  # that hold such texts

    @property
    def paths(self) -> tuple[str, ...]:
        """Those of which versions lose their bytes."""
        return tuple(sorted({path for named in self.versions.values() for path, _ in named}))

    @property
    def short(self) -> tuple[str, ...]:
        """Those whose bytes are so few that a hash may give them away."""
        few = (named for blob, named in self.versions.items() if self.blobs.get(blob, 0) < SHORT_FILE)
        return tuple(sorted({path for named in few for path, _ in named}))


class Change(msgspec.Struct):
    """What a transaction has to do: rows that stand in place of others, blobs that go, and the records that say so."""

    rows: list[tuple[str, bytes, bytes]] = []
    dropped: list[bytes] = []
    events: list[Purged | BytesGone] = []
    views: tuple[str, ...] = ()  # to be folded again: those of which `rows` cannot tell what changes


def find(r: Reading, wanted: Wanted) -> Found:
    """Look through blobs and records. Raises `log.Damaged` where a blob cannot be unpacked: it might hold anything."""
    found = Found({}, {}, Texts(), [])
    texts: dict[bytes, None] = {}
    for blob, data in _chosen(r, wanted):
        found.blobs[blob] = len(data)
        for line in _secret_lines(data, wanted):
            if len(texts) < MOST_LINES:
                texts[line] = None
    for key, value in r.scan("versions"):
        version = version_at(r, key, value)
        if version.blob in found.blobs:
            path = path_of(r, int.from_bytes(key[:4], "big")) or ""
            found.versions.setdefault(version.blob, []).append((path, version.seq))
    found.texts = Texts(wanted.matching, _one_of(texts))
    found.records = [seq for seq, record, stored in _records(r) if _tells(record, stored, found, wanted)]
    return found


def change(r: Reading, wanted: Wanted, found: Found, note: str = "") -> Change:
    """What has to be written so that nothing of `found` is left."""
    done = Change([], [], [], ())
    numbers = {blobs.number_of(r, blob) for blob in found.blobs if blobs.holds(r, blob)}
    done.dropped = [blob for blob in found.blobs if blobs.holds(r, blob)]
    for key, value in r.scan("blobs"):
        number = int.from_bytes(key, "big")
        stored = _decode_stored(value)
        if stored.base in numbers and number not in numbers:
            frame = frames.compress(blobs.unpack(r, number))
            row, parts = blobs.rows_of(number, frames.Stored(0, 0, frame.size, frame.kind, frame.body))
            done.rows.append(("blobs", key, row))
            done.rows += [("pieces", *part) for part in parts]
    replaced: list[tuple[int, bytes]] = []
    named = False  # does anybody have another name now? Views tell by names who is who, some by hashes of them
    for seq in found.records:
        stored_record = r.get("records", u64(seq))
        assert stored_record is not None
        record = decode_record(stored_record)
        named = named or record.kind == WriterIntroduced.kind
        done.rows.append(("records", u64(seq), encode_record(_masked(record, found))))
        replaced.append((seq, losses.hash_of_replaced(r, seq) or record_hash(stored_record)))
    done.events.append(Purged(wanted.how, found.paths, len(found.blobs), tuple(replaced), note))
    gone = list(found.blobs)
    for at in range(0, len(gone), 1000):
        some = tuple(gone[at : at + 1000])
        paths = sorted({path for blob in some for path, _ in found.versions.get(blob, ())})
        done.events.append(BytesGone(some, losses.PURGED, tuple(paths)))
    if replaced:
        instead = {key: row for table, key, row in done.rows if table == "records"}
        views = VIEWS if named else [view for view in VIEWS if _tells_of_texts(r, view, found.texts)]
        rows = None if named else rows_anew(r, views, instead)
        done.rows += rows or []
        done.views = tuple(view.name for view in views) if rows is None else ()
    return done


def mask(data: bytes, texts: Texts) -> bytes:
    """`data`, as long as before, with stars for what is purged: for a log that somebody appends to."""
    return texts.replaced(data, lambda match: b"*" * len(match[0]))


# ── finding ──────────────────────────────────────────────────────────────────


def _chosen(r: Reading, wanted: Wanted) -> Iterator[tuple[bytes, bytes]]:
    """(blob, its bytes) of what is to go and is held."""
    if wanted.matching is not None:
        near = BlobCache(_CACHE_BYTES)
        for number in sorted(int.from_bytes(value, "big") for _, value in r.scan("addresses")):
            data = blobs.unpack(r, number, near)
            if wanted.matching.search(data):
                address = blob_id(data)
                if addresses.find(r, address) != number:
                    raise Damaged(f"blob {number} does not have the bytes that it had; run `quire verify`")
                yield address, data
        return
    named = {wanted.blob} if wanted.blob else set(_blobs_of(r, wanted.path))
    for blob in named:
        try:
            yield blob, blobs.get(r, blob)
        except NotHeld:
            continue


def _blobs_of(r: Reading, path: str) -> Iterator[bytes]:
    """Every blob that a record names for `path`, also of writes that were taken back."""
    for _, record, _ in _records(r):
        event = record.event()
        blob = getattr(event, "blob", b"")
        if blob and path in (getattr(event, "path", None), getattr(event, "to", None)):
            yield blob


def _records(r: Reading) -> Iterator[tuple[int, Record, bytes]]:
    for key, stored in r.scan("records"):
        seq = int.from_bytes(key, "big")
        try:
            yield seq, decode_record(stored), stored
        except msgspec.MsgspecError as error:
            raise Damaged(f"record {seq} cannot be decoded ({error}); run `quire verify`") from error


def _secret_lines(data: bytes, wanted: Wanted) -> Iterator[bytes]:
    """Lines that are looked for elsewhere: of the whole, or of what matched."""
    parts = [data] if wanted.matching is None else [match[0] for match in wanted.matching.finditer(data)]
    for part in parts:
        for line in part.splitlines():
            if len(line.strip()) >= SHORTEST:
                yield line.strip()


def _one_of(texts: Iterable[bytes]) -> Expression | None:
    """What finds any of the lines."""
    listed = list(texts)
    # A log writes its texts as JSON, where quotes and backslashes are escaped.
    escaped = (msgspec.json.encode(line.decode("utf-8", "replace"))[1:-1] for line in listed)
    return re.compile(any_of([*listed, *escaped])) if listed else None


def _tells(record: Record, stored: bytes, found: Found, wanted: Wanted) -> bool:
    """Does the record hold a text that is to go? Kept replies about a path that is purged go as a whole."""
    if found.texts.stand_in(stored):
        return _masked(record, found).body != record.body
    if wanted.matching is None and record.kind == ReplyKept.kind:
        return any(path.encode("utf-8", "surrogateescape") in stored for path in found.paths)
    return False


# ── masking ──────────────────────────────────────────────────────────────────


def _masked(record: Record, found: Found) -> Record:
    """The record without the texts. A kept reply says only that there was a reply."""
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


def _named(event: object) -> frozenset[str]:
    """Names in an event that stay, for a fold finds by them what it is about."""
    return frozenset(value for name in ("path", "to", "name") if isinstance(value := getattr(event, name, None), str))


def _without(value: Any, found: Found, kept: frozenset[str]) -> Any:
    if isinstance(value, str) and value not in kept:
        data = value.encode("utf-8", "surrogateescape")
        masked = found.texts.replaced(data, MASK.encode())
        return value if masked == data else masked.decode("utf-8", "replace")
    if isinstance(value, list):
        return [_without(one, found, kept) for one in value]
    return value


def _tells_of_texts(r: Reading, view: View, texts: Texts) -> bool:
    """Do such texts stand in its tables? In that of kept replies one may, which goes as a whole."""
    return "replies" in view.tables or any(texts.stand_in(row) for table in view.tables for _, row in r.scan(table))
