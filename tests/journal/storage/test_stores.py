"""The stores: one contract over both, and what only the one on disk can promise."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import lmdb
import pytest

import live
from disks import fill
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.disk import file_system, require_fit
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.lmdb.environment import MAX_READERS, failure
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import TABLES, JournalGone, Store, StoreFailure, u64
from quire_journal.storage.stores import STORES, UnfitFolder

pytest.register_assert_rewrite("contracts.store")
from contracts.store import StoreContract  # noqa: E402

KEY: Final = b"key"


class TestMemory(StoreContract):
    @contextmanager
    def fresh(self) -> Iterator[Store]:
        store = MemoryStore()
        yield store
        store.close()

    def test_a_fault_at_the_end_of_a_transaction_leaves_no_trace(self) -> None:
        def fault() -> None:
            raise StoreFailure("the disk is full", disk_full=True)

        store = MemoryStore(fault)
        with pytest.raises(StoreFailure), store.writing() as w:
            w.put("meta", KEY, b"lost")
        store.fault = None
        with store.reading() as r:
            assert r.get("meta", KEY) is None


class TestLmdb(StoreContract):
    @contextmanager
    def fresh(self) -> Iterator[Store]:
        # In memory where that can be: the contract is not about the disk, and there are many transactions.
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=fast) as folder:
            store = LmdbStore.open(Path(folder))
            yield store
            store.close()


def written(folder: Path) -> None:
    """A store in `folder` with some transactions behind it."""
    store = LmdbStore.open(folder)
    for n in range(1, 20):
        with store.writing() as w:
            w.append("records", u64(n), b"x" * 3000)
    store.close()


def records(folder: Path) -> list[bytes]:
    """The keys of the records that a store in `folder` holds."""
    store = LmdbStore.open(folder)
    try:
        with store.reading() as r:
            return [key for key, _ in r.scan("records")]
    finally:
        store.close()


@pytest.mark.parametrize("synced", [True, False])
def test_what_was_committed_is_there_when_the_store_is_opened_again(tmp_path: Path, synced: bool) -> None:
    store = STORES["lmdb"](tmp_path, synced)
    with store.writing() as w:
        w.put("meta", KEY, b"kept")
    assert store.size_bytes() > 0
    store.close()
    store = STORES["lmdb"](tmp_path)
    with store.reading() as r:
        assert r.get("meta", KEY) == b"kept"
    store.close()


def test_a_store_that_is_not_synced_can_be_when_its_owner_likes(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, synced=False)
    with store.writing() as w:
        w.put("meta", KEY, b"kept")
    store.sync()
    assert store.reader_check() == 0
    store.close()


def test_nobody_else_can_read_the_journal(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        LmdbStore.open(tmp_path / "state").close()
    finally:
        os.umask(old)
    made = [tmp_path / "state", *(tmp_path / "state").rglob("*")]
    assert {path.name: path.stat().st_mode & 0o077 for path in made} == {path.name: 0 for path in made}


def test_what_a_crash_left_while_the_database_was_made_is_thrown_away(tmp_path: Path) -> None:
    half = tmp_path / "db.new"
    half.mkdir()
    (half / "data.mdb").write_bytes(b"\0" * 100)
    LmdbStore.open(tmp_path).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db"]


def test_a_child_killed_while_it_makes_the_database_leaves_a_whole_one_or_none(tmp_path: Path) -> None:
    """Killed at each system call in turn that could leave something half done."""
    steps = ["os.mkdir", "os.rename", "os.remove", "open"]
    script = """
import os, signal, sys
from pathlib import Path
from quire_journal.storage.lmdb import LmdbStore
def child(step, nth):
    folder = os.path.join(sys.argv[1], f"{step}-{nth}")
    seen = 0
    def watch(event, arguments):
        nonlocal seen
        if event == step and folder in str(arguments[0]):
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(watch)
    LmdbStore.open(Path(folder))
for step in sys.argv[2:]:
    for nth in range(1, 6):
        pid = os.fork()
        if pid == 0:
            child(step, nth)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(f"{step}-{nth}", status)
        if status == 0:
            break
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path, *steps], check=True, capture_output=True, text=True)
    told = dict(line.split() for line in done.stdout.splitlines())
    assert {name.partition("-")[0] for name in told} == {*steps}
    for name, status in told.items():
        assert status in ("0", "-9"), (name, done.stderr)
        assert records(tmp_path / name) == []
    assert sum(status == "-9" for status in told.values()) >= 4


def test_an_ended_snapshot_frees_its_reader_slot_even_if_it_is_still_referenced(tmp_path: Path) -> None:
    """An exception keeps the frames that it passed, and with them the block, until cycles are looked for."""
    kept: list[object] = []
    store = LmdbStore.open(tmp_path / "journal")
    with store.writing() as w:
        w.put("meta", KEY, b"value")
        w.put("meta", KEY + b"2", b"value")
    for _ in range(3 * MAX_READERS):  # LMDB makes room for more, up to a whole page
        block = store.reading()
        with block as reading:
            scan = reading.scan("meta")
            next(scan)
            kept += (block, reading, scan)
    assert len(kept) == 9 * MAX_READERS
    with pytest.raises(RuntimeError, match="has ended"):
        reading.get("meta", KEY)
    with pytest.raises(RuntimeError, match="has ended"):
        next(scan)
    store.close()


def test_two_at_once_in_one_process_are_refused(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    with pytest.raises(StoreFailure):
        LmdbStore.open(tmp_path)
    with store.writing() as w:
        w.put("meta", KEY, b"goes on")
    store.close()


@pytest.mark.parametrize("left", [0, 10, 4096, 8192, 20_000, 60_000])
def test_a_file_that_was_cut_off_is_damage_and_does_not_kill_the_process(tmp_path: Path, left: int) -> None:
    written(tmp_path)
    os.truncate(tmp_path / "db" / "data.mdb", left)
    with pytest.raises(JournalDamaged, match=r"data\.mdb"):
        LmdbStore.open(tmp_path)


def test_a_file_that_is_something_else_is_damage(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "db" / "data.mdb").write_bytes(b"not a database. " * 4096)
    with pytest.raises(JournalDamaged):
        LmdbStore.open(tmp_path)


def test_a_transaction_that_lmdb_gave_up_is_damage(tmp_path: Path) -> None:
    failed = failure(tmp_path, "could not read versions", lmdb.BadTxnError("MDB_BAD_TXN: must abort"))
    assert isinstance(failed, JournalDamaged)
    assert failed.everywhere


class DamagedEnvironment:
    def sync(self, force: bool) -> None:
        raise lmdb.CorruptedError("mdb_env_sync")


def test_a_store_is_closed_though_its_last_sync_meets_damage(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    store._opened.get().env = DamagedEnvironment()  # type: ignore[assignment]
    with pytest.raises(JournalDamaged):
        store.sync()
    store.close()
    LmdbStore.open(tmp_path).close()  # refused while the first one is open in this process


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UnfitFolder, match="others can write"):
        LmdbStore.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_someone_else_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(UnfitFolder, match="belongs to user 65534"):
        LmdbStore.open(tmp_path)


@pytest.mark.parametrize(
    ("magic", "name"),
    [(0x6969, "NFS"), (0xFF534D42, "CIFS"), (0xFE534D42, "SMB2"), (0x01021997, "9p"), (0x65735546, "FUSE")],
)
def test_a_folder_on_a_network_file_system_is_refused_with_a_way_out(tmp_path: Path, magic: int, name: str) -> None:
    with pytest.raises(UnfitFolder, match=f"{name}.*XDG_STATE_HOME"):
        require_fit(tmp_path, lambda folder: magic)


@pytest.mark.skipif(sys.platform != "linux", reason="statfs tells a magic number on Linux")
def test_the_system_is_asked_which_file_system_it_is() -> None:
    assert file_system(Path("/proc")) == 0x9FA0


def test_a_file_that_lacks_a_table_is_read_and_gets_it_with_the_first_write(tmp_path: Path) -> None:
    written(tmp_path)
    with lmdb.open(str(tmp_path / "db"), max_dbs=64) as env:
        table = env.open_db(b"undone")
        with env.begin(write=True) as txn:
            txn.drop(table)
    store = LmdbStore.open(tmp_path)
    with store.reading() as r:
        assert (r.get("undone", KEY), r.count("undone"), list(r.scan("undone"))) == (None, 0, [])
        assert r.empty("undone")
    with store.writing() as w:
        w.put("undone", KEY, b"now")
    with store.reading() as r:
        assert r.get("undone", KEY) == b"now"
        assert {table for table in TABLES if r.count(table) >= 0} == {*TABLES}
    store.close()


@pytest.mark.parametrize("replaced", [False, True])
def test_what_is_committed_to_a_file_that_was_removed_is_not_said_to_be_stored(tmp_path: Path, replaced: bool) -> None:
    """The kernel keeps a removed file for as long as it is open, and no longer."""
    store = LmdbStore.open(tmp_path / "one")
    with store.writing() as w:
        w.put("meta", b"before", b"stored")
    (tmp_path / "one").rename(tmp_path / "elsewhere")
    if replaced:
        written(tmp_path / "one")
    for _ in range(2):
        with pytest.raises(JournalGone, match="was removed or replaced") as caught, store.writing() as w:
            w.put("meta", b"after", b"lost")
        assert not caught.value.unsure
    store.close()
    with LmdbStore.open(tmp_path / "elsewhere").reading() as r:  # it may come back, and was said not to be stored
        assert (r.get("meta", b"before"), r.get("meta", b"after")) == (b"stored", None)


def test_a_journal_whose_path_cannot_be_read_is_not_taken_for_removed(
    tmp_path: Path,
) -> None:
    store = LmdbStore.open(tmp_path / "one")
    (tmp_path / "one").rename(tmp_path / "elsewhere")
    (tmp_path / "one").symlink_to(tmp_path / "one")  # to look at what is in there fails, and not for want of a file
    with pytest.raises(StoreFailure, match="could not look at") as caught, store.writing() as w:
        w.put("meta", b"key", b"refused")
    assert (caught.value.for_good, caught.value.unsure) == (False, False)
    (tmp_path / "one").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "one")
    with store.reading() as r:
        assert r.get("meta", b"key") is None
    with store.writing() as w:
        w.put("meta", b"key", b"stored")
    store.close()


def test_a_child_of_a_fork_cannot_use_the_store(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from quire_journal.storage.lmdb import LmdbStore
store = LmdbStore.open(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    for block in (store.reading, store.writing):
        try:
            with block():
                os._exit(1)
        except RuntimeError:
            pass
    store.close()
    os._exit(0)
status = os.waitpid(child, 0)[1]
with store.writing() as w:
    w.put("meta", b"parent", b"goes on")
store.close()
sys.exit(status)
"""
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 0


COMMITTING: Final = """
import os, sys
from pathlib import Path
from quire_journal.storage.port import u64
from quire_journal.storage.lmdb import LmdbStore
def commit(folder, durability):
    os.write(1, b"%d\\n" % os.getpid())
    store = LmdbStore.open(Path(folder), durability == "synced")
    with store.reading() as r:
        n = r.count("records")
    while True:
        n += 1
        with store.writing() as w:
            w.append("records", u64(n), b"r" * (n * 37 % 5000))
            w.put("meta", b"newest", u64(n))
            w.append("blobs", u64(n), b"b")
        os.write(1, b"%d\\n" % n)
for line in sys.stdin:
    if not (child := os.fork()):
        commit(*line.rstrip("\\n").split("\\t"))
    os.waitpid(child, 0)
    os.write(1, b"ended\\n")
"""
"""Forks, for each line that it is told, a process that commits until it is killed and says what it has committed."""


@pytest.fixture(scope="module")
def committing() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", COMMITTING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as mother:
        yield mother
        mother.kill()  # a child that a failed test left ends where nobody reads what it says


@pytest.mark.parametrize("durability", ["synced", "not synced"])
def test_kill_9_between_or_inside_commits_loses_nothing_that_was_acknowledged(
    tmp_path: Path, durability: str, committing: subprocess.Popen[str]
) -> None:
    assert committing.stdin is not None
    assert committing.stdout is not None
    acknowledged = 0
    for commits in live.length((1, 40, 7), (1, 7, 40, 3, 90)):
        committing.stdin.write(f"{tmp_path}\t{durability}\n")
        child = int(committing.stdout.readline())
        for _ in range(commits):
            acknowledged = int(committing.stdout.readline())
        os.kill(child, signal.SIGKILL)
        for line in iter(committing.stdout.readline, "ended\n"):
            acknowledged = int(line)
        store = LmdbStore.open(tmp_path)
        with store.reading() as r:
            seqs = [int.from_bytes(key, "big") for key, _ in r.scan("records")]
            assert len(seqs) >= acknowledged
            assert seqs == list(range(1, len(seqs) + 1))
            assert r.get("meta", b"newest") == u64(len(seqs))
            assert r.count("blobs") == len(seqs)
        store.close()


def test_a_failed_commit_ends_all_writing_unless_the_disk_is_full(tmp_path: Path) -> None:
    """The limit on the size of a file makes a commit fail as an I/O error would."""
    script = """
import resource, signal, sys
from pathlib import Path
from quire_journal.storage.port import StoreFailure
from quire_journal.storage.lmdb import LmdbStore
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = LmdbStore.open(Path(sys.argv[1]))
with store.writing() as w:
    w.put("meta", b"key", b"before")
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
def write(size):
    try:
        with store.writing() as w:
            w.put("meta", b"key", b"x" * size)
    except StoreFailure as error:
        return str(error), error.disk_full
print(write(4 << 20))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
again = write(1)
assert again is not None and "nothing is written since" in again[0], again
with store.reading() as r:
    assert r.get("meta", b"key") == b"before"
store.close()
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("('could not ")
    assert done.stdout.rstrip().endswith("False)")


def test_on_a_full_disk_a_commit_fails_cleanly_and_reads_and_later_commits_go_on(small_disk: Path) -> None:
    store = LmdbStore.open(small_disk)
    with store.writing() as w:
        w.put("meta", KEY, b"before")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (2 << 20))
    for _ in range(2):
        with pytest.raises(StoreFailure) as failed, store.writing() as w:
            w.put("meta", KEY, b"y" * (3 << 20))
        assert failed.value.disk_full
        with store.reading() as r:
            assert r.get("meta", KEY) == b"before"
    ballast.unlink()
    with store.writing() as w:
        w.put("meta", KEY, b"after")
    store.close()
    store = LmdbStore.open(small_disk)
    with store.reading() as r:
        assert r.get("meta", KEY) == b"after"
    store.close()


def test_a_quota_that_is_used_up_is_a_full_disk(tmp_path: Path) -> None:
    """The journal was read-only from then on, until somebody ended its daemon."""
    for number, full in ((errno.EDQUOT, True), (errno.EIO, False)):
        failed = failure(tmp_path, "could not commit", lmdb.Error(f"mdb_txn_commit: {os.strerror(number)}"))
        assert isinstance(failed, StoreFailure)
        assert failed.disk_full is full


@pytest.mark.parametrize(("left", "full"), [(0, True), (512 << 10, False)])
def test_a_fault_of_a_disk_that_is_nearly_full_is_told_from_a_full_one(small_disk: Path, left: int, full: bool) -> None:
    """LMDB tells of a write that was cut short as of a fault; after a real one nothing may be written any more."""
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * (free.f_bavail * free.f_frsize - left))
    failed = failure(small_disk, "could not commit", lmdb.Error(f"mdb_txn_commit: {os.strerror(errno.EIO)}"))
    assert isinstance(failed, StoreFailure)
    assert failed.disk_full is full
    assert os.listdir(small_disk) == ["ballast"]


def test_a_store_that_cannot_even_be_made_says_that_the_disk_is_full(small_disk: Path) -> None:
    fill(small_disk / "ballast")
    with pytest.raises(StoreFailure) as failed:
        LmdbStore.open(small_disk)
    assert failed.value.disk_full
    (small_disk / "ballast").unlink()
    LmdbStore.open(small_disk).close()


def test_opening_removes_what_a_killed_process_left_beside_a_store(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    beside = LmdbStore.beside(tmp_path)
    with beside.writing() as w:
        w.put("meta", b"key", b"value")
    beside.close()
    assert len(list(tmp_path.iterdir())) == 2
    LmdbStore.open(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["db"]
