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
* a commit that failed for anything but a full disk ends all writing: after a failed fsync the kernel may have
  dropped the pages, so that trying again would report success for bytes that are gone.

Nothing in the process may open the files of an open environment: closing such a descriptor drops LMDB's locks.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import lmdb

from quire_journal.log import TABLES, Damaged, OutOfOrder, StoreFailed
from quire_journal.stores import Durability, UnfitFolder, checked_key

_MAP_BYTES: Final = (1 << 40, 1 << 36, 1 << 32)
"""Address space to ask for, the first that the system grants. Not disk space."""

_MAX_DBS: Final = 64
"""Named databases. Above `len(TABLES)`, so that a journal with tables of a later version opens."""

_MAX_READERS: Final = 126

_LOCK_BYTES: Final = 16 * 1024
"""Of the lock file: more than the slots of all readers take."""

_FULL_BELOW_BYTES: Final = 1 << 20
"""With less free space than this a failed commit is put down to the full disk (LMDB reports it as an I/O error)."""

_REMOTE: Final = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x01021997: "9p",
    0x65735546: "FUSE",
    0x5346414F: "AFS",
    0x00C36400: "Ceph",
    0x0BD00BD0: "Lustre",
    0x786F4256: "a shared folder of VirtualBox",
    0xBACBACBC: "a shared folder of VMware",
}
"""File systems (by the magic number of statfs(2)) on which memory maps and locks do not do what LMDB needs."""

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


class _Snapshot:
    """A reading transaction; ends with its block."""

    def __init__(self, store: LmdbStore, txn: lmdb.Transaction[bytes]) -> None:
        self._store = store
        self._txn = txn
        self._databases = store.databases
        self._ended = False
        self._changes = 0  # moves when the tables change under an open scan

    def _database(self, table: str) -> lmdb._Database | None:
        """The handle of `table`; None for one that this file does not have yet."""
        if self._ended:
            raise RuntimeError("the transaction has ended; copy what it reads inside its block")
        return self._databases[table]

    def get(self, table: str, key: bytes) -> bytes | None:
        database = self._database(table)
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
        database = self._database(table)
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
                    self._database(table)  # the block may be over by now
                    if changes == self._changes:
                        found = cursor.prev() if reverse else cursor.next()
                    elif reverse:
                        found = _to_end(cursor, key)
                    else:
                        found = cursor.set_range(key) and (cursor.key() != key or cursor.next())
        except lmdb.Error as error:
            raise self._store.failure(f"could not read {table}", error) from error

    def count(self, table: str) -> int:
        database = self._database(table)
        return 0 if database is None else self._txn.stat(database)["entries"]

    def end(self) -> None:
        """Nothing can be read from now on."""
        self._ended = True


def _to_end(cursor: lmdb.Cursor[bytes], stop: bytes | None) -> bool:
    """Put `cursor` on the last key below `stop`."""
    return cursor.prev() if stop is not None and cursor.set_range(stop) else cursor.last()


class _Transaction(_Snapshot):
    """The writing transaction. After one failed call nothing of it can be committed any more."""

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self._set(table, key, value, append=False)

    def append(self, table: str, key: bytes, value: bytes) -> None:
        if not self._set(table, key, value, append=True):
            raise OutOfOrder(f"{table}: key {key.hex()} does not come after the last one")

    def _set(self, table: str, key: bytes, value: bytes, append: bool) -> bool:
        database = self._writable(table)
        checked_key(key)
        self._changes += 1
        try:
            return self._txn.put(key, value, db=database, append=append)
        except lmdb.Error as error:
            raise self._store.failure(f"could not write {table}", error) from error

    def delete(self, table: str, key: bytes) -> bool:
        database = self._writable(table)
        checked_key(key)
        self._changes += 1
        try:
            return self._txn.delete(key, db=database)
        except lmdb.Error as error:
            raise self._store.failure(f"could not write {table}", error) from error

    def clear(self, table: str) -> None:
        database = self._writable(table)
        self._changes += 1
        try:
            self._txn.drop(database, delete=False)
        except lmdb.Error as error:
            raise self._store.failure(f"could not clear {table}", error) from error

    def _writable(self, table: str) -> lmdb._Database:
        database = self._database(table)
        assert database is not None, "a writing transaction begins with every table made"
        return database


class LmdbStore:
    """Ordered tables of bytes in `folder/db`. Open it with `LmdbStore.open`."""

    def __init__(self, path: Path, env: lmdb.Environment, databases: dict[str, lmdb._Database | None]) -> None:
        self._path = path
        self._env: lmdb.Environment | None = env
        self._process = os.getpid()
        self._writer = threading.Lock()
        self._writer_thread: int | None = None
        self._broken: str = ""  # why nothing is written any more
        self.databases = databases

    @classmethod
    def open(cls, folder: Path, durability: Durability = Durability.NORMAL) -> LmdbStore:
        """The store in `folder`, made when there is none.

        Raises `UnfitFolder` (wrong owner, network file system), `Damaged` (not a database, or a torn one) or
        `StoreFailed` (disk full, open elsewhere in this process). One process at a time: the caller holds a lock.
        """
        require_fit(folder)
        path = folder / "db"
        try:
            if not path.exists():
                _make(folder, path)
            _require_whole(path / "data.mdb")
            env = _environment(path, sync=durability is not Durability.FAST)
        except OSError as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error.strerror}", _is_full(folder)) from error
        except _DAMAGE as error:
            raise Damaged(f"{path / 'data.mdb'} is not a sound database ({error}); {_ADVICE}") from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not open the journal in {folder}: {error}", _is_full(folder)) from error
        try:
            # Handles last only when a writing transaction opened them; this one changes nothing, so commits nothing.
            with env.begin(write=True) as txn:
                databases = {table: _find(env, txn, table) for table in TABLES}
            env.reader_check()  # readers of a process that was killed would keep old pages from being used again
        except lmdb.Error as error:
            env.close()
            raise Damaged(f"{path / 'data.mdb'} cannot be read ({error}); {_ADVICE}") from error
        return cls(path, env, databases)

    @property
    def path(self) -> Path:
        """The folder of the database. Nothing else in this process may open files in it."""
        return self._path

    @contextmanager
    def reading(self) -> Iterator[_Snapshot]:
        """One state of the tables, from any thread. Keep it short: pages that it sees cannot be used again."""
        env = self._opened()
        try:
            txn = env.begin()
        except lmdb.Error as error:
            raise self.failure("could not begin to read", error) from error
        snapshot = _Snapshot(self, txn)
        try:
            yield snapshot
        finally:
            snapshot.end()
            txn.abort()

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        """A transaction, bound to the thread that begins it. A second one waits; on the same thread it raises."""
        env = self._opened()
        if self._writer_thread == threading.get_ident():
            raise RuntimeError("this thread is already in a writing transaction")
        with self._writer:
            if self._broken:
                raise StoreFailed(f"nothing is written since a commit failed ({self._broken}); restart the daemon")
            self._writer_thread = threading.get_ident()
            try:
                yield from self._transact(env)
            finally:
                self._writer_thread = None

    def _transact(self, env: lmdb.Environment) -> Iterator[_Transaction]:
        self._make_tables(env)
        try:
            txn = env.begin(write=True)
        except lmdb.Error as error:
            raise self.failure("could not begin to write", error) from error
        transaction = _Transaction(self, txn)
        try:
            yield transaction
        except BaseException:
            transaction.end()
            txn.abort()
            raise
        transaction.end()
        try:
            txn.commit()
        except lmdb.Error as error:
            failed = self.failure("could not commit", error)
            if not (isinstance(failed, StoreFailed) and failed.disk_full):
                self._broken = str(error)
            raise failed from error

    def _make_tables(self, env: lmdb.Environment) -> None:
        """Add the tables that a file of an earlier version lacks. Not at open: a reader changes nothing."""
        missing = [table for table, database in self.databases.items() if database is None]
        if not missing:
            return
        try:
            with env.begin(write=True) as txn:
                made = {table: env.open_db(table.encode(), txn=txn) for table in missing}
        except lmdb.Error as error:
            raise self.failure("could not add tables", error) from error
        self.databases = {**self.databases, **made}

    def failure(self, what: str, error: lmdb.Error) -> StoreFailed | Damaged:
        """`error` in the words of the port."""
        if isinstance(error, _DAMAGE):
            return Damaged(f"{what}: {error}; {_ADVICE}")
        full = isinstance(error, lmdb.MapFullError | lmdb.DiskError) or _is_full(self._path)
        return StoreFailed(f"{what}: {'the disk is full' if full else error}", disk_full=full)

    def _opened(self) -> lmdb.Environment:
        if self._env is None:
            raise StoreFailed("the store is closed")
        if os.getpid() != self._process:
            # A child that commits on the parent's environment corrupts it, and LMDB does not stop it.
            raise RuntimeError("the store was opened by another process; open it again after a fork")
        return self._env

    def size_bytes(self) -> int:
        """Bytes that the database takes on disk."""
        return os.stat(self._path / "data.mdb").st_blocks * 512

    def sync(self) -> None:
        """Make every commit survive power loss; only `fast` has some that do not. Raises `StoreFailed`."""
        try:
            self._opened().sync(True)
        except lmdb.Error as error:
            self._broken = str(error)
            raise self.failure("could not sync", error) from error

    def reader_check(self) -> int:
        """Forget readers of processes that died; how many there were."""
        return self._opened().reader_check()

    def copy(self, folder: Path) -> None:
        """A compact copy of the database as `folder/db`, synced. `folder` must not hold one. Raises `StoreFailed`."""
        new = folder / "db.new"
        try:
            new.mkdir(mode=0o700, parents=True)
            self._opened().copy(str(new), compact=True)
            _sync_path(new / "data.mdb")
            _settle(new, folder / "db")
        except OSError as error:
            raise StoreFailed(f"could not copy the journal to {folder}: {error.strerror}", _is_full(folder)) from error
        except lmdb.Error as error:
            raise StoreFailed(f"could not copy the journal to {folder}: {error}", _is_full(folder)) from error

    def close(self) -> None:
        """Give everything back. Idempotent; transactions that are still open end."""
        env, self._env = self._env, None
        if env is not None and os.getpid() == self._process:
            env.close()


_ADVICE: Final = "stop the daemon and keep a copy of the folder before anything else"


def require_fit(folder: Path, file_system_of: Callable[[Path], int] | None = None) -> None:
    """Make `folder` when it is missing, and raise `UnfitFolder` when a journal must not be kept there.

    `file_system_of` gives the magic number of statfs(2); by default the system is asked.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.stat(folder)
    except OSError as error:
        raise UnfitFolder(f"the state folder {folder} cannot be made or read: {error.strerror}") from error
    if found.st_uid != os.geteuid():
        raise UnfitFolder(
            f"the state folder {folder} belongs to user {found.st_uid}, not to {os.geteuid()}; "
            "run as its owner, or choose another with XDG_STATE_HOME"
        )
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise UnfitFolder(
            f"others can write to the state folder {folder}; look at what it holds, then run `chmod go-w {folder}`"
        )
    kind = _REMOTE.get((file_system_of or file_system)(folder), "")
    if kind:
        raise UnfitFolder(
            f"the state folder {folder} lies on {kind}, where a journal can be damaged; "
            "set XDG_STATE_HOME to a folder on a local disk"
        )


def file_system(folder: Path) -> int:
    """The magic number of the file system of `folder`; 0 where the system does not tell (not Linux)."""
    if sys.platform != "linux":
        return 0
    # Larger than any struct statfs; f_type is its first word. os.statvfs does not have it.
    answer = (ctypes.c_long * 64)()
    if ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(folder), ctypes.byref(answer)) != 0:
        return 0
    return int(answer[0]) & 0xFFFFFFFF


def _environment(path: Path, sync: bool) -> lmdb.Environment:
    """The environment at `path`, with the largest map that the system grants."""
    _reserve_lock_file(path / "lock.mdb")
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


def _reserve_lock_file(lock: Path) -> None:
    """Give the lock file its blocks. LMDB maps it sparse: on a full disk its first touch kills the process (SIGBUS).

    Not opened when it has them: closing a descriptor of it drops the locks of an environment that is open.
    """
    try:
        found = lock.stat()
        if found.st_size >= _LOCK_BYTES and found.st_blocks * 512 >= _LOCK_BYTES:
            return
    except FileNotFoundError:
        pass
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(descriptor, 0, _LOCK_BYTES)
    finally:
        os.close(descriptor)


def _make(folder: Path, path: Path) -> None:
    """An empty database at `path`, or nothing: what a crash leaves of it is under another name."""
    new = folder / "db.new"
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(mode=0o700)
    with _environment(new, sync=True) as env:
        with env.begin(write=True) as txn:
            for table in TABLES:
                env.open_db(table.encode(), txn=txn)
        env.sync(True)
    _settle(new, path)


def _settle(new: Path, path: Path) -> None:
    """Rename `new` to `path` so that it lasts."""
    _sync_path(new)
    os.rename(new, path)
    _sync_path(path.parent)


def _sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _find(env: lmdb.Environment, txn: lmdb.Transaction[bytes], table: str) -> lmdb._Database | None:
    try:
        return env.open_db(table.encode(), txn=txn, create=False)
    except lmdb.NotFoundError:
        return None


_META: Final = struct.Struct("=16x II 16x I 44x 48x Q Q")
"""A meta page of engine 0.9 on a 64-bit machine: magic, version, page size, last page, transaction."""


def _require_whole(data: Path) -> None:
    """Raise `Damaged` for a file that is shorter than its newest meta page says; LMDB would die of it with SIGBUS.

    Must run before the environment is opened: closing a descriptor of it afterwards would drop LMDB's locks.
    """
    size = data.stat().st_size
    with data.open("rb") as file:
        heads = [file.read(_META.size)]
        page = _META.unpack(heads[0])[2] if len(heads[0]) == _META.size else 0
        if page:
            file.seek(page)
            heads.append(file.read(_META.size))
    metas = [_META.unpack(head) for head in heads if len(head) == _META.size]
    if len(metas) != 2 or any(magic != 0xBEEFC0DE for magic, *_ in metas):
        raise Damaged(f"{data} is not a database, or its beginning is lost; {_ADVICE}")
    newest = max(metas, key=lambda meta: meta[4])
    if size >= (newest[3] + 1) * page:
        return
    # The last pages may have been given up before they were ever written: only a full walk can tell.
    from lmdb import verify

    try:
        problems: list[str] = verify.verify(str(data))  # type: ignore[no-untyped-call]
    except verify.VerifyError as error:
        problems = [str(error)]
    if problems:
        raise Damaged(f"{data} is cut off at {size} bytes ({problems[0]}); {_ADVICE}")


def _is_full(folder: Path) -> bool:
    """Is there hardly any space left for this user?"""
    try:
        free = os.statvfs(folder)
    except OSError:
        return False
    return free.f_bavail * free.f_frsize < _FULL_BELOW_BYTES
