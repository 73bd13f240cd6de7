"""Checkpoints view: named cursors, and the newest edit checkpoint of each path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from quire_journal.model import (
    CheckpointCommitted,
    CheckpointDropped,
    CheckpointNamed,
    CheckpointRolledBack,
    CheckpointSaved,
    Event,
    Record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32
from quire_journal.views.paths import path_id

TABLES = ("checkpoints", "edit_checkpoints")
KINDS: Final = (CheckpointNamed, CheckpointDropped, CheckpointSaved, CheckpointCommitted, CheckpointRolledBack)


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Name for the state after record `cursor`."""

    name: str
    cursor: int
    note: str
    seq: int  # of the record that named the checkpoint
    at_ns: int
    writer: int
    uncaptured: int = 0  # number of files whose bytes the journal did not hold at `cursor`
    blind: str = ""  # why the journal may have missed changes at that time


class EditCheckpoint(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Version of a path before an edit, and the edit's outcome."""

    version: int
    state: str  # "saved", "committed", "rolled_back"
    seq: int  # of the record that set the state
    at_ns: int
    why: str = ""  # why the edit was rolled back


_ENCODER: Final = msgspec.msgpack.Encoder()
_CHECKPOINT: Final = msgspec.msgpack.Decoder(Checkpoint)
_EDIT: Final = msgspec.msgpack.Decoder(EditCheckpoint)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Set or drop a checkpoint. A reused name gets the new cursor."""
    match event:
        case CheckpointNamed():
            told = event.uncaptured, event.blind
            named = Checkpoint(event.name, event.cursor, event.note, record.seq, record.at_ns, record.writer, *told)
            w.put("checkpoints", _key(event.name), _ENCODER.encode(named))
        case CheckpointDropped():
            w.delete("checkpoints", _key(event.name))
        case CheckpointSaved():
            _edit(w, event.path, EditCheckpoint(event.version, "saved", record.seq, record.at_ns))
        case CheckpointCommitted():
            _edit(w, event.path, EditCheckpoint(event.version, "committed", record.seq, record.at_ns))
        case CheckpointRolledBack():
            _edit(w, event.path, EditCheckpoint(event.version, "rolled_back", record.seq, record.at_ns, event.why))
        case _:
            pass


def checkpoint(r: ReadTransaction, name: str) -> Checkpoint | None:
    found = r.get("checkpoints", _key(name))
    return None if found is None else _CHECKPOINT.decode(found)


def checkpoints(r: ReadTransaction) -> Iterator[Checkpoint]:
    for _, value in r.scan("checkpoints"):
        yield _CHECKPOINT.decode(value)


def edit_checkpoint(r: ReadTransaction, path: int) -> EditCheckpoint | None:
    found = r.get("edit_checkpoints", u32(path))
    return None if found is None else _EDIT.decode(found)


def _key(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


def _edit(w: WriteTransaction, path: str, state: EditCheckpoint) -> None:
    number = path_id(w, path)
    if number is not None:
        w.put("edit_checkpoints", u32(number), _ENCODER.encode(state))
