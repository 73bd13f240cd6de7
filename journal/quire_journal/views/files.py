"""The files view: for each path, its versions and which of them is the head."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from quire_journal.events import (
    REGULAR,
    BytesDisplaced,
    CaptureFailed,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    WritesAbandoned,
)
from quire_journal.log import Damaged, Reading, Writing, u32, u64
from quire_journal.records import Record, decode_record
from quire_journal.views import continuity
from quire_journal.views.paths import path_id

TABLES = ("files", "versions", "continuity")

OUTSIDE_TYPE: Final = "outside"
"""The writer type of every version that no tool call made."""

NEVER_HEAD: Final = -1
"""The `index` of bytes that stood at a path, or were meant for it, without ever being its state."""

ToolWrite = FileWritten | FileDeleted | FileMoved | ModeChanged
"""The writes of a tool: in the log before they are on disk, settled or abandoned afterwards."""

TOOL_WRITES: Final = (FileWritten, FileDeleted, FileMoved, ModeChanged)


class Version(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The state of one path after one record. `blob` is b"" where the path was gone or not captured."""

    seq: int
    at_ns: int
    writer: int
    batch: int
    type: str  # writer type: "edit", "write_file", "outside", "undo"
    blob: bytes
    size: int
    mode: int
    base: int = 0  # seq of the version that it was made from
    entry: int = 0  # events.REGULAR, LINK, FOLDER
    gone: bool = False  # the path does not exist after this record
    evidence: str = ""  # of an outside version; why the bytes were displaced
    uncaptured: str = ""  # why the bytes are not in the journal: "too_large", "secret", "unreadable"
    moved_from: str = ""
    moved_to: str = ""
    index: int = 0  # of this version among those of its path, from 0; NEVER_HEAD for displaced bytes
    kind: str = ""  # of the record

    @property
    def displaced(self) -> bool:
        """Are these bytes that were never the head? They are kept, and shown where someone looks for what was lost."""
        return self.index == NEVER_HEAD


_ENCODER: Final = msgspec.msgpack.Encoder()
_VERSION: Final = msgspec.msgpack.Decoder(Version)


def fold(w: Writing, record: Record, event: Event | None) -> None:
    """Add the versions that the event made, or take back those that it abandons."""
    match event:
        case FileWritten():
            _add(
                w,
                event.path,
                record,
                event.by,
                event.blob,
                event.size,
                event.mode,
                event.base,
                entry=event.entry,
                uncaptured=event.uncaptured,
            )
        case FileDeleted():
            _add(w, event.path, record, event.by, base=event.base, gone=True)
        case FileMoved() if event.to != event.path:
            _move(w, event, record, event.by)
        case ModeChanged():
            _add(w, event.path, record, event.by, event.blob, event.size, event.mode, event.base)
        case OutsideWritten():
            _add(
                w,
                event.path,
                record,
                OUTSIDE_TYPE,
                event.blob,
                event.size,
                event.mode,
                event.base,
                entry=event.entry,
                evidence=event.evidence,
            )
        case OutsideDeleted():
            _add(w, event.path, record, OUTSIDE_TYPE, base=event.base, gone=True, evidence=event.evidence)
        case OutsideMoved() if event.to != event.path:
            _move(w, event, record, OUTSIDE_TYPE, event.evidence)
        case OutsideModeChanged():
            _add(
                w,
                event.path,
                record,
                OUTSIDE_TYPE,
                event.blob,
                event.size,
                event.mode,
                event.base,
                evidence=event.evidence,
            )
        case CaptureFailed():
            _add(w, event.path, record, OUTSIDE_TYPE, event.blob, event.size, event.mode, uncaptured=event.why)
        case BytesDisplaced():
            _keep_displaced(w, record, event)
        case WritesAbandoned():
            for seq, write in abandoned_writes(w, record, event):
                _take_back(w, write.path, seq)
                if isinstance(write, FileMoved):
                    _take_back(w, write.to, seq)
        case _:
            pass


def head(r: Reading, path: int) -> Version | None:
    """The newest state of the path with this number; None when it has none."""
    found = r.get("files", u32(path))
    return None if found is None else _VERSION.decode(found)


def version(r: Reading, path: int, seq: int) -> Version | None:
    """What record `seq` made of the path with this number."""
    found = r.get("versions", u32(path) + u64(seq))
    return None if found is None else _VERSION.decode(found)


def versions(
    r: Reading, path: int, after: int = 0, upto: int | None = None, reverse: bool = False, displaced: bool = False
) -> Iterator[Version]:
    """Versions with after < seq <= upto of the path with this number, with `displaced` also the bytes never head."""
    start = u32(path) + u64(max(after, 0) + 1)
    stop = u32(path + 1) if upto is None else u32(path) + u64(max(upto, 0) + 1)
    for _, value in r.scan("versions", start, stop, reverse):
        found = _VERSION.decode(value)
        if displaced or not found.displaced:
            yield found


def record_before(r: Reading, seq: int, before: int) -> Record | None:
    """Record `seq` when it stands before record `before`. A fold asks the log only for the past, so replay agrees.

    Raises `log.Damaged` when the bytes there are not a record.
    """
    stored = r.get("records", u64(seq)) if 0 < seq < before else None
    if stored is None:
        return None
    try:
        return decode_record(stored)
    except msgspec.MsgspecError as wrong:
        raise Damaged(f"record {seq} cannot be decoded ({wrong}); run `quire verify`") from wrong


def abandoned_writes(r: Reading, record: Record, event: WritesAbandoned) -> list[tuple[int, ToolWrite]]:
    """The tool writes that `event` takes back, newest first. What is no tool write before `record` is passed over."""
    found: list[tuple[int, ToolWrite]] = []
    for seq in sorted({*event.seqs}, reverse=True):
        was = record_before(r, seq, record.seq)
        write = None if was is None else was.event()
        if isinstance(write, TOOL_WRITES):
            found.append((seq, write))
    return found


def _add(
    w: Writing,
    path: str,
    record: Record,
    type: str,
    blob: bytes = b"",
    size: int = 0,
    mode: int = 0,
    base: int | None = None,
    *,
    entry: int | None = None,
    gone: bool = False,
    evidence: str = "",
    uncaptured: str = "",
    moved_from: str = "",
    moved_to: str = "",
) -> None:
    """Make a version the head. Without `base` it stands on the head; without `entry` it is what the head was."""
    number = path_id(w, path)
    if number is None:
        raise KeyError(f"the paths view does not know {path!r}: it is folded first")
    before = head(w, number)
    same_entry = before is not None and not before.gone and not uncaptured
    encoded = _ENCODER.encode(
        Version(
            seq=record.seq,
            at_ns=record.at_ns,
            writer=record.writer,
            batch=record.batch,
            type=type,
            blob=blob,
            size=size,
            mode=mode,
            base=(0 if before is None else before.seq) if base is None else base,
            entry=(before.entry if before is not None and same_entry else REGULAR) if entry is None else entry,
            gone=gone,
            evidence=evidence,
            uncaptured=uncaptured,
            moved_from=moved_from,
            moved_to=moved_to,
            index=0 if before is None else before.index + 1,
            kind=record.kind,
        )
    )
    w.put("files", u32(number), encoded)
    w.put("versions", u32(number) + u64(record.seq), encoded)
    continuity.count(w, number, type, 1)


def _move(w: Writing, event: FileMoved | OutsideMoved, record: Record, type: str, evidence: str = "") -> None:
    """End the old name, and begin the new one with what the file is now."""
    _add(w, event.path, record, type, base=event.base, gone=True, evidence=evidence, moved_to=event.to)
    _add(
        w,
        event.to,
        record,
        type,
        event.blob,
        event.size,
        event.mode,
        event.base,
        entry=event.entry,
        evidence=evidence,
        moved_from=event.path,
    )


def _keep_displaced(w: Writing, record: Record, event: BytesDisplaced) -> None:
    """List the bytes among the versions of the path and leave its head alone."""
    number = path_id(w, event.path)
    if number is None:
        raise KeyError(f"the paths view does not know {event.path!r}: it is folded first")
    before = head(w, number)
    kept = Version(
        seq=record.seq,
        at_ns=record.at_ns,
        writer=record.writer,
        batch=record.batch,
        type=OUTSIDE_TYPE,
        blob=event.blob,
        size=event.size,
        mode=0 if before is None else before.mode,
        base=0 if before is None else before.seq,
        evidence=event.why,
        index=NEVER_HEAD,
        kind=record.kind,
    )
    w.put("versions", u32(number) + u64(record.seq), _ENCODER.encode(kept))


def _take_back(w: Writing, path: str, seq: int) -> None:
    """Remove the version that record `seq` made; those after it move up, and the newest that is left is the head."""
    number = path_id(w, path)
    lost = None if number is None else version(w, number, seq)
    if number is None or lost is None:
        return
    w.delete("versions", u32(number) + u64(seq))
    continuity.count(w, number, lost.type, -1)
    for later in list(versions(w, number, after=seq)):
        moved_up = msgspec.structs.replace(later, index=later.index - 1)
        w.put("versions", u32(number) + u64(later.seq), _ENCODER.encode(moved_up))
    newest = next(versions(w, number, reverse=True), None)
    if newest is None:
        w.delete("files", u32(number))
    else:
        w.put("files", u32(number), _ENCODER.encode(newest))
