"""Memory store: for tests, for replays that check views, and as the plainest form of the contract. A transaction copies
a table at its first write, and installs the copies at its end.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from quire_journal.model import JournalDamaged
from quire_journal.storage.port import TABLES, CompactionResult, Elsewhere, OutOfOrder, StoreFailure, checked_key


class _Table:
    __slots__ = ("keys", "pairs")

    def __init__(self, keys: list[bytes], pairs: dict[bytes, bytes]) -> None:
        self.keys = keys
        self.pairs = pairs

    def copy(self) -> _Table:
        return _Table(self.keys.copy(), self.pairs.copy())


class _Snapshot:
    def __init__(self, tables: dict[str, _Table]) -> None:
        self._tables = tables
        self.known: dict[Any, Any] = {}
        self._ended = False

    def _table(self, table: str) -> _Table:
        if self._ended:
            raise RuntimeError("the transaction has ended; copy what it reads inside its block")
        return self._tables[table]

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._table(table).pairs.get(checked_key(key))

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        held = self._table(table)
        low = bisect_left(held.keys, start)
        high = len(held.keys) if stop is None else bisect_left(held.keys, stop)
        for place in range(high - 1, low - 1, -1) if reverse else range(low, high):
            key = self._table(table).keys[place]
            yield key, held.pairs[key]

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        held = self._table(table)
        return [held.pairs[key] for key in held.keys[bisect_left(held.keys, start) :][:most]]

    def count(self, table: str) -> int:
        return len(self._table(table).keys)

    def empty(self, table: str) -> bool:
        return not self._table(table).keys

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        raise JournalDamaged(f"there is no pack {pack.hex()}; run `quire verify`")  # a compaction makes none

    def end(self) -> None:
        self._ended = True


class _Transaction(_Snapshot):
    def __init__(self, tables: dict[str, _Table]) -> None:
        super().__init__(dict(tables))
        self._own: set[str] = set()

    @property
    def tables(self) -> dict[str, _Table]:
        return self._tables

    def _own_table(self, table: str) -> _Table:
        held = self._table(table)
        if table not in self._own:
            held = self._tables[table] = held.copy()
            self._own.add(table)
        return held

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        # Each step searches again, as the caller may put and delete while it scans.
        last: bytes | None = None
        while True:
            held = self._table(table)
            low = bisect_left(held.keys, start)
            high = len(held.keys) if stop is None else bisect_left(held.keys, stop)
            if not reverse and last is not None:
                low = bisect_left(held.keys, last, low)
                low += low < len(held.keys) and held.keys[low] == last
            if low >= high:
                return
            last = held.keys[high - 1 if reverse else low]
            if reverse:
                stop = last
            yield last, held.pairs[last]

    def put(self, table: str, key: bytes, value: bytes) -> None:
        held = self._own_table(table)
        if checked_key(key) not in held.pairs:
            if not held.keys or key > held.keys[-1]:
                held.keys.append(key)
            else:
                insort(held.keys, key)
        held.pairs[key] = bytes(value)

    def append(self, table: str, key: bytes, value: bytes) -> None:
        held = self._table(table)
        if held.keys and held.keys[-1] >= checked_key(key):
            raise OutOfOrder(f"{table}: key {key.hex()} does not come after {held.keys[-1].hex()}, the last one")
        self.put(table, key, value)

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        for key, value in pairs:
            self.put(table, key, value)

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        for key, value in pairs:
            self.append(table, key, value)

    def delete(self, table: str, key: bytes) -> bool:
        if checked_key(key) not in self._table(table).pairs:
            return False
        held = self._own_table(table)
        del held.pairs[key]
        del held.keys[bisect_left(held.keys, key)]
        return True

    def clear(self, table: str) -> None:
        self._table(table)
        self._tables[table] = _Table([], {})
        self._own.add(table)


class _Compaction:
    """Compaction that only checks the order of calls."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._copied = False

    def copy(
        self,
        pause: Callable[[], None] = lambda: None,
        elsewhere: Elsewhere | None = None,
        shared: Sequence[str] = (),
        erase: bool = False,
    ) -> None:
        pause()
        self._copied = True

    def finish(self) -> CompactionResult:
        if not self._copied:
            raise RuntimeError("a compaction is finished when everything is copied")
        self._store.compacts = False
        size = self._store.size_bytes()
        return CompactionResult(size, size)

    def release(self) -> None:
        pass

    def cancel(self) -> None:
        self._store.compacts = False


def _nothing(published: bool) -> None: ...


class MemoryStore:
    """Ordered tables of bytes in memory, with a write-ahead log if `logs`.

    `fault` is called at the end of each transaction (`fold_fault` at the end of a fold, with a log) and before each log
    entry; if it raises, as a failing disk does, nothing is stored.
    """

    def __init__(self, fault: Callable[[], None] | None = None, logs: bool = False) -> None:
        self.fault = fault
        self.fold_fault: Callable[[], None] | None = None
        self.fold_first: Callable[[bool], None] = _nothing
        self._log: list[bytes] | None = [] if logs else None  # entries that are not published
        self._tables = {table: _Table([], {}) for table in TABLES}
        self._folded = self._tables  # the tables with unpublished folds
        self._folded_entries = 0  # number of log entries in unpublished folds
        self._folding = 0  # id of the thread that folds
        self._writer = threading.Lock()
        self._writer_thread: int | None = None
        self._closed = False
        self.compacts = False

    def copy(self) -> MemoryStore:
        """Return a new store with the same content, at no cost."""
        store = MemoryStore(logs=self._log is not None)
        store._tables = store._folded = self._tables
        if self._log is not None:
            store._log = [*self._log]
        return store

    @contextmanager
    def reading(self) -> Iterator[_Snapshot]:
        self._require_open()
        self.fold_first(False)
        snapshot = _Snapshot(self._folded if self._folding == threading.get_ident() else self._tables)
        try:
            yield snapshot
        finally:
            snapshot.end()

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        self._require_open()
        self.fold_first(True)
        with self._transaction() as transaction:
            yield transaction
            if self.fault is not None:
                self.fault()
            self._tables = self._folded = transaction.tables

    @contextmanager
    def folding(self, again: bool = False) -> Iterator[_Transaction]:
        self._require_open()
        self._folding = threading.get_ident()
        try:
            with self._transaction() as transaction:
                yield transaction
                fault = self.fault if self._log is None else self.fold_fault
                if fault is not None:
                    fault()
                self._folded = transaction.tables
        except BaseException:
            self._folded = self._tables
            raise
        if not again:
            self._folded_entries = len(self._log or ())

    is_read = False  # a fold changes no table that a snapshot reads

    def publish(self) -> None:
        self._tables = self._folded
        if self._log is not None:
            del self._log[: self._folded_entries]
        self._folded_entries = 0

    @contextmanager
    def _transaction(self) -> Iterator[_Transaction]:
        if self._writer_thread == threading.get_ident():
            raise RuntimeError("this thread is already in a writing transaction")
        with self._writer:
            self._writer_thread = threading.get_ident()
            transaction = _Transaction(self._folded)
            try:
                yield transaction
            finally:
                transaction.end()
                self._writer_thread = None

    def log(self, entry: bytes) -> bool:
        self._require_open()
        if self._log is None:
            return False
        if self.fault is not None:
            self.fault()
        self._log.append(entry)
        return True

    def logged(self) -> list[bytes]:
        return [*(self._log or ())]

    def clear_log(self) -> None:
        self.fold_first(True)

    def forget_log(self) -> None:
        if self._log is not None:
            self._log.clear()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreFailure("the store is closed")

    def size_bytes(self) -> int:
        return sum(len(key) + len(value) for table in self._tables.values() for key, value in table.pairs.items())

    def used_bytes(self) -> int:
        return self.size_bytes()

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> _Compaction:
        self._require_open()
        if self.compacts:
            raise RuntimeError("a compaction is going on")
        self.compacts = True
        return _Compaction(self)

    def sync(self) -> None: ...

    def mistrust(self) -> None: ...

    def reader_check(self) -> int:
        return 0

    def close(self) -> None:
        self._closed = True
        self._tables = self._folded = {table: _Table([], {}) for table in TABLES}
