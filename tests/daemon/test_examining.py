"""The process that reads a journal which may be damaged, as a fork of the daemon that starts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quire_daemon.examiner import CheckTask
from quire_daemon.examining import examine
from quire_journal.stores.lmdb import LmdbStore

# In a process of its own: the one that runs the tests has threads, and must not fork.
PARENT = """
import fcntl, json, os, signal, sys, time
from quire_daemon import examiner
from quire_daemon.examiner import CheckTask
from quire_daemon.examining import Forked, examine

def die(task, teller):
    os.kill(os.getpid(), signal.SIGBUS)

def fail(task, teller):
    raise ZeroDivisionError("no such page")

def look_around(task, teller):
    return {"open": sorted(map(int, os.listdir("/proc/self/fd")))[:-1], "parent": os.getppid()}

folder, *steps = sys.argv[1:]
lock = open(folder + "/lock", "w")
for step in steps:
    examiner.run = {"die": die, "fail": fail, "look_around": look_around, "run": examiner.run}[step]
    examined = examine(CheckTask(folder), begin=Forked)
    print(json.dumps([examined.sentences, examined.end, os.getpid()]))
"""


def forked(folder: Path, step: str) -> tuple[list[str], dict[str, object], int]:
    ran = subprocess.run([sys.executable, "-c", PARENT, folder, step], capture_output=True, text=True, check=True)
    sentences, end, pid = json.loads(ran.stdout)
    return sentences, end, pid


@pytest.mark.parametrize(
    ("step", "finding"),
    [
        ("die", "The process that read the journal was ended by SIGBUS."),
        ("fail", "The process that read the journal failed (ZeroDivisionError: no such page)."),
    ],
)
def test_a_fork_that_dies_of_the_journal_is_a_finding(tmp_path: Path, step: str, finding: str) -> None:
    sentences, end, _ = forked(tmp_path, step)
    assert (sentences, end) == ([finding], {})


def test_a_fork_keeps_nothing_open_of_its_daemon_whose_lock_it_would_hold(tmp_path: Path) -> None:
    sentences, end, pid = forked(tmp_path, "look_around")
    assert (sentences, end) == ([], {"open": [0, 1, 2], "parent": pid})


def test_a_fork_finds_what_the_program_finds(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    data = tmp_path / "db" / "data.mdb"
    program = examine(CheckTask(str(tmp_path)))
    sentences, end, _ = forked(tmp_path, "run")
    assert (sentences, end) == (program.sentences, program.end)
    data.write_bytes(b"\xff" * 4096 + data.read_bytes()[4096:])
    program = examine(CheckTask(str(tmp_path)))
    sentences, end, _ = forked(tmp_path, "run")
    assert program.sentences
    assert (sentences, end) == (program.sentences, program.end)
