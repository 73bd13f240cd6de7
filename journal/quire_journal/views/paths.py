"""The paths view: every path has a number, handed out in the order in which the log first names it.

Only the fold hands numbers out, so that a replay gives every path the number it had. A number is never taken
back: also the views that are rebuilt alone find it.
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
    """Number the paths that the event names."""
    if isinstance(event, _NAMING):
        _number(w, event.path)
    elif isinstance(event, _MOVES):
        _number(w, event.path)
        _number(w, event.to)


def path_id(r: ReadTransaction, path: str) -> PathId | None:
    """The number of `path`; None when the log does not name it."""
    known: PathId | None = r.known.get(path)
    if known is None:
        found = r.get("path_ids", key_of(path))
        if found is None:
            return None
        known = r.known[path] = PathId(int.from_bytes(found, "big"))
    return known


def path_id_by(r: ReadTransaction, start: bytes) -> PathId | None:
    """The number of the first path whose key (`key_of`) begins with `start`; None for none."""
    key, value = next(r.scan("path_ids", start), (b"", b""))
    return PathId(int.from_bytes(value, "big")) if key.startswith(start) else None


def path_of(r: ReadTransaction, number: int) -> str | None:
    """The path with this number; None when there is none."""
    found = r.get("paths", u32(number))
    return None if found is None else found.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=2048)  # each of the folds of a record asks for the number of its path; a capture does for many
def key_of(path: str) -> bytes:
    """Where the number of `path` stands in `path_ids`."""
    return hashlib.sha256(stored(path)).digest()[:16]


def stored(path: str) -> bytes:
    """The path as it stands in `paths`."""
    return path.encode("utf-8", "surrogateescape")


def _number(w: WriteTransaction, path: str) -> None:
    if path_id(w, path) is None:
        number = u32(w.count("paths") + 1)
        w.put("path_ids", key_of(path), number)
        w.append("paths", number, stored(path))
