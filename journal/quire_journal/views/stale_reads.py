"""Stale view: reads that another caller's change has made stale, so that each reply can warn cheaply. A row is a hint:
it outlives an abandoned write, until the caller's next read deletes it. Until then further changes cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quire_journal.model import Event, FileMoved, OutsideMoved, ReadServed, Record
from quire_journal.storage import ReadTransaction, WriteTransaction, u32
from quire_journal.views import files, reads
from quire_journal.views.paths import path_id, path_of
from quire_journal.views.writers import caller_of

TABLES = ("readers", "stale_reads")

_CALLER_BYTES = 8
KINDS: Final = (ReadServed, *files.TOOL_WRITES, *files.OUTSIDE_WRITES)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Record who reads a path; when the path changes, mark other callers' reads as stale."""
    if isinstance(event, ReadServed):
        _read(w, record, event)
    elif isinstance(event, FileMoved | OutsideMoved):
        _changed(w, record, event.path)
        _changed(w, record, event.to)
    elif isinstance(event, KINDS):
        _changed(w, record, event.path)


def stale_reads(r: ReadTransaction, caller: bytes) -> Iterator[str]:
    """Yield the paths that other writers may have changed since the caller read them."""
    if caller:
        for key, _ in r.scan("stale_reads", caller, caller + b"\xff" * 4):
            path = path_of(r, int.from_bytes(key[_CALLER_BYTES:], "big"))
            if path is not None:
                yield path


def _read(w: WriteTransaction, record: Record, event: ReadServed) -> None:
    caller, number = caller_of(w, record.writer), path_id(w, event.path)
    if not caller or number is None:
        return
    row = u32(number) + caller
    if w.get("readers", row) is None:
        w.put("readers", row, b"")
    shown, head = reads.shown(w, caller, number), files.head(w, number)
    if shown is None or head is None:
        return
    if head.seq <= shown.news_after:
        w.delete("stale_reads", caller + u32(number))
    elif caller_of(w, head.writer) != caller:
        w.put("stale_reads", caller + u32(number), b"")


def _changed(w: WriteTransaction, record: Record, path: str) -> None:
    if w.empty("readers"):
        return  # the common case during the first capture
    number = path_id(w, path)
    if number is None:
        return
    mine = caller_of(w, record.writer)
    for row, _ in list(w.scan("readers", u32(number), u32(number + 1))):
        caller = row[4:]
        if caller != mine:
            w.delete("readers", row)
            w.put("stale_reads", caller + u32(number), b"")
