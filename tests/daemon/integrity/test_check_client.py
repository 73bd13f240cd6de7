"""The process that reads a journal which may be damaged: as a fork of a daemon that starts, and for a compaction."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quire_daemon.integrity.check_client import copied, examine
from quire_daemon.integrity.check_worker import CheckTask
from quire_journal.journal import Journal
from quire_journal.model.records import JournalDamaged
from quire_journal.storage.lmdb import LmdbStore
from quire_journal.storage.port import TABLES, u64

# In a process of its own: the one that runs the tests has threads, and must not fork.
PARENT = """
import fcntl, json, os, signal, sys, time
from quire_daemon.integrity import check_worker as examiner
from quire_daemon.integrity.check_worker import CheckTask
from quire_daemon.integrity.check_client import ForkedWorker, examine

real = examiner.run

def die(task, teller):
    os.kill(os.getpid(), signal.SIGBUS)

def fail(task, teller):
    raise ZeroDivisionError("no such page")

def look_around(task, teller):
    return {"open": sorted(map(int, os.listdir("/proc/self/fd")))[:-1], "parent": os.getppid()}

lock = open(sys.argv[1] + "/lock", "w")
for step, folder in json.loads(sys.argv[2]):
    examiner.run = {"die": die, "fail": fail, "look_around": look_around, "run": real}[step]
    examined = examine(CheckTask(folder), begin=ForkedWorker)
    print(json.dumps([examined.sentences, examined.end, os.getpid()]))
"""

Said = tuple[list[str], dict[str, object], int]
"""The findings, the last line, and the process id of the parent."""


def forked(folder: Path, *steps: tuple[str, Path | str]) -> list[Said]:
    """What a process is told by one fork after the other."""
    todo = json.dumps([(step, str(where)) for step, where in steps])
    ran = subprocess.run([sys.executable, "-c", PARENT, folder, todo], capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in ran.stdout.splitlines()]


def test_a_fork_that_dies_of_the_journal_is_a_finding_and_one_keeps_nothing_open_of_its_daemon(journals: Path) -> None:
    """A lock above all: it would be held until the fork has ended."""
    died, failed, looked = forked(journals, *((step, journals) for step in ("die", "fail", "look_around")))
    assert died[:2] == (["The process that read the journal was ended by SIGBUS."], {})
    assert failed[:2] == (["The process that read the journal failed (ZeroDivisionError: no such page)."], {})
    assert looked[:2] == ([], {"open": [0, 1, 2], "parent": looked[2]})


def test_a_fork_finds_what_the_program_finds(journals: Path) -> None:
    for name in ("sound", "damaged"):
        Journal.open(LmdbStore.open(journals / name), 1, "0" * 32).close()
    data = journals / "damaged" / "db" / "data.mdb"
    data.write_bytes(b"\xff" * 4096 + data.read_bytes()[4096:])
    sound, damaged = forked(journals, ("run", journals / "sound"), ("run", journals / "damaged"))
    assert sound[:2] == ([], {"findings": 0, "whole": True}), sound
    program = examine(CheckTask(str(journals / "damaged")))
    assert program.sentences
    assert damaged[:2] == (program.sentences, program.end)


def test_who_waits_no_longer_need_not_be_told_anything_to_end_it() -> None:
    """Of gigabytes of pages nothing is said for minutes."""

    class Ended(Exception):
        pass

    def look() -> None:
        raise Ended

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(["sleep", "60"], text=True, **pipes)  # type: ignore[call-overload]
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
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-S", "-c", program], text=True, **pipes)  # type: ignore[call-overload]
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
        copied(str(tmp_path / "db"), str(tmp_path / "copy"), lambda: None)
