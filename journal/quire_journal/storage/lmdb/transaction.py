"""LMDB transactions (`port.ReadTransaction`, `port.WriteTransaction`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, NoReturn

import lmdb

from quire_journal.model import JournalDamaged
from quire_journal.storage import KEY_BYTES, InUse, OutOfOrder, RowChange, checked_key, packs
from quire_journal.storage.lmdb.environment import OpenEnvironment, failure


class _Ended(dict[str, "lmdb._Database | None"]):
    def __missing__(self, table: str) -> NoReturn:
        raise RuntimeError("the transaction has ended; copy what it reads inside its block")


_ENDED: Final = _Ended()


class Snapshot:
    """Reading transaction; ends with its block."""

    def __init__(self, path: Path, opened: OpenEnvironment, txn: lmdb.Transaction[bytes]) -> None:
        self._path = path
        self._txn = txn
        self._databases: Mapping[str, lmdb._Database | None] = opened.databases  # None: the file has no such table yet
        self.known: dict[Any, Any] = {}
        self._changes = 0  # incremented when tables change under an open scan
        self._reads = 0  # incremented when the transaction is replaced

    def get(self, table: str, key: bytes) -> bytes | None:
        # An edit makes a hundred calls of this and of `put`, so the checks are inline, and positional arguments halve
        # the cost of parsing them.
        database = self._databases[table]
        if not 0 < len(key) <= KEY_BYTES:
            checked_key(key)
        if database is None:
            return None
        try:
            return self._txn.get(key, None, database)
        except lmdb.Error as error:
            raise failure(self._path, f"could not read {table}", error) from error

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        name = self.get("packs", pack)
        if name is None:
            raise JournalDamaged(f"there is no pack {pack.hex()}; run `quire verify`")
        return packs.read(self._path, name, at, size)

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        database = self._databases[table]
        if database is None:
            return
        cursor = None
        try:
            cursor, reads = self._txn.cursor(database), self._reads
            found = _to_end(cursor, stop) if reverse else cursor.set_range(start)
            while found:
                key, value = cursor.item()
                if key < start if reverse else stop is not None and key >= stop:
                    return
                changes = self._changes
                yield key, value
                self._databases[table]  # raises if the block has ended
                if changes == self._changes:
                    found = cursor.prev() if reverse else cursor.next()
                    continue
                if reads != self._reads:
                    cursor, reads = self._txn.cursor(database), self._reads
                if reverse:
                    found = _to_end(cursor, key)
                else:
                    found = cursor.set_range(key) and (cursor.key() != key or cursor.next())
        except lmdb.Error as error:
            raise failure(self._path, f"could not read {table}", error) from error
        finally:
            if cursor is not None:
                cursor.close()

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        database = self._databases[table]
        if database is None:
            return []
        try:
            with self._txn.cursor(database) as cursor:
                return list(islice(cursor.iternext(keys=False, values=True), most)) if cursor.set_range(start) else []
        except lmdb.Error as error:
            raise failure(self._path, f"could not read {table}", error) from error

    def count(self, table: str) -> int:
        database = self._databases[table]
        return 0 if database is None else self._txn.stat(database)["entries"]

    def empty(self, table: str) -> bool:
        database = self._databases[table]
        try:
            return database is None or not self._txn.cursor(database).first()
        except lmdb.Error as error:
            raise failure(self._path, f"could not read {table}", error) from error

    def read(self, txn: lmdb.Transaction[bytes]) -> None:
        """Replace the transaction by another with the same state."""
        self._txn = txn
        self._reads += 1
        self._changes += 1  # so that a scan seeks its place again

    def end(self) -> None:
        """End the snapshot: every later read raises. Drops the transaction, to free its reader slot even if a caught
        exception keeps this object alive.
        """
        self._databases = _ENDED
        del self._txn


class ReadingBlock:
    """Context manager of a snapshot: a class, because a generator costs twice as much, and an edit enters three."""

    __slots__ = ("_opened", "_path", "_snapshot", "_txn", "_uses")

    def __init__(self, path: Path, uses: InUse[OpenEnvironment]) -> None:
        self._path, self._uses = path, uses

    def __enter__(self) -> Snapshot:
        self._opened = self._uses.enter()
        try:
            self._txn = self._opened.env.begin()
        except BaseException as error:
            self._uses.leave(self._opened)
            if isinstance(error, lmdb.Error):
                raise failure(self._path, "could not begin to read", error) from error
            raise
        self._snapshot = Snapshot(self._path, self._opened, self._txn)
        return self._snapshot

    def __exit__(self, *raised: object) -> None:
        self._snapshot.end()
        self._txn.abort()
        del self._txn
        self._uses.leave(self._opened)


class FoldReadingBlock:
    """Context manager of a snapshot of the open fold; `readers` lists the snapshot while both are open."""

    __slots__ = ("_opened", "_path", "_readers", "_snapshot", "_txn", "_uses")

    def __init__(
        self, path: Path, uses: InUse[OpenEnvironment], txn: lmdb.Transaction[bytes], readers: list[Snapshot]
    ) -> None:
        self._path, self._uses, self._txn, self._readers = path, uses, txn, readers

    def __enter__(self) -> Snapshot:
        self._opened = self._uses.enter()
        self._snapshot = Snapshot(self._path, self._opened, self._txn)
        del self._txn
        self._readers.append(self._snapshot)
        return self._snapshot

    def __exit__(self, *raised: object) -> None:
        self._snapshot.end()
        if self._snapshot in self._readers:
            self._readers.remove(self._snapshot)
        self._uses.leave(self._opened)


def _to_end(cursor: lmdb.Cursor[bytes], stop: bytes | None) -> bool:
    return cursor.prev() if stop is not None and cursor.set_range(stop) else cursor.last()


class Transaction(Snapshot):
    """Writing transaction. After a failed call it cannot be committed. With `noting`, changes are
    collected in `noted`.
    """

    def __init__(self, path: Path, opened: OpenEnvironment, txn: lmdb.Transaction[bytes], noting: bool) -> None:
        super().__init__(path, opened, txn)
        self.noted: list[RowChange] | None = [] if noting else None

    @property
    def changed(self) -> bool:
        return self._changes > 0

    def put(self, table: str, key: bytes, value: bytes) -> None:
        database = self._databases[table] or self._writable(table)
        if not 0 < len(key) <= KEY_BYTES:
            checked_key(key)
        self._changes += 1
        if self.noted is not None:
            self.noted.append((table, key, value))
        try:
            self._txn.put(key, value, True, True, False, database)
        except lmdb.Error as error:
            raise failure(self._path, f"could not write {table}", error) from error

    def append(self, table: str, key: bytes, value: bytes) -> None:
        database = self._writable(table)
        checked_key(key)
        self._change(table, key, value)
        try:
            if self._txn.put(key, value, db=database, append=True):
                return
        except lmdb.Error as error:
            raise failure(self._path, f"could not write {table}", error) from error
        raise OutOfOrder(f"{table}: key {key.hex()} does not come after the last one")

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._put_many(table, pairs, append=False)

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        if self._put_many(table, pairs, append=True) < len(pairs):
            raise OutOfOrder(f"{table}: keys do not come after the last one, or not in their order")

    def _put_many(self, table: str, pairs: Sequence[tuple[bytes, bytes]], append: bool) -> int:
        database = self._writable(table)
        for key, _ in pairs:
            if not 0 < len(key) <= KEY_BYTES:
                checked_key(key)
        self._changes += 1
        if self.noted is not None:
            self.noted += [(table, key, value) for key, value in pairs]
        try:
            with self._txn.cursor(database) as cursor:
                put: int = cursor.putmulti(pairs, append=append)[1]
        except lmdb.Error as error:
            raise failure(self._path, f"could not write {table}", error) from error
        return put

    def delete(self, table: str, key: bytes) -> bool:
        database = self._writable(table)
        checked_key(key)
        self._change(table, key, None)
        try:
            return self._txn.delete(key, db=database)
        except lmdb.Error as error:
            raise failure(self._path, f"could not write {table}", error) from error

    def clear(self, table: str) -> None:
        database = self._writable(table)
        self._change(table, b"", None)
        try:
            self._txn.drop(database, delete=False)
        except lmdb.Error as error:
            raise failure(self._path, f"could not clear {table}", error) from error

    def _change(self, table: str, key: bytes, value: bytes | None) -> None:
        self._changes += 1
        if self.noted is not None:
            self.noted.append((table, key, value))

    def _writable(self, table: str) -> lmdb._Database:
        database = self._databases[table]
        assert database is not None, "a writing transaction begins with every table made"
        return database
