"""Files view: the versions of each path, and the newest version (head). A version's row (`_Place`) holds only what its
record lacks, a third of the whole. The head, which every call needs, is stored whole, with the number of versions by
writer type. Of a first version, which most files of a large tree stay at, the head is only the number of
its record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from quire_journal.model import (
    PROVED,
    REGULAR,
    BytesDisplaced,
    CaptureFailed,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    JournalDamaged,
    ModeChanged,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    Record,
    WriteAttributed,
    WritesAbandoned,
    parse_tag,
    paths_of,
    read_record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32, u64
from quire_journal.views.paths import path_id

TABLES = ("files", "versions")

OUTSIDE_TYPE: Final = "outside"

NEVER_HEAD: Final = -1
"""`index` of displaced bytes, which were never the state of the path."""

ToolWrite = FileWritten | FileDeleted | FileMoved | ModeChanged
"""Writes by tools, logged before they are on disk, and then recorded as settled or abandoned."""

TOOL_WRITES: Final = (FileWritten, FileDeleted, FileMoved, ModeChanged)

OUTSIDE_WRITES: Final = (OutsideWritten, OutsideDeleted, OutsideMoved, OutsideModeChanged, CaptureFailed)

_OUTSIDE_TAGS: Final = frozenset(parse_tag(event.kind)[0] for event in OUTSIDE_WRITES)

KINDS: Final = (*TOOL_WRITES, *OUTSIDE_WRITES, BytesDisplaced, WritesAbandoned, WriteAttributed)


class Version(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """State of one path after one record. `blob` is b"" for a gone path, and if the hash of uncaptured bytes is
    unknown.
    """

    seq: int
    at_ns: int
    writer: int  # for an outside version: the attributed writer, else `OUTSIDE`
    batch: int
    type: str  # writer type: "edit", "write_file", "outside", "undo"
    blob: bytes
    size: int
    mode: int
    base: int = 0  # seq of the version from which this version was made; 0: none
    entry: int = 0  # events.REGULAR, LINK, FOLDER
    gone: bool = False  # the path does not exist after this record
    evidence: str = ""  # for an outside version: proof of its writer, else how it was found; for displaced bytes: why
    uncaptured: str = ""  # why the bytes are not in the journal (`quire_journal.model.uncaptured`)
    moved_from: str = ""
    moved_to: str = ""
    index: int = 0  # number of this version within its path, from 0; NEVER_HEAD for displaced bytes
    kind: str = ""  # of the record

    @property
    def unproved(self) -> bool:
        """True for an outside version whose writer is not proved."""
        return self.type == OUTSIDE_TYPE and self.evidence not in PROVED

    @property
    def displaced(self) -> bool:
        """True for bytes that were never the state of the path, kept to find lost bytes."""
        return self.index == NEVER_HEAD


def standing(version: Version | None) -> Version | None:
    """Return the version if its path exists in it, else None."""
    return None if version is None or version.gone else version


class Head(Version, frozen=True, array_like=True, gc=False):
    made_by: dict[str, int] = {}  # writer type → versions of the path


class _Seq(msgspec.Struct, frozen=True, array_like=True, gc=False):
    seq: int


class _Place(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Fields of a version that its record lacks. Trailing defaults are not stored."""

    index: int
    entry: int = REGULAR  # entry type of the version before, for an event without one
    base: int = 0  # head at that time, for an event without a base
    mode: int = 0  # mode of the head, for displaced bytes
    left: bool = False  # True: the path that a move left
    anew: bool = False  # True: a deleted file was restored here, because its old path has had another file since
    writer: int = 0  # attributed writer of an outside version
    evidence: str = ""  # the evidence of the attribution
    told: int = 0  # seq of the newest attribution


_MAKING: Final = (
    FileWritten,
    FileDeleted,
    ModeChanged,
    OutsideWritten,
    OutsideDeleted,
    OutsideModeChanged,
    CaptureFailed,
)

_LIKE_BEFORE: Final = (FileDeleted, ModeChanged, OutsideDeleted, OutsideModeChanged)
"""Events without an entry type, which leave that of the path."""

_FIRST: Final = _Place(0)

_ONLY_SEQ: Final = b"\x91"
"""First byte of a row of one field (msgpack)."""

_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
_HEAD: Final = msgspec.msgpack.Decoder(Head)
_VERSION: Final = msgspec.msgpack.Decoder(Version)
_SEQ: Final = msgspec.msgpack.Decoder(_Seq)
_PLACE: Final = msgspec.msgpack.Decoder(_Place)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add the versions that the event made, remove the versions that it abandons, or set the writer of those that it
    attributes.
    """
    if isinstance(event, _MAKING):
        _add(w, event.path, record, event)
    elif isinstance(event, FileMoved | OutsideMoved):
        if event.to != event.path:
            anew = isinstance(event, FileMoved) and _went_before(w, event)
            if anew:
                _lead_from(w, record, event.path)
            else:
                _add(w, event.path, record, event, left=True)
            _add(w, event.to, record, event, anew=anew)
    elif isinstance(event, BytesDisplaced):
        _keep_displaced(w, record, event)
    elif isinstance(event, WritesAbandoned):
        for seq, write in abandoned_writes(w, record, event):
            _take_back(w, write.path, seq)
            if isinstance(write, FileMoved):
                _take_back(w, write.to, seq)
    elif isinstance(event, WriteAttributed):
        for seq, found in attributed_writes(w, record, event):
            for path in paths_of(found):
                _attribute(w, path, seq, record.seq, event)


def head(r: ReadTransaction, path: int) -> Version | None:
    """Return the newest version of the path, cached for the transaction, or None."""
    known: Version | None = r.known.get(("head", path))
    if known is None:
        known = head_once(r, path)
        if known is not None:
            r.known["head", path] = known
    return known


def head_once(r: ReadTransaction, path: int) -> Version | None:
    """Return `head` without the cache, for walks over all paths."""
    found = r.get("files", u32(path))
    if found is None:
        return None
    return _first_made(r, found) if found[:1] == _ONLY_SEQ else _VERSION.decode(found)


def changed_after(r: ReadTransaction, seq: int) -> Iterator[int]:
    """Yield the paths whose head is after record `seq`, decoding only the start of each row."""
    for key, row in r.scan("files"):
        if _SEQ.decode(row).seq > seq:
            yield int.from_bytes(key, "big")


def made_by(r: ReadTransaction, path: int) -> dict[str, int]:
    """Return writer type → number of versions of the path."""
    found = r.get("files", u32(path))
    return {} if found is None else _head_in(r, found).made_by


def version(r: ReadTransaction, path: int, seq: int) -> Version | None:
    """Return the version of the path that record `seq` made, or None. Raises `JournalDamaged`."""
    if (path, seq) in r.known:
        return older(r, path, seq)
    newest = head(r, path)
    return newest if newest is not None and newest.seq == seq else older(r, path, seq)


def older(r: ReadTransaction, path: int, seq: int) -> Version | None:
    """Return `version(r, path, seq)`, faster than `version` for a version that is not the head."""
    known: Version | None = r.known.get((path, seq))
    if known is not None:
        return known
    key = u32(path) + u64(seq)
    found = r.get("versions", key)
    return None if found is None else version_in_row(r, key, found)


def version_by(r: ReadTransaction, path: int, record: Record, event: Event | None) -> Version | None:
    """Return `version(r, path, record.seq)` with the record and event that the caller has, without reading them."""
    key = u32(path) + u64(record.seq)
    found = r.get("versions", key)
    return None if found is None else _made(record, event, _place_in(key, found))


def versions(
    r: ReadTransaction,
    path: int,
    after: int = 0,
    upto: int | None = None,
    reverse: bool = False,
    displaced: bool = False,
) -> Iterator[Version]:
    """Yield versions of the path with after < seq <= upto, oldest first or `reverse`; with `displaced` also bytes that
    were never its state. Raises `JournalDamaged`.
    """
    start = u32(path) + u64(max(after, 0) + 1)
    stop = u32(path + 1) if upto is None else u32(path) + u64(max(upto, 0) + 1)
    for key, row in r.scan("versions", start, stop, reverse):
        place = _place_in(key, row)
        if displaced or place.index != NEVER_HEAD:
            yield _version_of(r, key, place)


def attributed_by(r: ReadTransaction, path: int, seq: int) -> int:
    """Return the newest record that attributed the version made by record `seq`; 0 for none."""
    key = u32(path) + u64(seq)
    row = r.get("versions", key)
    return 0 if row is None else _place_in(key, row).told


def begins_outside(r: ReadTransaction, path: int) -> bool:
    """True if no tool made the first version of the path. Raises `JournalDamaged`."""
    for key, row in r.scan("versions", u32(path), u32(path + 1)):
        if _place_in(key, row).index != NEVER_HEAD:
            seq = int.from_bytes(key[4:], "big")
            record = record_before(r, seq, seq + 1)
            return record is not None and parse_tag(record.kind)[0] in _OUTSIDE_TAGS
    return False


def version_in_row(r: ReadTransaction, key: bytes, row: bytes) -> Version:
    """Return the version of this row. Raises `JournalDamaged` if the row or its record cannot be read."""
    return _version_of(r, key, _place_in(key, row))


def _place_in(key: bytes, row: bytes) -> _Place:
    try:
        return _PLACE.decode(row)
    except msgspec.MsgspecError as wrong:
        raise JournalDamaged(f"the version {key.hex()} cannot be decoded ({wrong}); run `quire verify`") from wrong


def _version_of(r: ReadTransaction, key: bytes, place: _Place) -> Version:
    seq = int.from_bytes(key[4:], "big")
    record = record_before(r, seq, seq + 1)
    made = None if record is None else _made(record, record.event(), place)
    if made is None:
        raise JournalDamaged(f"record {seq} does not tell of the version {key.hex()}; run `quire verify`")
    return made


def record_before(r: ReadTransaction, seq: int, before: int) -> Record | None:
    """Return record `seq` if it is before `before`, else None: a fold reads only the past, so that a replay agrees.
    Raises `JournalDamaged`.
    """
    stored = r.get("records", u64(seq)) if 0 < seq < before else None
    return None if stored is None else read_record(seq, stored)


def abandoned_writes(r: ReadTransaction, record: Record, event: WritesAbandoned) -> list[tuple[int, ToolWrite]]:
    """Return (seq, event) of the tool writes that `event` abandons, newest first."""
    known: list[tuple[int, ToolWrite]] | None = r.known.get(("abandoned", record.seq))
    if known is not None:  # three folds call this
        return known
    found: list[tuple[int, ToolWrite]] = []
    for seq in sorted({*event.seqs}, reverse=True):
        was = record_before(r, seq, record.seq)
        write = None if was is None else was.event()
        if isinstance(write, TOOL_WRITES):
            found.append((seq, write))
    r.known["abandoned", record.seq] = found
    return found


def attributed_writes(r: ReadTransaction, record: Record, event: WriteAttributed) -> list[tuple[int, Event]]:
    """Return (seq, event) of the outside writes that `event` attributes."""
    found: list[tuple[int, Event]] = []
    for seq in event.seqs:
        was = record_before(r, seq, record.seq)
        write = None if was is None else was.event()
        if isinstance(write, OUTSIDE_WRITES):
            found.append((seq, write))
    return found


def _made(record: Record, event: Event | None, place: _Place) -> Version | None:
    type, blob, size, mode, base, entry = OUTSIDE_TYPE, b"", 0, 0, place.base, place.entry
    gone, evidence, uncaptured, moved_from, moved_to = False, "", "", "", ""
    match event:
        case FileWritten():
            type, blob, size, mode = event.by, event.blob, event.size, event.mode
            base, entry, uncaptured = event.base, event.entry, event.uncaptured
        case OutsideWritten():
            blob, size, mode, base = event.blob, event.size, event.mode, event.base
            entry, evidence = event.entry, event.evidence
        case FileDeleted():
            type, base, gone = event.by, event.base, True
        case OutsideDeleted():
            base, gone, evidence = event.base, True, event.evidence
        case ModeChanged():
            type, blob, size, mode, base = event.by, event.blob, event.size, event.mode, event.base
        case OutsideModeChanged():
            blob, size, mode, base, evidence = event.blob, event.size, event.mode, event.base, event.evidence
        case FileMoved() | OutsideMoved():
            type = event.by if isinstance(event, FileMoved) else OUTSIDE_TYPE
            base, evidence = event.base, getattr(event, "evidence", "")
            if place.left:
                gone, moved_to = True, event.to
            else:
                blob, size, mode, entry = event.blob, event.size, event.mode, event.entry
                moved_from = "" if place.anew else event.path
        case CaptureFailed():
            blob, size, mode, uncaptured = event.blob, event.size, event.mode, event.why
            evidence = event.evidence
        case BytesDisplaced():
            blob, size, mode, evidence = event.blob, event.size, place.mode, event.why
            uncaptured = event.uncaptured
        case _:
            return None
    writer, evidence = place.writer or record.writer, place.evidence or evidence
    return Version(
        *(record.seq, record.at_ns, writer, record.batch, type, blob, size, mode, base, entry, gone),
        *(evidence, uncaptured, moved_from, moved_to, place.index, record.kind),
    )


def _add(w: WriteTransaction, path: str, record: Record, event: Event, left: bool = False, anew: bool = False) -> None:
    number = path_id(w, path)
    if number is None:
        raise KeyError(f"the paths view does not know {path!r}: it is folded first")
    found = w.get("files", u32(number))
    before = None if found is None else _head_in(w, found)
    entry = REGULAR
    if before is not None and not before.gone and (left or isinstance(event, _LIKE_BEFORE)):
        entry = before.entry
    base = before.seq if before is not None and isinstance(event, CaptureFailed) else 0
    place = _Place(0 if before is None else before.index + 1, entry, base, left=left, anew=anew)
    made = _made(record, event, place)
    assert made is not None, "the fold passes on only what makes a version"
    # The folds of the next views read both versions.
    w.known[number, record.seq] = made
    if before is not None:
        w.known[number, before.seq] = before
    if place == _FIRST:
        w.known["head", number] = made
        w.put("files", u32(number), _first_row(record))
    else:
        count = {} if before is None else before.made_by
        _put_head(w, number, made, {**count, made.type: count.get(made.type, 0) + 1})
    w.put("versions", u32(number) + u64(record.seq), _row(place))


def first_rows(record: Record) -> tuple[bytes, bytes]:
    """Return the rows in `files` and `versions` of the first version of a path."""
    return _first_row(record), _row(_FIRST)


def _first_row(record: Record) -> bytes:
    return _ENCODER.encode((record.seq,))


def _head_in(r: ReadTransaction, row: bytes) -> Head:
    if row[:1] != _ONLY_SEQ:
        return _HEAD.decode(row)
    made = _first_made(r, row)
    return _HEAD.decode(_head_row(made, {made.type: 1}))


def _first_made(r: ReadTransaction, row: bytes) -> Version:
    seq = _SEQ.decode(row).seq
    record = record_before(r, seq, seq + 1)
    made = None if record is None else _made(record, record.event(), _FIRST)
    if made is None:
        raise JournalDamaged(f"record {seq} does not tell of the first version of its path; run `quire verify`")
    return made


def _put_head(w: WriteTransaction, number: int, made: Version, made_by: dict[str, int]) -> None:
    w.known["head", number] = made
    w.put("files", u32(number), _head_row(made, made_by))


def _head_row(made: Version, made_by: dict[str, int]) -> bytes:
    return _ENCODER.encode((*msgspec.structs.astuple(made), made_by))


def _row(place: _Place) -> bytes:
    if place.evidence:
        return _ENCODER.encode(place)
    if place.anew:
        return _ENCODER.encode(msgspec.structs.astuple(place)[:-3])
    if place.left:
        return _ENCODER.encode(msgspec.structs.astuple(place)[:-4])
    if place.mode or place.base:
        return _ENCODER.encode((place.index, place.entry, place.base, place.mode))
    return _ENCODER.encode((place.index, place.entry) if place.entry else (place.index,))


def _went_before(w: WriteTransaction, event: FileMoved) -> bool:
    number = path_id(w, event.path)
    there = None if number is None else head(w, number)
    if number is None or there is None or not event.base or there.seq == event.base:
        return False
    base = older(w, number, event.base)
    return base is not None and base.gone


def _lead_from(w: WriteTransaction, record: Record, path: str) -> None:
    number = path_id(w, path)
    assert number is not None, "a version of it is known"
    w.put("versions", u32(number) + u64(record.seq), _row(_Place(NEVER_HEAD, left=True)))


def _keep_displaced(w: WriteTransaction, record: Record, event: BytesDisplaced) -> None:
    number = path_id(w, event.path)
    if number is None:
        raise KeyError(f"the paths view does not know {event.path!r}: it is folded first")
    before = head(w, number)
    place = _Place(NEVER_HEAD) if before is None else _Place(NEVER_HEAD, REGULAR, before.seq, before.mode)
    w.put("versions", u32(number) + u64(record.seq), _row(place))


def _attribute(w: WriteTransaction, path: str, seq: int, told: int, event: WriteAttributed) -> None:
    number = path_id(w, path)
    if number is None:
        return
    key = u32(number) + u64(seq)
    row, found = w.get("versions", key), w.get("files", u32(number))
    if row is None or found is None:
        return
    place = _place_in(key, row)
    row = _row(msgspec.structs.replace(place, writer=event.writer, evidence=event.evidence, told=told))
    w.put("versions", key, row)
    w.known.pop((number, seq), None)
    head = _head_in(w, found)
    if head.seq == seq:
        _put_head(w, number, version_in_row(w, key, row), head.made_by)


def _take_back(w: WriteTransaction, path: str, seq: int) -> None:
    number = path_id(w, path)
    found = None if number is None else w.get("files", u32(number))
    if number is None or found is None:
        return
    w.known.pop((number, seq), None)  # later records of this transaction must not see it
    before = _head_in(w, found)
    lost = before if before.seq == seq else older(w, number, seq)
    if lost is None:
        return
    w.delete("versions", u32(number) + u64(seq))
    if lost.displaced:
        return
    later = () if lost is before else list(w.scan("versions", u32(number) + u64(seq + 1), u32(number + 1)))
    for key, row in later:
        w.known.pop((number, int.from_bytes(key[4:], "big")), None)  # its index has changed
        place = _PLACE.decode(row)
        if place.index != NEVER_HEAD:
            w.put("versions", key, _row(msgspec.structs.replace(place, index=place.index - 1)))
    newest = next(versions(w, number, reverse=True), None)
    if newest is None:
        w.known.pop(("head", number), None)
        w.delete("files", u32(number))
        return
    left = {**before.made_by, lost.type: before.made_by.get(lost.type, 0) - 1}
    _put_head(w, number, newest, {type: number for type, number in left.items() if number > 0})
