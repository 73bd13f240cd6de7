"""The store on disk: one LMDB environment in the state folder. The only module that imports `lmdb`.

What is done here, and why:

* engine 0.9, asked for by name: an environment variable could otherwise choose a format that the other cannot read;
* a map of 1 TiB, never resized: growing it would end every open transaction; the file grows only as it is used;
* full sync of data and meta page: without the second, a power cut undoes commits that were already answered;
* no `writemap`: on a full disk it kills the process with SIGBUS, without it the commit fails cleanly;
* appends are checked: LMDB itself answers an out-of-order append with False and stores nothing;
* values are bytes: a buffer stays readable after its transaction and can show other content later;
* the lock file gets its blocks before LMDB maps it: on a full disk the process would be killed otherwise;
* a new database is made under another name and renamed when it is complete and synced;
* freed pages are given back, and their bytes made to disappear, by a copy only (`stores.compacting`): the file that it
  makes takes the place of the old one, whose environment stays open until its last reader has ended;
* after each commit the file must still stand at its path: that of a removed journal ends with the process;
* a commit that failed for anything but a full disk ends all writing: after a failed fsync the kernel may have
  dropped the pages, so that trying again would report success for bytes that are gone.

Nothing in the process may open the files of an open environment: closing such a descriptor drops LMDB's locks.
"""

from __future__ import annotations

import os
import shutil
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

import lmdb

from quire_journal.lasting import settle, sync_path
from quire_journal.log import TABLES, Damaged, JournalGone, OutOfOrder, StoreFailed
from quire_journal.stores import KEY_BYTES, Durability, checked_key
from quire_journal.stores.afterimage import NAME as IMAGE
from quire_journal.stores.afterimage import Afterimage
from quire_journal.stores.compacting import ByCopy, Change, Target, Tee
from quire_journal.stores.disk import is_full, require_fit, require_room
from quire_journal.stores.files import ADVICE, file_at, require_whole, reserve_lock_file
from quire_journal.stores.in_use import Counted, InUse

_MAP_BYTES: Final = (1 << 40, 1 << 36, 1 << 32)
"""Address space to ask for, the first that the system grants. Not disk space."""

_MAX_DBS: Final = 64
"""Named databases. Above `len(TABLES)`, so that a journal with tables of a later version opens."""

_MAX_READERS: Final = 126

_COPY: Final = "db.compact"
"""Name of the folder in which a compaction makes its copy, beside `db`."""

_DAMAGE: Final = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
    lmdb.CursorFullError,
    lmdb.PageFullError,
)
"""Errors of LMDB that say that the file is not what it must be."""


class _Opened(Counted):
    """An environment that is open, and which file that is."""

    def __init__(self, env: lmdb.Environment, databases: dict[str, lmdb._Database | None]) -> None:
        super().__init__(env)
        self.env = env
        self.databases = databases
        self.file = file_at(f"{env.path()}/data.mdb")


class _Ended(dict[str, "lmdb._Database | None"]):
    """The tables of a transaction that has ended: there are none."""

    def __missing__(self, table: str) -> NoReturn:
        raise RuntimeError("the transaction has ended; copy what it reads inside its block")


_ENDED: Final = _Ended()


class _Snapshot:
    """A reading transaction; ends with its block."""

    def __init__(self, store: LmdbStore, opened: _Opened, txn: lmdb.Transaction[bytes]) -> None:
        self._store = store
        self._txn = txn
        self._databases: Mapping[str, lmdb._Database | None] = opened.databases  # None: this file has no such table yet
        self.known: dict[Any, Any] = {}
        self._changes = 0  # moves when the tables change under an open scan

    def get(self, table: str, key: bytes) -> bytes | None:
        # An edit makes a hundred of these calls and of `put`: what is checked, is checked in place.
        database = self._databases[table]
        if not 0 < len(key) <= KEY_BYTES:
            checked_key(key)
        if database is None:
            return None
        try:
            return self._txn.get(key, db=database)
        except lmdb.Error as error:
            raise self._store.failure(f"could not read {table}", error) from error

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        database = self._databases[table]
        if database is None:
            return
        try:
            with self._txn.cursor(database) as cursor:
                found = _to_end(cursor, stop) if reverse else cursor.set_range(start)
                while found:
                    key, value = cursor.item()
                    if key < start if reverse else stop is not None and key >= stop:
                        return
                    changes = self._changes
                    yield key, value
                    self._databases[table]  # the block may be over by now
                    if changes == self._changes:
                        found = cursor.prev() if reverse else cursor.next()
                    elif reverse:
                        found = _to_end(cursor, key)
                    else:
                        found = cursor.set_range(key) and (cursor.key() != key or cursor.next())
        except lmdb.Error as error:
            raise self._store.failure(f"could not read {table}", error) from error

    def values(self, table: str, start: bytes = b"") -> list[bytes]:
        database = self._databases[table]
        if database is None:
            return []
        try:
            with self._txn.cursor(database) as cursor:
                return list(cursor.iternext(keys=False, values=True)) if cursor.set_range(start) else []
        except lmdb.Error as error:
            raise self._store.failure(f"could not read {table}", error) from error

    def count(self, table: str) -> int:
        database = self._databases[table]
        return 0 if database is None else self._txn.stat(database)["entries"]

    def end(self) -> None:
        """Nothing can be read from now on."""
        self._databases = _ENDED


class _Reading:
    """The block of a snapshot. A class, because an edit asks in three of them, and a generator takes twice as long."""

    __slots__ = ("_opened", "_snapshot", "_store", "_txn", "_uses")

    def __init__(self, store: LmdbStore, uses: InUse[_Opened]) -> None:
        self._store, self._uses = store, uses

    def __enter__(self) -> _Snapshot:
        self._opened = self._uses.enter()
        try:
            self._txn = self._opened.env.begin()
        except BaseException as error:
            self._uses.leave(self._opened)
            if isinstance(error, lmdb.Error):
                raise self._store.failure("could not begin to read", error) from error
            raise
        self._snapshot = _Snapshot(self._store, self._opened, self._txn)
        return self._snapshot

    def __exit__(self, *raised: object) -> None:
        self._snapshot.end()
        self._txn.abort()
        self._uses.leave(self._opened)


def _to_end(cursor: lmdb.Cursor[bytes], stop: bytes | None) -> bool:
    """Put `cursor` on the last key below `stop`."""
    return cursor.prev() if stop is not None and cursor.set_range(stop) else cursor.last()


class _Transaction(_Snapshot):
    """The writing transaction. After one failed call nothing of it can be committed any more."""

    def __init__(self, store: LmdbStore, opened: _Opened, txn: lmdb.Transaction[bytes], noting: bool) -> None:
        super().__init__(store, opened, txn)
        self.noted: list[Change] | None = [] if noting else None

    def put(self, table: str, key: bytes, value: bytes) -> None:
        database = self._databases[table] or self._writable(table)
        if not 0 < len(key) <= KEY_BYTES:
            checked_key(key)
        self._changes += 1
        if self.noted is not None:
            self.noted.append((table, key, value))
        try:
            self._txn.put(key, value, db=database)
        except lmdb.Error as error:
            raise self._store.failure(f"could not write {table}", error) from error

    def append(self, table: str, key: bytes, value: bytes) -> None:
        database = self._writable(table)
        checked_key(key)
        self._change(table, key, value)
        try:
            if self._txn.put(key, value, db=database, append=True):
                return
        except lmdb.Error as error:
            raise self._store.failure(f"could not write {table}", error) from error
        raise OutOfOrder(f"{table}: key {key.hex()} does not come after the last one")

    def put_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        self._put_many(table, pairs, append=False)

    def append_all(self, table: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
        if self._put_many(table, pairs, append=True) < len(pairs):
            raise OutOfOrder(f"{table}: keys do not come after the last one, or not in their order")

    def _put_many(self, table: str, pairs: Sequence[tuple[bytes, bytes]], append: bool) -> int:
        """How many of them were put: an append that is out of order is left out."""
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
            raise self._store.failure(f"could not write {table}", error) from error
        return put

    def delete(self, table: str, key: bytes) -> bool:
        database = self._writable(table)
        checked_key(key)
        self._change(table, key, None)
        try:
            return self._txn.delete(key, db=database)
        except lmdb.Error as error:
            raise self._store.failure(f"could not write {table}", error) from error

    def clear(self, table: str) -> None:
        database = self._writable(table)
        self._change(table, b"", None)
        try:
            self._txn.drop(database, delete=False)
        except lmdb.Error as error:
            raise self._store.failure(f"could not clear {table}", error) from error

    def _change(self, table: str, key: bytes, value: bytes | None) -> None:
        self._changes += 1
        if self.noted is not None:
            self.noted.append((table, key, value))

    def _writable(self, table: str) -> lmdb._Database:
        database = self._databases[table]
        assert database is not None, "a writing transaction begins with every table made"
        return database


class LmdbStore:
    """Ordered tables of bytes in `folder/db`. Open it with `LmdbStore.open`."""

    def __init__(self, path: Path, opened: _Opened, durability: Durability) -> None:
        self._path = path
        self._file = f"{path}/data.mdb"
        self._opened = InUse(opened)
        self._durability = durability
        self._writer = threading.Lock()
        self._writer_thread: int | None = None
        self._tee: Tee | None = None  # of the compaction that is going on
        self._broken: str = ""  # why nothing is written any more
        self._gone = False  # nor now: what is written ends with the process
        self._image: Afterimage | None = None

    @classmethod
    def open(cls, folder: Path, durability: Durability = Durability.NORMAL) -> LmdbStore:
        """The store in `folder`, made when there is none.

        Raises `UnfitFolder` (wrong owner, network file system), `Damaged` (not a database, or a torn one) or
        `StoreFailed` (disk full, open elsewhere in this process). One process at a time: the caller holds a lock.
        """
        require_fit(folder)
        path = folder / "db"
        try:
            if (folder / _COPY).exists():
                shutil.rmtree(folder / _COPY)  # of a compaction that did not come to its end
            if not path.exists():
                _make(folder / "db.new")
                settle(folder / "db.new", path)
            require_whole(path / "data.mdb", walk)
            env = _environment(path, sync=durability is not Durability.FAST)
        except OSError as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error.strerror}", is_full(folder)) from error
        except _DAMAGE as error:
            raise Damaged(f"{path / 'data.mdb'} is not a sound database ({error}); {ADVICE}") from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error}", is_full(folder)) from error
        try:
            opened = _open_tables(env)
            env.reader_check()  # readers of a process that was killed would keep old pages from being used again
        except lmdb.Error as error:
            env.close()
            raise Damaged(f"{path / 'data.mdb'} cannot be read ({error}); {ADVICE}") from error
        return cls(path, opened, durability)

    @classmethod
    def open_to_read(cls, folder: Path) -> LmdbStore:
        """The store in `folder`, for a process that only reads, also while another one has it open and writes.

        A damaged database can end the process: for a child that nobody else depends on. Raises `Damaged` or
        `StoreFailed`.
        """
        path = folder / "db"
        try:
            require_whole(path / "data.mdb", walk)
            env = lmdb.open(
                str(path),
                map_size=max(1 << 30, 2 * (path / "data.mdb").stat().st_size),
                max_dbs=_MAX_DBS,
                max_readers=_MAX_READERS,
                readonly=True,
                create=False,
                readahead=False,
                lib_version=0,
            )
            # Each in a transaction of its own: handles that a reading one opened among others do not last.
            opened = _Opened(env, {table: _find(env, None, table) for table in TABLES})
        except OSError as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error.strerror}") from error
        except _DAMAGE as error:
            raise Damaged(f"{path / 'data.mdb'} is not a sound database ({error}); {ADVICE}") from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error}") from error
        return cls(path, opened, Durability.NORMAL)

    @property
    def path(self) -> Path:
        """The folder of the database. Nothing else in this process may open files in it."""
        return self._path

    def reading(self) -> AbstractContextManager[_Snapshot]:
        """One state of the tables, from any thread. Keep it short: pages that it sees cannot be used again."""
        return _Reading(self, self._opened)

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        """A transaction, bound to the thread that begins it. A second one waits; on the same thread it raises."""
        self._opened.get()
        if self._writer_thread == threading.get_ident():
            raise RuntimeError("this thread is already in a writing transaction")
        with self._writer:
            opened = self._opened.get()  # only now: it may have been replaced meanwhile
            self._require_whole()
            self._writer_thread = threading.get_ident()
            try:
                yield from self._transact(opened)
            finally:
                self._writer_thread = None

    def _transact(self, opened: _Opened) -> Iterator[_Transaction]:
        self._make_tables(opened)
        try:
            txn = opened.env.begin(write=True)
        except lmdb.Error as error:
            raise self.failure("could not begin to write", error) from error
        transaction = _Transaction(self, opened, txn, noting=self._tee is not None)
        try:
            yield transaction
        except BaseException:
            transaction.end()
            txn.abort()
            raise
        transaction.end()
        if self._image is not None:
            self._image.committing()
        try:
            txn.commit()
        except lmdb.Error as error:
            failed = self.failure("could not commit", error)
            if not (isinstance(failed, StoreFailed) and failed.disk_full):
                self._broken = str(error)
            raise failed from error
        if file_at(self._file) != opened.file:  # one call of the system, against answers that would not be true
            self._gone = True
            raise JournalGone(f"the journal in {self._path.parent} was removed or replaced")
        if self._image is not None:
            self._image.committed()
        if self._tee is not None and transaction.noted:
            self._tee.add(transaction.noted)

    def _require_whole(self) -> None:
        """Raise `StoreFailed` when a commit failed for good."""
        if self._gone:
            raise JournalGone(f"the journal in {self._path.parent} was removed or replaced")
        if self._broken:
            raise StoreFailed(f"nothing is written since a commit failed ({self._broken}); restart the daemon")

    def _make_tables(self, opened: _Opened) -> None:
        """Add the tables that a file of an earlier version lacks. Not at open: a reader changes nothing."""
        missing = [table for table, database in opened.databases.items() if database is None]
        if not missing:
            return
        if self._image is not None:
            self._image.committing()
        try:
            with opened.env.begin(write=True) as txn:
                made = {table: opened.env.open_db(table.encode(), txn=txn) for table in missing}
        except lmdb.Error as error:
            raise self.failure("could not add tables", error) from error
        opened.databases = {**opened.databases, **made}

    def failure(self, what: str, error: lmdb.Error) -> StoreFailed | Damaged:
        """`error` in the words of the port."""
        # A transaction is given up by LMDB itself (MDB_BAD_TXN) when it met a page that makes no sense.
        if isinstance(error, (*_DAMAGE, lmdb.BadTxnError)):
            return Damaged(f"{what}: {error}; {ADVICE}", everywhere=True)
        full = isinstance(error, lmdb.MapFullError | lmdb.DiskError) or is_full(self._path)
        return StoreFailed(f"{what}: {'the disk is full' if full else error}", disk_full=full)

    def size_bytes(self) -> int:
        """Bytes that the database takes on disk."""
        return os.stat(self._path / "data.mdb").st_blocks * 512

    def used_bytes(self) -> int:
        """Bytes of the pages that hold pairs."""
        try:
            with self._opened.used() as opened, opened.env.begin() as txn:
                tables = [txn.stat(database) for database in opened.databases.values() if database is not None]
        except lmdb.Error as error:
            raise self.failure("could not read how much is used", error) from error
        return sum(
            stat["psize"] * (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]) for stat in tables
        )

    def sync(self) -> None:
        """Make every commit survive power loss; only `fast` has some that do not. Raises `StoreFailed`."""
        try:
            self._opened.get().env.sync(True)
        except lmdb.Error as error:
            self._broken = str(error)
            raise self.failure("could not sync", error) from error

    def leave_image(self, unproven: bool) -> None:
        """From now on let a start after a kill tell whether the file is as this process left it (`afterimage`)."""
        self._image = Afterimage(self._path.parent / IMAGE, self._path / "data.mdb", unproven)

    def drop_image(self) -> None:
        """The file may be damaged, also where it is as this process left it."""
        if self._image is not None:
            self._image.drop()

    def reader_check(self) -> int:
        """Forget readers of processes that died; how many there were."""
        return self._opened.get().env.reader_check()

    def copy(self, folder: Path) -> None:
        """A copy of the database as `folder/db`, synced, without its free pages. `folder` must not hold one.

        What was deleted may still be in the gaps of its pages: for a copy to keep, not one to hide something.
        Raises `StoreFailed`.
        """
        new = folder / "db.new"
        try:
            new.mkdir(mode=0o700, parents=True)
            self._opened.get().env.copy(str(new), compact=True)
            sync_path(new / "data.mdb")
            settle(new, folder / "db")
        except OSError as error:
            raise StoreFailed(f"could not copy the journal to {folder}: {error.strerror}", is_full(folder)) from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not copy the journal to {folder}: {error}", is_full(folder)) from error

    # ── compaction: the part of `stores.compacting` that knows the files ──

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> ByCopy:
        """Begin a compaction: from now on every change is noted."""
        if self._tee is not None:
            raise RuntimeError("a compaction is going on")
        self.require_room(self.used_bytes())
        folder = self._path.parent / _COPY
        if folder.exists():
            shutil.rmtree(folder)
        target = _Copy.begin(folder, self._durability)
        with self._writer:
            self._require_whole()
            tee = self._tee = Tee()
        return ByCopy(self, target, tee, step)

    def require_room(self, copy_bytes: int = 0) -> None:
        """Raise `StoreFailed` when the rest of a copy would not fit, with room for what others write."""
        require_room(self._path, copy_bytes)

    def replace_by(self, target: Target, last_round: Callable[[], None], step: Callable[[str], None]) -> None:
        """Put `target` in the place of the present file. Readers that are under way end on the old one.

        LMDB does not mind that the files of an open environment are renamed: it never opens them by name again.
        """
        assert isinstance(target, _Copy)
        with self._writer:
            last_round()
            try:
                os.rename(target.path / "data.mdb", self._path / "data.mdb")
            except OSError as error:
                raise StoreFailed(f"could not put the compacted journal in place: {error.strerror}") from error
            if self._image is not None:
                self._image.committed()
            step("compact_moved")
            self._opened.replace(target.surrender())
            try:
                # What the lock file holds matters while it is open; a crash between the two renames costs nothing.
                os.rename(target.path / "lock.mdb", self._path / "lock.mdb")
                os.rmdir(target.path)
                sync_path(self._path)
                sync_path(self._path.parent)
            except OSError as error:
                self._broken = f"the compacted journal may not be in place after a power cut: {error.strerror}"
                raise StoreFailed(self._broken) from error

    def stop_noting(self) -> None:
        """No compaction is going on any more."""
        with self._writer:
            self._tee = None

    def give_back(self) -> None:
        """Close the files that were replaced, each when its last reader has ended."""
        self._opened.give_back()

    def close(self) -> None:
        """Give everything back. Idempotent; transactions that are still open end."""
        if self._image is not None:
            self._image.close()
        self._opened.close()


class _Copy(LmdbStore):
    """The file that a compaction makes: synced only when it is asked for, until it is hardened."""

    _target_durability = Durability.NORMAL

    @classmethod
    def begin(cls, folder: Path, durability: Durability) -> _Copy:
        """An empty one in `folder`, which will last as `durability` says. Raises `StoreFailed`."""
        try:
            _make(folder)
            env = _environment(folder, sync=False)
            copy = cls(folder, _open_tables(env), Durability.FAST)
        except OSError as error:
            raise StoreFailed(f"could not begin a compaction: {error.strerror}", is_full(folder.parent)) from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not begin a compaction: {error}", is_full(folder.parent)) from error
        copy._target_durability = durability
        return copy

    def harden(self) -> None:
        """Sync it; from now on its commits last as those of the store that is copied."""
        self.sync()
        if self._target_durability is Durability.FAST:
            return
        self._opened.close()
        try:
            self._opened = InUse(_open_tables(_environment(self._path, sync=True)))
        except (OSError, lmdb.Error) as error:
            raise StoreFailed(f"could not open the compacted journal: {error}", is_full(self._path)) from error

    def surrender(self) -> _Opened:
        """The environment, which is another store's from now on."""
        return self._opened.surrender()

    def throw_away(self) -> None:
        """Close it and remove its files."""
        self.close()
        shutil.rmtree(self._path, ignore_errors=True)


def _environment(path: Path, sync: bool) -> lmdb.Environment:
    """The environment at `path`, with the largest map that the system grants."""
    reserve_lock_file(path / "lock.mdb")
    for attempt, map_bytes in enumerate(_MAP_BYTES, 1):
        try:
            return lmdb.open(
                str(path),
                map_size=map_bytes,
                max_dbs=_MAX_DBS,
                max_readers=_MAX_READERS,
                max_spare_txns=4,
                mode=0o600,
                metasync=sync,
                sync=sync,
                writemap=False,
                lib_version=0,
            )
        except lmdb.MemoryError:
            if attempt == len(_MAP_BYTES):
                raise
    raise AssertionError("unreachable")


def _make(new: Path) -> None:
    """An empty database at `new`, complete and synced, in the place of what a crash may have left there."""
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(mode=0o700)
    with _environment(new, sync=True) as env:
        with env.begin(write=True) as txn:
            for table in TABLES:
                env.open_db(table.encode(), txn=txn)
        env.sync(True)


def _open_tables(env: lmdb.Environment) -> _Opened:
    """`env` with a handle of every table that it has."""
    # Handles last only when a writing transaction opened them; this one changes nothing, so commits nothing.
    with env.begin(write=True) as txn:
        return _Opened(env, {table: _find(env, txn, table) for table in TABLES})


def _find(env: lmdb.Environment, txn: lmdb.Transaction[bytes] | None, table: str) -> lmdb._Database | None:
    try:
        return env.open_db(table.encode(), txn=txn, create=False)
    except lmdb.NotFoundError:
        return None


def walk(data: Path) -> list[str]:
    """What is wrong with the pages of a database; nothing when every one is where and what it must be.

    It is read as a file: nothing in it can end the process. A database that is written meanwhile holds still for a
    process that has a snapshot open. Closing the file drops the locks that this process has on it: for a child.
    """
    from lmdb import verify

    try:
        problems: list[str] = verify.verify(str(data))  # type: ignore[no-untyped-call]
    except (verify.VerifyError, ValueError, IndexError, OverflowError, RecursionError, struct.error) as error:
        return [str(error) or type(error).__name__]
    return problems
