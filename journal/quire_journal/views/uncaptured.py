"""Capture view: the files whose bytes the journal does not hold, and the first scan of the tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quire_journal.model import CaptureFailed, Event, FileWritten, Record, WorkspaceScanned, WritesAbandoned, paths_of
from quire_journal.storage import ReadTransaction, WriteTransaction, u32, u64
from quire_journal.views import files
from quire_journal.views.paths import path_id, path_of

TABLES = ("uncaptured", "uncaptured_once", "scanned")
KINDS: Final = (*files.TOOL_WRITES, *files.OUTSIDE_WRITES, WritesAbandoned, WorkspaceScanned)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add a file whose newest version is not held; remove a file whose newest version is held, or that is gone."""
    if isinstance(event, CaptureFailed) or (isinstance(event, FileWritten) and event.uncaptured):
        number = path_id(w, event.path)
        if number is not None:
            w.put("uncaptured_once", u32(number), b"")
        _look(w, event.path)
    elif isinstance(event, WorkspaceScanned):
        if w.get("scanned", b"first") is None:
            w.put("scanned", b"first", u64(record.seq))
    elif isinstance(event, WritesAbandoned):
        for _, write in files.abandoned_writes(w, record, event):
            for path in paths_of(write):
                _look(w, path)
    elif not w.empty("uncaptured"):
        for path in paths_of(event):
            _look(w, path)


def count(r: ReadTransaction) -> int:
    return r.count("uncaptured")


def uncaptured(r: ReadTransaction) -> Iterator[tuple[str, str]]:
    """Yield (path, why) of the files whose newest version the journal does not hold."""
    for key, why in r.scan("uncaptured"):
        path = path_of(r, int.from_bytes(key, "big"))
        if path is not None:
            yield path, why.decode()


def uncaptured_at(r: ReadTransaction, seq: int) -> Iterator[tuple[str, str]]:
    """Yield (path, why) of the files whose version after record `seq` the journal does not hold."""
    for key, _ in r.scan("uncaptured_once"):
        number = int.from_bytes(key, "big")
        version = next(files.versions(r, number, upto=seq, reverse=True), None)
        path = path_of(r, number)
        if path is not None and version is not None and version.uncaptured and not version.gone:
            yield path, version.uncaptured


def first_scan(r: ReadTransaction) -> int | None:
    found = r.get("scanned", b"first")
    return None if found is None else int.from_bytes(found, "big")


def _look(w: WriteTransaction, path: str) -> None:
    number = path_id(w, path)
    head = None if number is None else files.head(w, number)
    if number is None:
        return
    if head is not None and head.uncaptured and not head.gone:
        w.put("uncaptured", u32(number), head.uncaptured.encode())
    else:
        w.delete("uncaptured", u32(number))
