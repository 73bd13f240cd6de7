"""Compaction by copy on disk: what was deleted is in no byte of the file, and a crash at any step loses nothing."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from quire_journal.storage.compaction import STEPS, Tee
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import Compaction, StoreFailure, u64

SECRET: Final = b"-----BEGIN SECRET KEY-----"


def compact(store: LmdbStore) -> None:
    """A whole compaction, with nobody else about."""
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    compaction.release()


def every_byte(folder: Path) -> bytes:
    """What all files below `folder` hold. The store in it must be closed: reading its file would drop its locks."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def fill_and_delete(store: LmdbStore, rounds: int) -> None:
    """Values of all sizes, with the secret in some that are replaced and deleted again, in the same pages as others."""
    chance = random.Random(1)
    secret = SECRET * 400
    for n in range(rounds):
        with store.writing() as w:
            w.put("meta", b"secret %d" % (n % 7), secret[: chance.randint(30, 9000)])
            w.put("meta", b"kept %05d" % n, bytes([n % 250]) * chance.randint(10, 6000))
            w.append("records", u64(n), b"r" * chance.randint(10, 300))
            if n % 3 == 0:
                w.delete("meta", b"secret %d" % chance.randint(0, 6))
    with store.writing() as w:
        for n in range(7):
            w.delete("meta", b"secret %d" % n)


def test_what_was_deleted_before_a_compaction_is_in_no_byte_of_any_file_after_it(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, synced=False)
    fill_and_delete(store, 300)
    with store.reading() as r:
        before = list(r.scan("meta"))
    store.close()
    assert SECRET in every_byte(tmp_path)

    store = LmdbStore.open(tmp_path)
    size = store.size_bytes()
    compaction = store.compacting()
    compaction.copy()
    with store.writing() as w:  # written into the copy by the last round
        w.put("meta", b"later", b"l" * 3000)
    done = compaction.finish()
    compaction.release()
    assert (done.before_bytes, done.after_bytes) == (size, store.size_bytes())
    assert done.after_bytes < size
    with store.reading() as r:
        assert [pair for pair in r.scan("meta") if pair[0] != b"later"] == before
    store.close()
    assert SECRET not in every_byte(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.mdb", "db", "lock.mdb", "log.00000001"]


def test_a_compacted_file_is_hardly_larger_than_what_it_holds(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, synced=False)
    fill_and_delete(store, 300)
    assert store.used_bytes() < store.size_bytes()
    compact(store)
    assert store.size_bytes() < store.used_bytes() + (1 << 20)
    store.close()


def test_the_old_file_is_given_back_when_its_last_reader_has_ended(tmp_path: Path) -> None:
    gc.collect()  # stores that other tests left open
    store = LmdbStore.open(tmp_path)
    with store.writing() as w:
        w.put("meta", b"key", b"old")

    def files_held_open() -> int:
        return sum(
            "data.mdb (deleted)" in os.readlink(f"/proc/self/fd/{fd}")
            for fd in os.listdir("/proc/self/fd")
            if os.path.islink(f"/proc/self/fd/{fd}")
        )

    with store.reading() as r:
        compact(store)
        with store.writing() as w:
            w.put("meta", b"key", b"new")
        assert r.get("meta", b"key") == b"old"
        assert files_held_open() > 0
    assert files_held_open() == 0
    compact(store)
    assert files_held_open() == 0
    store.close()


def test_writers_and_readers_on_other_threads_go_on_during_compactions(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path, synced=False)
    stop, faults, written = threading.Event(), [], [0]

    def write() -> None:
        try:
            while not stop.wait(0.001):
                with store.writing() as w:
                    w.append("records", u64(written[0] + 1), b"x" * 200)
                    w.put("meta", b"newest", u64(written[0] + 1))
                written[0] += 1
        except Exception as error:  # noqa: BLE001  told by the test
            faults.append(error)

    def read() -> None:
        try:
            while not stop.wait(0.001):
                with store.reading() as r:
                    newest = int.from_bytes(r.get("meta", b"newest") or b"", "big")
                    assert r.count("records") == newest
        except Exception as error:  # noqa: BLE001
            faults.append(error)

    threads = [threading.Thread(target=act) for act in (write, read, read)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        compact(store)
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    with store.reading() as r:
        assert [int.from_bytes(key, "big") for key, _ in r.scan("records")] == list(range(1, written[0] + 1))
    store.close()


def test_a_compaction_that_has_no_room_says_how_much_is_missing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore.open(tmp_path)
    monkeypatch.setattr("quire_journal.storage.disk.free_bytes", lambda folder: 9 << 20)
    with pytest.raises(StoreFailure, match=r"9 MiB are free.*free 8 MiB more") as failed:
        store.compacting()
    assert failed.value.disk_full
    monkeypatch.undo()
    compaction = store.compacting()
    monkeypatch.setattr("quire_journal.storage.disk.free_bytes", lambda folder: 0)
    with pytest.raises(StoreFailure):
        compaction.copy()  # somebody else filled the disk meanwhile
    compaction.cancel()
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["db"]


def test_more_changes_than_can_be_held_end_the_compaction_and_nothing_else() -> None:
    tee = Tee(most_bytes=1000)
    tee.add([("meta", b"key", b"x" * 100)])
    assert tee.take() == [("meta", b"key", b"x" * 100)]
    tee.add([("meta", b"key", b"x" * 2000)])
    with pytest.raises(StoreFailure, match="more was written"):
        tee.take()


def test_what_is_written_before_the_first_pair_is_read_need_not_be_held() -> None:
    """A purge begins the compaction, then changes the journal: it was answered `busy` where that was much."""
    tee = Tee(most_bytes=1000)
    tee.add([("meta", b"key", b"x" * 2000)])
    tee.begin()
    tee.add([("meta", b"key", b"y")])
    assert tee.take() == [("meta", b"key", b"y")]


def test_what_was_put_and_deleted_meanwhile_is_in_no_byte_either(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    compaction = store.compacting()
    with store.writing() as w:
        w.put("meta", b"secret", SECRET * 9)
        w.put("paths", b"secret", SECRET * 9)
        w.put("paths", b"other", b"cleared")
    with store.writing() as w:
        w.delete("meta", b"secret")
        w.clear("paths")
        w.put("paths", b"kept", b"kept")
    compaction.copy()
    compaction.finish()
    compaction.release()
    with store.reading() as r:
        assert (list(r.scan("meta")), list(r.scan("paths"))) == ([], [(b"kept", b"kept")])
    store.close()
    assert SECRET not in every_byte(tmp_path)


def test_a_closed_store_ends_a_compaction_that_is_going_on(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    compaction: Compaction = store.compacting()
    store.close()
    with pytest.raises(StoreFailure, match="closed"):
        compaction.copy()
    compaction.cancel()
    assert [path.name for path in tmp_path.iterdir()] == ["db"]


KEPT: Final = (True, False)
KILLED: Final = """
import os, signal, sys
from pathlib import Path
from quire_journal.storage.port import u64
from quire_journal.storage.lmdb import LmdbStore
def run(folder, synced, last):
    store = LmdbStore.open(folder, synced)
    committed = os.open(f"{folder}.committed", os.O_WRONLY | os.O_CREAT)
    def write():
        with store.writing() as w:
            n = w.count("records") + 1
            w.append("records", u64(n), b"r" * (n * 37 % 5000))
        os.pwrite(committed, b"%9d" % n, 0)
    def step(name):
        if name == last:
            os.kill(os.getpid(), signal.SIGKILL)
    for n in range(30):
        write()
    compaction = store.compacting(step)
    compaction.copy(write)
    write()
    compaction.finish()
    write()
    compaction.release()
for synced in True, False:
    for last in sys.argv[2:]:
        if not (child := os.fork()):
            run(Path(sys.argv[1], f"{synced}-{last}"), synced, last)
            os._exit(0)
        print(f"{synced}-{last}", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, synced or not, for each step of a compaction, whose process was killed at that step."""
    top = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-c", KILLED, os.fspath(top), *STEPS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [f"{one}-{step} -9" for one in KEPT for step in STEPS], done.stderr
    return top


@pytest.mark.parametrize("synced", KEPT)
@pytest.mark.parametrize("step", STEPS)
def test_kill_9_at_each_step_loses_nothing_that_was_committed(killed: Path, step: str, synced: bool) -> None:
    folder = killed / f"{synced}-{step}"
    committed = int(folder.with_name(f"{folder.name}.committed").read_bytes())
    store = LmdbStore.open(folder)
    with store.reading() as r:
        pairs = list(r.scan("records"))
    assert pairs == [(u64(n), b"r" * (n * 37 % 5000)) for n in range(1, committed + 1)]
    assert [path.name for path in folder.iterdir()] == ["db"]
    compact(store)
    store.close()


def test_a_compaction_of_a_store_that_takes_nothing_more_leaves_no_copy_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore.open(tmp_path)

    def broken(store: LmdbStore) -> None:
        raise StoreFailure("nothing is written since a commit failed")

    monkeypatch.setattr(LmdbStore, "_require_whole", broken)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreFailure):
        store.compacting()
    assert len(os.listdir("/proc/self/fd")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["db"]
    monkeypatch.undo()
    store.compacting().cancel()
    store.close()
