"""LMDB environments: creation, opening, structure check, and translation of errors."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import lmdb

from quire_journal.model import JournalDamaged
from quire_journal.storage import NO_ROOM, TABLES, RefCounted, StoreFailure, takes_nothing
from quire_journal.storage.lmdb.files import ADVICE, reserve_lock_file

_MAP_BYTES: Final = (1 << 40, 1 << 36, 1 << 32)
"""Sizes of the memory map (address space, not disk space); the first granted is used."""

_MAX_DBS: Final = 64
"""Maximum number of named databases; above `len(TABLES)`, so that a journal of a later version opens."""

MAX_READERS: Final = 126

DAMAGE: Final = (
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.InvalidError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
    lmdb.CursorFullError,
    lmdb.PageFullError,
)


class UnusedFiles:
    """Files of replaced environments, removed when all of these environments are closed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: set[Path] = set()
        self._open = 0

    def add(self, files: Iterable[Path]) -> None:
        """Add the files of one more replaced environment."""
        with self._lock:
            self._files.update(files)
            self._open += 1

    def close_one(self) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                for path in self._files:
                    with suppress(OSError):  # the next start removes it
                        path.unlink()
                self._files.clear()


class _Closing:
    def __init__(self, env: lmdb.Environment) -> None:
        self._env = env
        self.unused: UnusedFiles | None = None

    def close(self) -> None:
        self._env.close()
        if self.unused is not None:
            self.unused.close_one()
            self.unused = None


class OpenEnvironment(RefCounted):
    """Open environment, with the identity of its file. Raises OSError."""

    def __init__(self, env: lmdb.Environment, databases: dict[str, lmdb._Database | None]) -> None:
        super().__init__(_Closing(env))
        self.env = env
        self.databases = databases
        found = os.stat(f"{env.path()}/data.mdb")
        self.file = found.st_dev, found.st_ino

    def leave(self, unused: UnusedFiles, files: Iterable[Path]) -> None:
        """Add `files`, which only this environment and older ones need, to `unused`, as another environment replaces
        this one.
        """
        assert isinstance(self.closes, _Closing)
        unused.add(files)
        self.closes.unused = unused


def environment(path: Path, sync: bool) -> lmdb.Environment:
    """Open the environment at `path`, with the largest map that the system grants. With `sync`, a commit survives a
    power cut after the next commit or `env.sync(True)`, and never damages the file.
    """
    reserve_lock_file(path / "lock.mdb")
    for attempt, map_bytes in enumerate(_MAP_BYTES, 1):
        try:
            return lmdb.open(
                str(path),
                map_size=map_bytes,
                max_dbs=_MAX_DBS,
                max_readers=MAX_READERS,
                max_spare_txns=4,
                mode=0o600,
                metasync=False,
                sync=sync,
                writemap=False,
                lib_version=0,
            )
        except lmdb.MemoryError:
            if attempt == len(_MAP_BYTES):
                raise
    raise AssertionError("unreachable")


def make(new: Path) -> None:
    """Make an empty database at `new`, complete and synced, replacing leftovers of a crash."""
    if new.exists():
        shutil.rmtree(new)
    new.mkdir(mode=0o700)
    with environment(new, sync=True) as env:
        with env.begin(write=True) as txn:
            for table in TABLES:
                env.open_db(table.encode(), txn=txn)
        env.sync(True)


def open_tables(env: lmdb.Environment) -> OpenEnvironment:
    # Handles last only if a writing transaction opened them; this transaction changes nothing.
    with env.begin(write=True) as txn:
        return OpenEnvironment(env, {table: find(env, txn, table) for table in TABLES})


def open_to_read(path: Path) -> OpenEnvironment:
    env = lmdb.open(
        str(path),
        map_size=max(1 << 30, 2 * (path / "data.mdb").stat().st_size),
        max_dbs=_MAX_DBS,
        max_readers=MAX_READERS,
        readonly=True,
        create=False,
        readahead=False,
        lib_version=0,
    )
    # One transaction for each, as handles opened by a shared reading transaction do not last.
    return OpenEnvironment(env, {table: find(env, None, table) for table in TABLES})


def find(env: lmdb.Environment, txn: lmdb.Transaction[bytes] | None, table: str) -> lmdb._Database | None:
    try:
        return env.open_db(table.encode(), txn=txn, create=False)
    except lmdb.NotFoundError:
        return None


_QUOTA: Final = os.strerror(errno.EDQUOT)
_FAULT: Final = os.strerror(errno.EIO)


def failure(path: Path, what: str, error: lmdb.Error) -> StoreFailure | JournalDamaged:
    """Convert an LMDB error to `StoreFailure` or `JournalDamaged`; `what` says what failed."""
    # LMDB itself ends a transaction (MDB_BAD_TXN) that met an invalid page.
    if isinstance(error, (*DAMAGE, lmdb.BadTxnError)):
        return JournalDamaged(f"{what}: {error}; {ADVICE}", everywhere=True)
    full = _no_room(path, error)
    return StoreFailure(f"{what}: {'the disk is full' if full else error}", disk_full=full)


def store_failed(folder: Path, what: str, error: lmdb.Error | OSError) -> StoreFailure:
    """Convert an error raised before the database is open to `StoreFailure`."""
    said = error.strerror if isinstance(error, OSError) else error
    return StoreFailure(f"{what}: {said}", disk_full=_no_room(folder, error))


def _no_room(folder: Path, error: lmdb.Error | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in NO_ROOM
    if isinstance(error, lmdb.MapFullError | lmdb.DiskError) or _QUOTA in str(error):
        return True
    return _FAULT in str(error) and takes_nothing(folder)  # LMDB reports a short write in this way, too


def walk(data: Path) -> list[str]:
    """Return the problems of the pages of a database. Damage cannot end the process.

    Call it in a child process, as closing the file drops this process's locks on it. While other processes write, hold
    a snapshot open.
    """
    from lmdb import verify

    try:
        problems: list[str] = verify.verify(str(data))  # type: ignore[no-untyped-call]
    except (verify.VerifyError, ValueError, IndexError, OverflowError, RecursionError, struct.error) as error:
        return [str(error) or type(error).__name__]
    return problems
