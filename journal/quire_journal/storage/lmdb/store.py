"""LMDB store: one environment, its single writer, and compaction."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import lmdb

from quire_journal.model import JournalDamaged
from quire_journal.storage import (
    FULL_BELOW_BYTES,
    MOST_BYTES,
    ByCopy,
    InUse,
    JournalGone,
    JournalUnseen,
    LogPosition,
    RowChange,
    StoreFailure,
    Target,
    Tee,
    WriteAheadLog,
    boot_mark,
    free_bytes,
    fsync,
    packs,
    require_fit,
    require_room,
    sync_path,
    takes_nothing,
)
from quire_journal.storage.lmdb.environment import (
    DAMAGE,
    OpenEnvironment,
    UnusedFiles,
    environment,
    failure,
    make,
    open_tables,
    open_to_read,
    store_failed,
    walk,
)
from quire_journal.storage.lmdb.files import ADVICE, require_whole
from quire_journal.storage.lmdb.transaction import FoldReadingBlock, ReadingBlock, Snapshot, Transaction

_COPY: Final = "db.compact"

_HELD: Final = ("meta", b"log")
"""Table and key of the log position up to which the database holds the write-ahead log."""


def _nothing(published: bool) -> None: ...


class _OpenFold(NamedTuple):
    """LMDB write transaction that collects view updates until `publish` commits it. Only its thread may use it; an
    error in a `folding` block aborts it.
    """

    opened: OpenEnvironment
    txn: lmdb.Transaction[bytes]
    rows: Transaction


class _Threads(threading.local):
    """Open folds of each thread, so that none is freed on another thread: its LMDB mutex, unlocked there, crashes the
    process later.
    """

    def __init__(self) -> None:
        self.folds: list[_OpenFold] = []


_THREAD: Final = _Threads()


_BESIDE: Final = "db.beside"


class LmdbStore:
    """Ordered tables of bytes in `folder/db`. Open it with `LmdbStore.open`."""

    def __init__(self, path: Path, opened: OpenEnvironment, synced: bool = True) -> None:
        self._path = path
        self._file = f"{path}/data.mdb"
        self._opened = InUse(opened)
        self._synced = synced
        self._writer = threading.Lock()
        self._writer_thread: int | None = None
        self._tee: Tee | None = None  # of the running compaction
        self._broken: str = ""  # why nothing can be written any more
        self._gone = False  # True: the file is gone, so no start would find a write
        self._log = WriteAheadLog(path)
        self._logging = 0  # id of the thread that logs and folds
        self._fold: _OpenFold | None = None
        self._folded: LogPosition | None = None  # log position folded by the last `folding` block
        self._readers: list[Snapshot] = []  # open snapshots of the open fold
        self._unused = UnusedFiles()
        self.fold_first: Callable[[bool], None] = _nothing

    @classmethod
    def open(cls, folder: Path, synced: bool = True) -> LmdbStore:
        """Open the store in `folder`, made if missing. Unless `synced`, commits are durable with the next `sync`.

        Raises `UnfitFolder` (wrong owner, network file system), `JournalDamaged` (not a database, or a torn one) or
        `StoreFailure` (disk full, open elsewhere in this process). One process at a time: the caller holds a lock.
        """
        require_fit(folder)
        path = folder / "db"
        try:
            if (folder / _COPY).exists():
                shutil.rmtree(folder / _COPY)  # left by an interrupted compaction
            cls.remove_beside(folder)
            if not path.exists():
                make(folder / "db.new")
                fsync.rename(folder / "db.new", path)
            require_whole(path / "data.mdb", walk)
            env = environment(path, sync=synced)
        except DAMAGE as error:
            raise JournalDamaged(f"{path / 'data.mdb'} is not a sound database ({error}); {ADVICE}") from error
        except (OSError, lmdb.Error) as error:
            raise store_failed(folder, f"could not open the journal in {folder}", error) from error
        try:
            opened = open_tables(env)
            env.reader_check()  # dead readers would pin old pages
            _remove_packs(path, opened)
        except lmdb.Error as error:
            env.close()
            raise JournalDamaged(f"{path / 'data.mdb'} cannot be read ({error}); {ADVICE}") from error
        except OSError as error:
            env.close()
            raise store_failed(folder, f"could not open the journal in {folder}", error) from error
        return cls(path, opened, synced)

    @classmethod
    def open_to_read(cls, folder: Path) -> LmdbStore:
        """Open the store in `folder` only to read, even while another process writes. A damaged database can end the
        process, so call it in a child. Raises `JournalDamaged` or `StoreFailure`.
        """
        path = folder / "db"
        try:
            require_whole(path / "data.mdb", walk)
            opened = open_to_read(path)
        except OSError as error:
            raise StoreFailure(f"could not open the journal in {folder}: {error.strerror}") from error
        except DAMAGE as error:
            raise JournalDamaged(f"{path / 'data.mdb'} is not a sound database ({error}); {ADVICE}") from error
        except lmdb.Error as error:
            raise StoreFailure(f"could not open the journal in {folder}: {error}") from error
        return cls(path, opened)

    @classmethod
    def beside(cls, folder: Path) -> LmdbStore:
        """Make a temporary empty store in the folder of a journal, not durable; one at a time.
        Raises `StoreFailure`.
        """
        return Copy.begin(folder / _BESIDE, hardens=False)

    @staticmethod
    def remove_beside(folder: Path) -> None:
        """Remove the store of `beside`, after its process has ended."""
        if (folder / _BESIDE).exists():
            shutil.rmtree(folder / _BESIDE)

    @property
    def path(self) -> Path:
        """Folder of the database. Nothing else in this process may open files in it."""
        return self._path

    def reading(self) -> AbstractContextManager[Snapshot]:
        """Return a snapshot, from any thread. Keep it short: pages that it sees cannot be reused."""
        self._fold_first()
        if self._fold is not None and self._logging == threading.get_ident():
            return FoldReadingBlock(self._path, self._opened, self._fold.txn, self._readers)
        return ReadingBlock(self._path, self._opened)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Run a transaction, bound to its thread. A second transaction waits; on the same thread it raises
        `RuntimeError`.
        """
        self._opened.get()
        self._fold_first(published=True)
        transaction, txn, opened = self._begin()
        try:
            try:
                yield transaction
            except BaseException:
                transaction.end()
                txn.abort()
                raise
            self._commit(transaction, txn, opened)
            try:
                if transaction.changed and self._synced:
                    self.sync()
            except BaseException as error:
                self._broken = self._broken or str(error)  # the journal's counters no longer match the store
                raise
        finally:
            self._end()

    # ── the open fold ──

    @contextmanager
    def folding(self, again: bool = False) -> Iterator[Transaction]:
        if self._fold is None:
            self._opened.get()
            rows, txn, opened = self._begin()
            self._fold, self._logging = _OpenFold(opened, txn, rows), threading.get_ident()
            _THREAD.folds.append(self._fold)
        rows = self._fold.rows
        try:
            yield rows
            upto = self._folded if again else self._log.end
            if upto is not None:
                rows.put(*_HELD, upto.row())
            rows.known.clear()
            self._folded = upto
        except BaseException:
            self._abandon_fold()
            raise

    @property
    def is_read(self) -> bool:
        return bool(self._readers)

    def publish(self) -> None:
        fold = self._fold
        if fold is None:
            return
        try:
            self._commit(fold.rows, fold.txn, fold.opened)
        finally:
            self._end_fold(fold)

    def _abandon_fold(self) -> None:
        fold = self._fold
        if fold is not None:
            fold.rows.end()
            fold.txn.abort()
            self._end_fold(fold)

    def _end_fold(self, fold: _OpenFold) -> None:
        self._fold = None
        _THREAD.folds.remove(fold)
        self._end()
        if self._readers:
            txn = fold.opened.env.begin()  # ends with its last snapshot
            while self._readers:
                self._readers.pop().read(txn)

    # ── transactions ──

    def _begin(self) -> tuple[Transaction, lmdb.Transaction[bytes], OpenEnvironment]:
        if self._writer_thread == threading.get_ident():
            raise RuntimeError("this thread is already in a writing transaction")
        self._writer.acquire()
        self._writer_thread = threading.get_ident()
        try:
            opened = self._opened.get()  # only now: a compaction may have replaced it
            self._require_whole()
            self._make_tables(opened)
            try:
                txn = opened.env.begin(write=True)
            except lmdb.Error as error:
                raise failure(self._path, "could not begin to write", error) from error
        except BaseException:
            self._end()
            raise
        return Transaction(self._path, opened, txn, noting=self._tee is not None), txn, opened

    def _end(self) -> None:
        self._writer_thread = None
        self._writer.release()

    def _commit(self, transaction: Transaction, txn: lmdb.Transaction[bytes], opened: OpenEnvironment) -> None:
        transaction.end()
        try:
            self._require_whole()
            self._look(opened)
        except BaseException as error:
            txn.abort()
            if isinstance(error, OSError):
                raise StoreFailure(f"could not look at {self._file}: {error.strerror}") from error
            raise
        try:
            txn.commit()
        except lmdb.Error as error:
            failed = failure(self._path, "could not commit", error)
            if not (isinstance(failed, StoreFailure) and failed.disk_full):
                failed = self._failed_for_good("could not commit", error)
            raise failed from error
        try:
            self._conclude(opened, transaction.noted)
        except BaseException as error:
            self._broken = self._broken or str(error)  # the journal's counters no longer match the store
            raise

    def _conclude(self, opened: OpenEnvironment, noted: list[RowChange] | None) -> None:
        """Finish a commit. After an error here, it is unknown whether a start will find the commit."""
        self._look_again(opened)  # one system call, so that no commit to a removed file is acknowledged
        if self._tee is not None and noted:
            self._tee.add(noted)

    def _look_again(self, opened: OpenEnvironment) -> None:
        try:
            self._look(opened)
        except JournalGone as error:
            error.unsure = True
            raise
        except OSError as error:
            raise JournalUnseen(f"{self._file} could not be looked at after a commit: {error.strerror}") from error

    # ── the write-ahead log ──

    def log(self, entry: bytes) -> bool:
        if not self._synced or len(entry) > MOST_BYTES or not self._has_room(len(entry)):
            return False
        self._require_whole()
        opened = self._opened.get()
        if not self._log.has_room(len(entry)) and not self._begin_segment(len(entry)):
            return False
        try:
            self._look(opened)
            self._log.write(entry)
        except OSError:
            return self._wiped()
        self._logging = threading.get_ident()
        try:
            self._log.sync(entry)
        except OSError as error:
            self._broken = f"the log could not be synced: {error.strerror}"
            raise StoreFailure(self._broken, for_good=True) from error
        try:
            self._look_again(opened)
            if not self._in_place():
                self._gone = True
                raise JournalGone(f"the log of the journal in {self._path.parent} was removed or replaced", unsure=True)
        except BaseException as error:
            self._broken = self._broken or str(error)
            raise
        return True

    def _in_place(self) -> bool:
        try:
            return self._log.in_place()
        except OSError as error:
            said = f"the log in {self._path} could not be looked at after a commit: {error.strerror}"
            raise JournalUnseen(said) from error

    def _fold_first(self, published: bool = False) -> None:
        if self._logging == threading.get_ident():
            self.fold_first(published)

    def _wiped(self) -> bool:
        """Erase an entry that could not be written, and return False. Raises `StoreFailure` if a start may find it."""
        try:
            self._log.wipe()
        except OSError as error:
            self._broken = f"the log could not be written: {error.strerror}"
            raise StoreFailure(self._broken, for_good=True) from error
        return False

    def logged(self) -> list[bytes]:
        with self.reading() as r:
            held = LogPosition.of(r.get(*_HELD))
        try:
            return self._log.read(held)
        except OSError as error:
            raise store_failed(self._path, f"could not read the log in {self._path}", error) from error

    def _has_room(self, size: int) -> bool:
        try:
            return free_bytes(self._path) >= FULL_BELOW_BYTES + 2 * size
        except OSError:
            return False

    def _begin_segment(self, entry_bytes: int = 0) -> bool:
        """Fold the log and begin a segment; False if the disk refuses. Raises `StoreFailure`, `JournalDamaged`."""
        self._fold_first(published=True)
        if self._log.end is None and self.logged():
            raise RuntimeError("what an earlier process logged is folded first")
        self.sync()
        try:
            self._log.begin(entry_bytes)
        except OSError:
            return False
        return True

    def clear_log(self) -> None:
        if self._synced and not self._begin_segment():
            raise StoreFailure(f"could not begin a new log in {self._path}", disk_full=takes_nothing(self._path))

    def forget_log(self) -> None:
        with self.writing() as w:
            w.delete(*_HELD)
        try:
            self._log.forget()
        except OSError as error:
            raise store_failed(self._path, f"could not remove the log in {self._path}", error) from error

    def _look(self, opened: OpenEnvironment) -> None:
        try:
            found = os.stat(self._file)
        except (FileNotFoundError, NotADirectoryError):
            found = None
        if found is None or (found.st_dev, found.st_ino) != opened.file:
            self._gone = True
            raise self._is_gone()

    def _is_gone(self) -> JournalGone:
        return JournalGone(f"the journal in {self._path.parent} was removed or replaced")

    def _failed_for_good(self, what: str, error: lmdb.Error) -> StoreFailure | JournalDamaged:
        self._broken = str(error)
        failed = failure(self._path, what, error)
        if isinstance(failed, StoreFailure):
            failed.for_good = True
        return failed

    def _require_whole(self) -> None:
        if self._gone:
            raise self._is_gone()
        if self._broken:
            raise StoreFailure(
                f"nothing is written since a commit failed ({self._broken}); restart the daemon",
                for_good=True,
                unsure=False,
            )

    def _make_tables(self, opened: OpenEnvironment) -> None:
        if None not in opened.databases.values():
            return
        missing = [table for table, database in opened.databases.items() if database is None]
        try:
            with opened.env.begin(write=True) as txn:
                made = {table: opened.env.open_db(table.encode(), txn=txn) for table in missing}
        except lmdb.Error as error:
            raise failure(self._path, "could not add tables", error) from error
        opened.databases = {**opened.databases, **made}

    def size_bytes(self) -> int:
        return os.stat(self._path / "data.mdb").st_blocks * 512 + packs.size_bytes(self._path)

    def used_bytes(self) -> int:
        try:
            with self._opened.used() as opened, opened.env.begin() as txn:
                tables = [txn.stat(database) for database in opened.databases.values() if database is not None]
        except lmdb.Error as error:
            raise failure(self._path, "could not read how much is used", error) from error
        return packs.size_bytes(self._path) + sum(
            stat["psize"] * (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]) for stat in tables
        )

    def sync(self) -> None:
        try:
            self._opened.get().env.sync(True)
        except lmdb.Error as error:
            raise self._failed_for_good("could not sync", error) from error

    def mistrust(self) -> None:
        with suppress(OSError):
            (self._path.parent / boot_mark.NAME).unlink(missing_ok=True)

    def reader_check(self) -> int:
        return self._opened.get().env.reader_check()

    # ── compaction: the part of `compaction` that knows the files ──

    def compacting(self, step: Callable[[str], None] = lambda name: None) -> ByCopy:
        if self._tee is not None:
            raise RuntimeError("a compaction is going on")
        self._fold_first(published=True)
        self.require_room(self.used_bytes())
        folder = self._path.parent / _COPY
        if folder.exists():
            shutil.rmtree(folder)
        target = Copy.begin(folder, self._synced)
        try:
            with self._writer:
                self._require_whole()
                tee = self._tee = Tee()
        except BaseException:
            target.throw_away()
            raise
        return ByCopy(self, target, tee, step)

    def require_room(self, copy_bytes: int = 0) -> None:
        require_room(self._path, copy_bytes)

    def replace_by(self, target: Target, last_round: Callable[[], None], step: Callable[[str], None]) -> None:
        """Put `target` in place of the present file, on which running readers finish. Renaming is safe, as LMDB never
        reopens the files of an open environment. Raises `StoreFailure`; `for_good` if the file was replaced.
        """
        assert isinstance(target, Copy)
        self._fold_first(published=True)
        self.clear_log()
        with self._writer:
            last_round()
            try:
                unused = self._take_packs(target)
                step("compact_packed")
                os.rename(target.path / "data.mdb", self._path / "data.mdb")
            except OSError as error:
                raise StoreFailure(f"could not put the compacted journal in place: {error.strerror}") from error
            step("compact_moved")
            self._opened.get().leave(self._unused, unused)
            self._opened.replace(target.surrender())
            try:
                # The content of the lock file matters only while it is open, so a crash in between is harmless.
                os.rename(target.path / "lock.mdb", self._path / "lock.mdb")
                os.rmdir(target.path)
                sync_path(self._path)
                sync_path(self._path.parent)
            except OSError as error:
                self._broken = f"the compacted journal may not be in place after a power cut: {error.strerror}"
                raise StoreFailure(self._broken, for_good=True) from error

    def _take_packs(self, target: Copy) -> list[Path]:
        """Move the packs of the copy into this store's folder, and return the paths of packs there that the copy does
        not name. Raises OSError, and `StoreFailure` if a pack is missing that the copy names and the present database
        does not.
        """
        for name in packs.names(target.path):
            os.rename(packs.path_of(target.path, name), packs.path_of(self._path, name))
        sync_path(self._path)
        wanted, there = _packs_named(target._opened.get()), packs.names(self._path)
        if missing := wanted - there - _packs_named(self._opened.get()):
            raise StoreFailure(f"{packs.path_of(self._path, min(missing)).name} of the compacted journal is missing")
        return [packs.path_of(self._path, name) for name in there - wanted]

    def stop_noting(self) -> None:
        self._fold_first(published=True)
        with self._writer:
            self._tee = None

    def give_back(self) -> None:
        self._opened.give_back()

    def close(self) -> None:
        with suppress(StoreFailure, JournalDamaged, RuntimeError):  # a start reads the log; or this is a fork
            self.sync()
        self.fold_first = _nothing
        self._abandon_fold()
        self._log.close()
        self._opened.close()


def _packs_named(opened: OpenEnvironment) -> set[bytes]:
    database = opened.databases["packs"]
    if database is None:
        return set()
    with opened.env.begin() as txn, txn.cursor(database) as cursor:
        return {name for _, name in cursor}


def _remove_packs(path: Path, opened: OpenEnvironment) -> None:
    """Remove the packs that the database does not name, which a crash left of a compaction."""
    unused = packs.names(path) - _packs_named(opened)
    if unused:
        opened.env.sync(True)  # a power cut must not bring back a state that names them
    for name in unused:
        packs.path_of(path, name).unlink()


class Copy(LmdbStore):
    """Store that receives a copy; its commits are not synced until `harden`."""

    _hardens = True

    @classmethod
    def begin(cls, folder: Path, hardens: bool) -> Copy:
        """Make an empty copy in `folder`; with `hardens`, commits after `harden` are durable. Raises `StoreFailure`."""
        try:
            make(folder)
            copy = cls.at(folder)
        except (OSError, lmdb.Error) as error:
            raise store_failed(folder.parent, "could not begin a copy", error) from error
        copy._hardens = hardens
        return copy

    @classmethod
    def at(cls, folder: Path) -> Copy:
        return cls(folder, open_tables(environment(folder, sync=False)), synced=False)

    def harden(self) -> None:
        self.sync()
        if not self._hardens:
            return
        self._opened.close()
        try:
            self._opened = InUse(open_tables(environment(self._path, sync=True)))
        except (OSError, lmdb.Error) as error:
            raise store_failed(self._path, "could not open the compacted journal", error) from error

    def surrender(self) -> OpenEnvironment:
        return self._opened.surrender()

    def throw_away(self) -> None:
        self.close()
        shutil.rmtree(self._path, ignore_errors=True)
