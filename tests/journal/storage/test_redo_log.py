"""A commit that a power cut took back is made again: what leads to it was on no disk, what it changes was (`redo`)."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import msgspec
import pytest

from disks import fill
from power import PAGE, Rows, commit, lose_the_last_commit, rows
from quire_journal.storage.disk import in_memory
from quire_journal.storage.lmdb import LmdbStore, redo_log
from quire_journal.storage.lmdb.redo_log import SLOT_BYTES, Redo, RedoEntry
from quire_journal.storage.port import StoreFailure
from quire_journal.storage.stores import Durability


def put(store: LmdbStore, key: bytes, value: bytes) -> None:
    """One commit."""
    with store.writing() as w:
        w.put("meta", key, value)


def leading(folder: Path) -> bytes:
    """The two pages one of which leads to everything."""
    with open(folder / "db" / "data.mdb", "rb") as file:
        return file.read(2 * PAGE)


def after_power_cut(folder: Path, into: Path, on_disk: bytes = b"") -> Rows:
    """What a store that is open in `folder` holds after a power cut that takes its newest commit back.

    `on_disk`: what of its `leading` pages came to the disk.
    """
    (into / "db").mkdir(mode=0o700, parents=True)
    for name in ("data.mdb", "redo"):
        shutil.copy(folder / "db" / name, into / "db" / name)
    if on_disk:
        with open(into / "db" / "data.mdb", "r+b") as file:
            file.write(on_disk)
    else:
        lose_the_last_commit(into)
    store = LmdbStore.open(into)
    found = rows(store)
    store.close()
    return found


@pytest.mark.parametrize("beside", [True, False])
def test_each_commit_outlives_a_power_cut_that_takes_back_what_leads_to_it(tmp_path: Path, beside: bool) -> None:
    chance, store = random.Random(1), LmdbStore.open(tmp_path / "now")
    put(store, b"key", b"one")
    assert store._redo is not None
    store._redo.close()
    store._redo = Redo(os.open(tmp_path / "now" / "db" / "redo", os.O_RDWR), beside)
    for n in range(40):
        commit(store, chance, n, large=0)
        assert after_power_cut(tmp_path / "now", tmp_path / str(n)) == rows(store)
    store.close()


def test_without_its_entry_the_commit_would_be_lost(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path / "now")
    put(store, b"head", b"one")
    put(store, b"head", b"two")
    (tmp_path / "now" / "db" / "redo").write_bytes(b"")
    assert after_power_cut(tmp_path / "now", tmp_path / "then") == [("meta", b"head", b"one")]
    store.close()


def test_the_entry_before_the_last_still_stands_while_the_next_is_torn(tmp_path: Path) -> None:
    store, folder = LmdbStore.open(tmp_path / "now"), tmp_path / "now"
    put(store, b"head", b"one")
    on_disk = leading(folder)
    for value in (b"two", b"three"):
        put(store, b"head", value)
    newest = redo_log.entries(folder / "db" / "redo")[-1]
    with open(folder / "db" / "redo", "r+b") as file:
        file.seek(newest.base % 2 * SLOT_BYTES + 40)
        file.write(b"torn")
    assert after_power_cut(folder, tmp_path / "then", on_disk) == [("meta", b"head", b"two")]
    store.close()


def test_an_entry_that_is_whole_is_made_after_the_one_before_it(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path / "now")
    put(store, b"head", b"one")
    on_disk = leading(tmp_path / "now")
    for value in (b"two", b"three"):
        put(store, b"head", value)
    assert after_power_cut(tmp_path / "now", tmp_path / "then", on_disk) == [("meta", b"head", b"three")]
    store.close()


def test_an_entry_of_another_journal_is_not_made(tmp_path: Path) -> None:
    stores = {name: LmdbStore.open(tmp_path / name) for name in ("ann", "ben")}
    for name, store in stores.items():
        put(store, b"head", name.encode())
        put(store, b"key", name.encode())
    shutil.copy(tmp_path / "ben" / "db" / "redo", tmp_path / "ann" / "db" / "redo")
    assert after_power_cut(tmp_path / "ann", tmp_path / "then") == [("meta", b"head", b"ann")]
    for store in stores.values():
        store.close()


def test_what_a_full_disk_refused_is_not_made_by_the_next_start(small_disk: Path) -> None:
    store = LmdbStore.open(small_disk)
    put(store, b"head", b"before")
    fill(small_disk / "ballast")
    with pytest.raises(StoreFailure) as failed, store.writing() as w:
        w.put("meta", b"head", b"y" * (SLOT_BYTES // 2))
    assert failed.value.disk_full
    held = rows(store)
    (small_disk / "ballast").unlink()
    store.close()
    store = LmdbStore.open(small_disk)
    assert rows(store) == held
    store.close()


def test_a_large_commit_has_no_entry_and_the_next_small_one_has(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, b"large", b"x" * SLOT_BYTES)
    with store.writing() as w:
        for n in range(3000):
            w.put("blobs", b"%d" % n, b"x" * 10)
    with store.writing() as w:
        for n in range(30_000):
            w.delete("blobs", b"%d" % n)
    assert redo_log.entries(tmp_path / "db" / "redo") == []
    put(store, b"small", b"x")
    (entry,) = redo_log.entries(tmp_path / "db" / "redo")
    assert entry.changes == (("meta", b"small", b"x"),)
    store.close()


def test_nothing_is_left_of_what_was_deleted_before_a_compaction(tmp_path: Path) -> None:
    store, secret = LmdbStore.open(tmp_path), b"-----BEGIN SECRET KEY-----"
    put(store, b"secret", secret * 100)
    assert secret in (tmp_path / "db" / "redo").read_bytes()
    with store.writing() as w:
        w.delete("meta", b"secret")
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    assert secret not in (tmp_path / "db" / "redo").read_bytes()
    put(store, b"key", b"after")
    assert after_power_cut(tmp_path, tmp_path / "then") == [("meta", b"key", b"after")]
    compaction.release()
    store.close()


def test_beside_a_compaction_a_large_commit_has_no_entry_either(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    compaction = store.compacting()
    put(store, b"large", b"x" * (SLOT_BYTES + 1))
    assert redo_log.entries(tmp_path / "db" / "redo") == []
    put(store, b"small", b"x")
    assert len(redo_log.entries(tmp_path / "db" / "redo")) == 1
    compaction.copy()
    compaction.finish()
    compaction.release()
    assert [key for _, key, _ in rows(store)] == [b"large", b"small"]
    store.close()


def test_a_commit_lasts_also_where_its_entry_cannot_be_synced(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, b"key", b"one")
    assert store._redo is not None
    store._redo.close()
    store._redo = Redo(os.open("/dev/full", os.O_RDWR))
    put(store, b"head", b"one")
    assert store._redo is None
    assert not (tmp_path / "db" / "redo").exists()
    put(store, b"head", b"two")
    store.close()
    store = LmdbStore.open(tmp_path)
    assert rows(store) == [("meta", b"head", b"two"), ("meta", b"key", b"one")]
    store.close()


def test_a_store_without_room_for_the_file_does_without_it(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    LmdbStore.open(tmp_path / "made").close()
    shutil.copy(tmp_path / "made" / "db" / "data.mdb", tmp_path / "db" / "data.mdb")
    (tmp_path / "db" / "redo").mkdir()
    store = LmdbStore.open(tmp_path)
    put(store, b"head", b"one")
    assert rows(store) == [("meta", b"head", b"one")]
    store.close()


def test_a_store_that_is_not_synced_anyway_has_no_such_file(tmp_path: Path) -> None:
    for durability in Durability.NORMAL, Durability.FAST:
        store = LmdbStore.open(tmp_path, durability)
        put(store, b"head", b"one")
        store.close()
    assert not (tmp_path / "db" / "redo").exists()


def test_what_a_newer_version_wrote_last_is_left_to_it(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, b"head", b"one")
    put(store, b"head", b"two")
    store.close()
    lose_the_last_commit(tmp_path)
    (newest,) = redo_log.entries(tmp_path / "db" / "redo")[-1:]
    file = Redo(os.open(tmp_path / "db" / "redo", os.O_RDWR))
    entry = file.begin(newest.base, newest.witness, [("a table to come", b"key", b"value")])
    assert entry is not None
    entry.result()
    held = (tmp_path / "db" / "redo").read_bytes()
    with pytest.raises(StoreFailure, match="newer Quire"):
        LmdbStore.open(tmp_path)
    assert (tmp_path / "db" / "redo").read_bytes() == held
    file.close()


def test_who_only_reads_leaves_the_entries_as_they_are(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, b"head", b"one")
    store.close()
    held = (tmp_path / "db" / "redo").read_bytes()
    LmdbStore.open(tmp_path).close()
    assert (tmp_path / "db" / "redo").read_bytes() == held
    store = LmdbStore.open(tmp_path)
    put(store, b"key", b"x" * SLOT_BYTES)
    assert redo_log.entries(tmp_path / "db" / "redo") == []
    store.close()


def test_a_folder_in_memory_is_told_from_one_on_a_disk(small_disk: Path) -> None:
    assert in_memory(small_disk)
    assert not in_memory(Path("/proc"))


def test_what_is_no_entry_is_none(tmp_path: Path) -> None:
    path = tmp_path / "redo"
    assert redo_log.entries(path) == []
    file = Redo.open(path)
    assert file is not None
    assert redo_log.entries(path) == []
    entry = file.begin(8, b"head", [("meta", b"key", None)])
    assert entry is not None
    entry.result()
    file.close()
    whole = path.read_bytes()
    assert redo_log.entries(path) == [RedoEntry(8, b"head", (("meta", b"key", None),))]
    for at in range(len(whole.rstrip(b"\0"))):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert redo_log.entries(path) == [], f"byte {at} is another"
    path.write_bytes(whole[:50])
    assert redo_log.entries(path) == []
    path.write_bytes(redo_log._HEAD.pack(redo_log._MAGIC, 8, 1, redo_log._digest(msgspec.msgpack.encode(1))) + b"\x01")
    assert redo_log.entries(path) == []


def test_nothing_is_left_of_what_an_earlier_process_deleted_where_this_one_only_compacts(tmp_path: Path) -> None:
    secret = b"-----BEGIN SECRET KEY-----"
    store = LmdbStore.open(tmp_path)
    put(store, b"secret", secret)
    with store.writing() as w:
        w.delete("meta", b"secret")
    store.close()
    store = LmdbStore.open(tmp_path)
    compaction = store.compacting()
    compaction.copy()
    compaction.finish()
    compaction.release()
    assert secret not in (tmp_path / "db" / "redo").read_bytes()
    store.close()


def test_a_file_that_can_be_neither_synced_nor_removed_is_a_failure_of_the_store_or_none(tmp_path: Path) -> None:
    """As where the disk has failed and its file system can only be read from now on: the commit itself decides."""
    store = LmdbStore.open(tmp_path)
    put(store, b"key", b"one")
    assert store._redo is not None
    store._redo.close()
    store._redo = Redo(os.open("/dev/full", os.O_RDWR))
    (tmp_path / "db" / "redo").unlink()
    (tmp_path / "db" / "redo").mkdir()
    put(store, b"head", b"one")
    assert rows(store) == [("meta", b"head", b"one"), ("meta", b"key", b"one")]
    store.close()


def test_a_store_that_is_not_synced_takes_what_cannot_be_removed_as_it_is(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    (tmp_path / "db" / "redo").mkdir()
    store = LmdbStore.open(tmp_path, Durability.FAST)
    put(store, b"head", b"one")
    assert rows(store) == [("meta", b"head", b"one")]
    store.close()


def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_is_not_there(tmp_path: Path) -> None:
    """What it tells of may stand nowhere else, and the next commit would empty it."""
    LmdbStore.open(tmp_path).close()
    (tmp_path / "db" / redo_log.NAME).unlink(missing_ok=True)
    (tmp_path / "db" / redo_log.NAME).symlink_to(redo_log.NAME)
    with pytest.raises(StoreFailure, match="could not read what the last commits changed"):
        LmdbStore.open(tmp_path)
