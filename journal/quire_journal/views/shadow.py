"""Shadow views: views folded again into another store, to check a journal or to try changed records."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from quire_journal.model import read_record
from quire_journal.storage import ReadTransaction, RowChange, Store, WriteTransaction, u64
from quire_journal.views.table import View

Pairs = Iterator[tuple[bytes, bytes]]

_CHUNK: Final = 1000


class ShadowViews:
    """Views folded again in another store. Each call of `go_on` continues with new records; folded records must not
    have changed.
    """

    def __init__(self, views: Sequence[View], store: Store) -> None:
        self.views = views
        self._store = store
        self._seq = 0  # seq of the newest folded record

    def go_on(self, r: ReadTransaction, instead: Mapping[bytes, bytes]) -> None:
        """Fold the new records of `r`, with the rows `instead` (by key) in place of the log's.
        Raises `JournalDamaged`.
        """
        tables = [table for view in self.views for table in view.tables]
        while True:
            with self._store.writing() as w:
                beside = ViewsElsewhere(r, w, tables, instead)
                rows = islice(beside.scan("records", u64(self._seq + 1)), _CHUNK)
                read = (read_record(int.from_bytes(key, "big"), row) for key, row in rows)
                chunk = [(record, record.event()) for record in read]
                for record, event in chunk:
                    for view in self.views:
                        if view.apply_all is None and (view.kinds is None or type(event) in view.kinds):
                            view.apply(beside, record, event)
                for view in self.views:
                    if view.apply_all is not None:
                        view.apply_all(beside, chunk)
            self._seq += len(chunk)
            if len(chunk) < _CHUNK:
                return

    def changes(self, r: ReadTransaction, views: Iterable[View]) -> Iterator[RowChange]:
        """Yield the changes that make the tables of these views equal to the shadow's."""
        with self._store.reading() as again:
            for view in views:
                for table in view.tables:
                    yield from ((table, key, row) for key, _, row in differing(r.scan(table), again.scan(table)))


def differing(held: Pairs, again: Pairs) -> Iterator[tuple[bytes, bytes | None, bytes | None]]:
    """Yield (key, row of `held`, row of `again`) where two sorted tables differ; None for the row of a table without
    the key.
    """
    a, b = next(held, None), next(again, None)
    while a is not None or b is not None:
        if b is None or (a is not None and a[0] < b[0]):
            assert a is not None
            yield *a, None
            a = next(held, None)
        elif a is None or b[0] < a[0]:
            yield b[0], None, b[1]
            b = next(again, None)
        else:
            if a[1] != b[1]:
                yield *a, b[1]
            a, b = next(held, None), next(again, None)


class ViewsElsewhere:
    """Transaction that joins the log and blobs of one store, read-only, with view tables (`owned`) of another. Records
    in `instead` (by key) replace those of the log.
    """

    def __init__(
        self,
        r: ReadTransaction,
        views: WriteTransaction,
        owned: Container[str],
        instead: Mapping[bytes, bytes] | None = None,
    ) -> None:
        self._r = r
        self._views = views
        self._owned = owned
        self._instead = instead or {}
        self.known = views.known

    def _of(self, table: str) -> ReadTransaction:
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

    def empty(self, table: str) -> bool:
        return self._of(table).empty(table)

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        return self._r.packed(pack, at, size)

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

    def _own(self, table: str) -> WriteTransaction:
        if table not in self._owned:
            raise KeyError(f"a fold writes to {table!r}, which is not a view's")
        return self._views
