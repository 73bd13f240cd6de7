"""Paths view: a number for every path, in the order of first mention. Only the fold assigns numbers, and never changes
one, so that a replay agrees.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from quire_journal.model import (
    BytesDisplaced,
    CaptureFailed,
    CheckpointCommitted,
    CheckpointRolledBack,
    CheckpointSaved,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    ModeChanged,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    PathId,
    ReadServed,
    Record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32

TABLES = ("paths", "path_ids")

_NAMING: Final = (
    FileWritten,
    FileDeleted,
    ModeChanged,
    OutsideWritten,
    OutsideDeleted,
    OutsideModeChanged,
    BytesDisplaced,
    CaptureFailed,
    ReadServed,
    CheckpointSaved,
    CheckpointCommitted,
    CheckpointRolledBack,
)
_MOVES: Final = (FileMoved, OutsideMoved)
KINDS: Final = (*_NAMING, *_MOVES)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    if isinstance(event, _NAMING):
        _number(w, event.path)
    elif isinstance(event, _MOVES):
        _number(w, event.path)
        _number(w, event.to)


def path_id(r: ReadTransaction, path: str) -> PathId | None:
    """Return the number of `path`; None if the log does not name it."""
    known: PathId | None = r.known.get(path)
    if known is None:
        found = r.get("path_ids", key_of(path))
        if found is None:
            return None
        known = r.known[path] = PathId(int.from_bytes(found, "big"))
    return known


def path_id_by(r: ReadTransaction, start: bytes) -> PathId | None:
    """Return the number of the first path whose `key_of` begins with `start`; None if there is none."""
    key, value = next(r.scan("path_ids", start), (b"", b""))
    return PathId(int.from_bytes(value, "big")) if key.startswith(start) else None


def path_of(r: ReadTransaction, number: int) -> str | None:
    found = r.get("paths", u32(number))
    return None if found is None else found.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=2048)  # every fold of a record asks for its path
def key_of(path: str) -> bytes:
    return hashlib.sha256(stored(path)).digest()[:16]


def stored(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _number(w: WriteTransaction, path: str) -> None:
    if path_id(w, path) is None:
        number = u32(w.count("paths") + 1)
        w.put("path_ids", key_of(path), number)
        w.append("paths", number, stored(path))
