"""The process that reads a journal which may be damaged: at a start, and for a compaction."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from quire_daemon.integrity.check_client import copied, examine
from quire_daemon.integrity.check_worker import CheckTask
from quire_daemon.workers.process import PipedProcess
from quire_journal.journal import Journal
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import TABLES, CopyOrder, u64


def piped(*words: str) -> PipedProcess:
    return PipedProcess([sys.executable, *words])


def test_a_process_that_dies_of_the_journal_is_a_finding() -> None:
    for program, fate in (
        ("import os, signal; os.kill(os.getpid(), signal.SIGBUS)", "was ended by SIGBUS"),
        ("raise ZeroDivisionError('no such page')", "failed (ZeroDivisionError: no such page)"),
    ):
        examined = examine(CheckTask(""), begin=lambda task, program=program: piped("-S", "-c", program))
        assert examined.sentences == [f"The process that read the journal {fate}."]
        assert examined.end == {}


def test_what_is_wrong_with_a_journal_is_found_by_another_process(journals: Path) -> None:
    for name in ("sound", "damaged"):
        Journal.open(LmdbStore.open(journals / name), 1, "0" * 32).close()
    data = journals / "damaged" / "db" / "data.mdb"
    data.write_bytes(b"\xff" * 4096 + data.read_bytes()[4096:])
    sound, damaged = (examine(CheckTask(str(journals / name))) for name in ("sound", "damaged"))
    assert (sound.sentences, sound.end) == ([], {"findings": 0, "whole": True})
    assert damaged.sentences


def test_who_waits_no_longer_need_not_be_told_anything_to_end_it() -> None:
    """Of gigabytes of pages nothing is said for minutes."""

    class Ended(Exception):
        pass

    def look() -> None:
        raise Ended

    child = PipedProcess(["sleep", "60"])
    with pytest.raises(Ended):
        examine(CheckTask(""), begin=lambda task: child, look=look)
    assert child.returncode == -signal.SIGKILL


def test_who_waits_no_longer_for_what_the_process_finds_ends_it() -> None:
    """A daemon that was to stop waited for a `verify` to come to its end."""

    class Ended(Exception):
        pass

    def told(what: str, done: int, total: int) -> None:
        raise Ended

    program = 'import time; print(\'["progress", "pages", 0, 0]\', flush=True); time.sleep(60)'
    child = piped("-S", "-c", program)
    with pytest.raises(Ended):
        examine(CheckTask(""), told, lambda task: child)
    assert child.returncode == -signal.SIGKILL


class Enough(Exception):
    """Somebody waits no longer."""


def test_a_compaction_that_is_copied_by_another_process_holds_what_was_written_meanwhile(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    with store.writing() as w:
        for number in range(1000):
            w.append("records", u64(number), b"record %d" % number)
            w.put("meta", b"key %d" % number, b"old")
    with store.writing() as w:
        for number in range(0, 1000, 2):
            w.delete("meta", b"key %d" % number)
    compaction, written = store.compacting(), list[int]()

    def write() -> None:
        with store.writing() as w:
            w.put("meta", b"key %d" % len(written), b"new")
        written.append(len(written))

    write()
    compaction.copy(write, copied)
    write()
    with store.reading() as r:
        before = {table: list(r.scan(table)) for table in TABLES}
    compaction.finish()
    compaction.release()
    with store.reading() as r:
        assert {table: list(r.scan(table)) for table in TABLES} == before
    assert len(before["meta"]) >= 500 + len(written) // 2
    store.close()


def test_who_waits_no_longer_for_the_copy_of_a_compaction_ends_the_process_and_may_begin_another(
    tmp_path: Path,
) -> None:
    def enough() -> None:
        raise Enough

    store = LmdbStore.open(tmp_path, synced=False)
    with store.writing() as w:
        w.append_all("records", [(u64(number), b"") for number in range(100_000)])  # that takes a while at its pace
    compaction = store.compacting()
    with pytest.raises(Enough):
        compaction.copy(enough, copied)
    compaction.cancel()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db"]
    store.compacting().cancel()
    store.close()


def test_damage_that_the_copy_of_a_compaction_meets_is_told_as_damage(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "data.mdb").write_bytes(b"no database" * 1000)
    with pytest.raises(JournalDamaged, match="is not a database"):
        copied(CopyOrder(str(tmp_path / "db"), str(tmp_path / "copy")), lambda: None)
