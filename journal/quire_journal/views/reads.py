"""Reads view: the version and lines of each path that each caller was last shown. A write by the caller makes its
version the caller's base, with lines from a `ReadServed` in the same batch, or the earlier lines if the write left the
bytes. An abandoned write restores the earlier base, which `reads_before` holds until the write is settled.
"""

from __future__ import annotations

from typing import Final

import msgspec

from quire_journal.model import (
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideDeleted,
    OutsideMoved,
    Ranges,
    ReadServed,
    Record,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32, u64
from quire_journal.views.files import TOOL_WRITES, record_before
from quire_journal.views.paths import path_id
from quire_journal.views.writers import caller_of

TABLES = ("reads", "reads_before")
KINDS: Final = (ReadServed, *TOOL_WRITES, WritesAbandoned, WritesSettled)

_NOTHING: Final = b""


class Shown(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Version and lines (0-based, half-open) of a path that a caller was last shown."""

    version: int
    lines: Ranges
    at_ns: int = 0
    read: int = 0  # the version last read; the caller's own writes advance `version` only. 0: `version` itself
    first: int = 0  # the first version ever shown; 0: `version` itself
    moved: Ranges = ()  # lines moved by other writers, whose new numbers the caller was not shown

    @property
    def news_after(self) -> int:
        """Seq of the version up to which the caller knows other callers' changes."""
        return self.read or self.version

    @property
    def since(self) -> int:
        return self.first or self.version


_ENCODER: Final = msgspec.msgpack.Encoder()
_SHOWN: Final = msgspec.msgpack.Decoder(Shown)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Record a read, advance a base by the caller's write, or restore it when the write is abandoned."""
    match event:
        case ReadServed():
            _show(w, record, event)
        case FileWritten() | FileDeleted():
            _move_base(w, record, event.path, event.base)
        case ModeChanged():
            _move_base(w, record, event.path, event.base, keep_lines=True)
        case FileMoved() if event.to != event.path:
            _move_base_to(w, record, event)
        case WritesAbandoned():
            for seq in sorted({*event.seqs}, reverse=True):
                _take_back(w, seq)
        case WritesSettled():
            for key in [key for key, _ in w.scan("reads_before", b"", u64(event.through + 1))]:
                w.delete("reads_before", key)
        case _:
            pass


def shown(r: ReadTransaction, caller: bytes, path: int) -> Shown | None:
    """Return the version and lines of the path that the caller was last shown; None if the caller was never shown the
    path.
    """
    if not caller:
        return None
    key = caller + u32(path)
    known: Shown | None = r.known.get(("reads", key))
    if known is None:
        found = r.get("reads", key)
        if found is None:
            return None
        known = r.known["reads", key] = _SHOWN.decode(found)
    return known


def _put(w: WriteTransaction, key: bytes, now: Shown) -> None:
    w.known["reads", key] = now  # cached for the folds of the next records
    # `moved` is left out where empty, as in older rows.
    w.put("reads", key, _ENCODER.encode(now if now.moved else msgspec.structs.astuple(now)[:-1]))


def _show(w: WriteTransaction, record: Record, event: ReadServed) -> None:
    caller, number = caller_of(w, record.writer), path_id(w, event.path)
    if not caller or number is None:
        return
    key = caller + u32(number)
    read, before = 0, shown(w, caller, number)
    if event.version >= record.batch:
        # The lines are of a version of this batch: a reply's diff, which shows nothing of other callers' versions.
        made = w.known.get((number, event.version)) or record_before(w, event.version, record.seq)
        if before is not None and made is not None and (made.batch, made.writer) == (record.batch, record.writer):
            read = before.read
    _put(w, key, Shown(event.version, event.shown, record.at_ns, read, _since(before), event.moved))


def _move_base(w: WriteTransaction, record: Record, path: str, base: int, keep_lines: bool = False) -> None:
    caller, number = caller_of(w, record.writer), path_id(w, path)
    if not caller or number is None:
        return
    key = caller + u32(number)
    found = w.get("reads", key)
    before = None if found is None else _SHOWN.decode(found)
    kept = before if before is not None and keep_lines and before.version == base else None
    lines, moved = (kept.lines, kept.moved) if kept is not None else ((), ())
    now = Shown(record.seq, lines, record.at_ns, _read_up_to(before, base), _since(before), moved)
    w.put("reads_before", u64(record.seq) + key, found or _NOTHING)
    _put(w, key, now)


def _since(before: Shown | None) -> int:
    return 0 if before is None else before.since


def _read_up_to(before: Shown | None, base: int) -> int:
    if before is None or (before.version == base and not before.read):
        return 0
    return before.news_after


def _move_base_to(w: WriteTransaction, record: Record, event: FileMoved) -> None:
    caller, old, new = caller_of(w, record.writer), path_id(w, event.path), path_id(w, event.to)
    if not caller or old is None or new is None:
        return
    made = record_before(w, event.base, record.seq)
    if made is not None and _went(made.event(), event.path):  # restored; the old path may hold another file now
        _replace(w, record, caller + u32(new), Shown(record.seq, (), record.at_ns))
        return
    before = shown(w, caller, old)
    lines: Ranges = ()
    moved: Ranges = ()
    if before is not None and before.version == event.base:
        base = None if made is None else made.event()
        if getattr(base, "blob", b"") == event.blob:
            lines, moved = before.lines, before.moved
    gone = Shown(record.seq, (), record.at_ns, _read_up_to(before, event.base), _since(before))
    _replace(w, record, caller + u32(old), gone)
    _replace(w, record, caller + u32(new), Shown(record.seq, lines, record.at_ns, moved=moved))


def _went(event: Event | None, path: str) -> bool:
    if isinstance(event, FileMoved | OutsideMoved):
        return event.path == path
    return isinstance(event, FileDeleted | OutsideDeleted)


def _replace(w: WriteTransaction, record: Record, key: bytes, now: Shown) -> None:
    w.put("reads_before", u64(record.seq) + key, w.get("reads", key) or _NOTHING)
    _put(w, key, now)


def _take_back(w: WriteTransaction, seq: int) -> None:
    for row, before in list(w.scan("reads_before", u64(seq), u64(seq + 1))):
        w.delete("reads_before", row)
        key = row[8:]
        now = w.get("reads", key)
        if now is not None and _SHOWN.decode(now).version == seq:
            w.known.pop(("reads", key), None)
            if before == _NOTHING:
                w.delete("reads", key)
            else:
                w.put("reads", key, before)
        for later, value in list(w.scan("reads_before", u64(seq + 1))):
            if later[8:] == key and value != _NOTHING and _SHOWN.decode(value).version == seq:
                w.put("reads_before", later, before)
