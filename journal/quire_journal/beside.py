"""Views folded again beside a journal, in memory: what they should be, or would be if the log were another.

Nothing of the journal is written, so this can be done by a process that only reads it, while others use it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from quire_journal.events import Event
from quire_journal.log import Reading, Writing
from quire_journal.records import Record, decode_record
from quire_journal.stores.memory import MemoryStore
from quire_journal.views import View

_CHUNK: Final = 1000
"""Records that are folded at once."""


def rows_anew(
    r: Reading, views: Sequence[View], instead: Mapping[bytes, bytes]
) -> list[tuple[str, bytes, bytes]] | None:
    """(table, key, row) of what stood otherwise in the tables of `views`, if the records `instead` (by key) were those
    of the log. None where rows would have to go, or a view looks at others: it has to be folded again, then.

    Raises `msgspec.MsgspecError` for a record that cannot be decoded.
    """
    if any(view.needs for view in views):
        return None
    tables = [table for view in views for table in view.tables]
    with MemoryStore().writing() as again:
        beside = Beside(r, again, tables, instead)
        rows = beside.scan("records")
        while chunk := [_decoded(row) for _, row in islice(rows, _CHUNK)]:
            for view in views:
                _fold(view, beside, chunk)
            again.known.clear()
        if any(again.count(table) != r.count(table) for table in tables):
            return None
        found = [(table, key, row) for table in tables for key, row in again.scan(table) if r.get(table, key) != row]
        return None if any(r.get(table, key) is None for table, key, _ in found) else found


def _fold(view: View, w: Writing, records: Sequence[tuple[Record, Event | None]]) -> None:
    if view.apply_all is not None:
        view.apply_all(w, records)
        return
    for record, event in records:
        if view.kinds is None or type(event) in view.kinds:
            view.apply(w, record, event)


def _decoded(row: bytes) -> tuple[Record, Event | None]:
    record = decode_record(row)
    return record, record.event()


class Beside:
    """A transaction whose views are in memory, and whose log and blobs are those of a store that is only read.

    `owned` are the tables in memory. `instead` are records, by their keys, that stand in place of those of the store.
    """

    def __init__(
        self, r: Reading, views: Writing, owned: Container[str], instead: Mapping[bytes, bytes] | None = None
    ) -> None:
        self._r = r
        self._views = views
        self._owned = owned
        self._instead = instead or {}
        self.known = views.known

    def _of(self, table: str) -> Reading:
        return self._views if table in self._owned else self._r

    def get(self, table: str, key: bytes) -> bytes | None:
        if table == "records" and key in self._instead:
            return self._instead[key]
        return self._of(table).get(table, key)

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        rows = self._of(table).scan(table, start, stop, reverse)
        return ((key, self._instead.get(key, row)) for key, row in rows) if table == "records" else rows

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        if table == "records":
            return [row for _, row in islice(self.scan(table, start), most)]
        return self._of(table).values(table, start, most)

    def count(self, table: str) -> int:
        return self._of(table).count(table)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._own(table).put(table, key, value)

    def append(self, table: str, key: bytes, value: bytes) -> None:
        self._own(table).append(table, key, value)

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._own(table).put_all(table, pairs)

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._own(table).append_all(table, pairs)

    def delete(self, table: str, key: bytes) -> bool:
        return self._own(table).delete(table, key)

    def clear(self, table: str) -> None:
        self._own(table).clear(table)

    def _own(self, table: str) -> Writing:
        if table not in self._owned:
            raise KeyError(f"a fold writes to {table!r}, which is not a view's")
        return self._views
