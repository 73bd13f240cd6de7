"""Counters: how much processes have written at a moment, and no guess where nobody looked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live import eventually
from proc_folder import counted, told
from quire_daemon.ops.process_tree import ProcessTree, pid_start
from quire_daemon.ops.write_counters import COUNTED_NS, WriteCounters
from quire_journal.storage.threads import alive

MS = 1_000_000
RUN = (50, 500)


class Scene:
    """A command whose counter a test sets, and a clock."""

    def __init__(self, proc: Path) -> None:
        self.proc, self.now_ns = proc, 1000 * MS
        told(proc, 50, 1, 500)
        self.counters = WriteCounters(ProcessTree(os.fspath(proc)), lambda: True, lambda: self.now_ns, every_s=0)

    def at(self, ms: int, written: int, looks: bool = True) -> None:
        self.now_ns = ms * MS
        counted(self.proc, 50, written)
        if looks:
            self.counters.look()

    def since(self, ms: int) -> int | None:
        return self.counters.written_since(RUN, ms * MS)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.at(1000, 5, looks=False)
    scene.counters.follow([RUN])
    return scene


def test_what_was_written_since_the_look_before_counts(scene: Scene) -> None:
    scene.at(1010, 7)
    scene.at(1020, 100, looks=False)
    assert scene.since(1015) == 93
    assert scene.since(1005) == 95


def test_what_was_written_long_after_does_not_count(scene: Scene) -> None:
    scene.at(1010, 7)
    scene.at(1020, 9)
    for ms in range(1030, 1100, 10):
        scene.at(ms, 9)
    scene.at(1200, 4000)
    assert scene.since(1015) == 2
    assert COUNTED_NS / MS < 1200 - 1015


def test_before_the_first_look_nothing_is_known(scene: Scene) -> None:
    scene.at(1010, 7)
    assert scene.since(990) is None
    assert scene.counters.written_since((51, 1), 1005 * MS) is None


def test_of_a_process_that_has_ended_nothing_is_known(scene: Scene) -> None:
    scene.at(1010, 7)
    told(scene.proc, 50, 1, 501)  # another one with its number
    counted(scene.proc, 50, 9)
    assert scene.since(1005) is None


def test_a_process_that_is_followed_no_more_is_forgotten(scene: Scene) -> None:
    scene.at(1010, 7)
    scene.counters.follow([])
    assert scene.since(1005) is None


def test_children_that_live_count_with_it(tmp_path: Path) -> None:
    told(tmp_path, 50, 1, 500)
    told(tmp_path, 60, 50, 600)
    counted(tmp_path, 50, 5, "60 61")  # 61 has just ended
    counted(tmp_path, 60, 7)
    assert ProcessTree(os.fspath(tmp_path)).bytes_written(RUN) == 12


def test_where_the_counter_of_a_child_may_not_be_read_nothing_is_known(tmp_path: Path) -> None:
    told(tmp_path, 50, 1, 500)
    told(tmp_path, 60, 50, 600)
    counted(tmp_path, 50, 5, "60")
    (tmp_path / "60" / "io").mkdir()  # as of a process of another user
    assert ProcessTree(os.fspath(tmp_path)).bytes_written(RUN) is None


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count")
def test_the_kernel_counts_what_ended_children_wrote(tmp_path: Path) -> None:
    script = f"echo {'x' * 5000} > {tmp_path}/f; echo; read line"
    with subprocess.Popen([sys.executable, "-c", f"import os; os.system({script!r})"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        written = ProcessTree().bytes_written((process.pid, pid_start(process.pid)))
        process.stdin.close()
    assert written is not None
    assert written >= 5000


def test_looks_go_on_by_themselves_until_nobody_is_followed(tmp_path: Path) -> None:
    told(tmp_path, 50, 1, 500)
    counted(tmp_path, 50, 5)
    looked = []

    class Tree(ProcessTree):
        def bytes_written(self, process: tuple[int, int]) -> int | None:
            looked.append(process)
            return super().bytes_written(process)

    counters = WriteCounters(Tree(os.fspath(tmp_path)), lambda: True, time.time_ns, every_s=0.001)
    counters.follow([RUN])
    eventually("a few looks", lambda: len(looked) > 4)
    counters.follow([])
    eventually("the end of the thread", lambda: not any(one.name == "write-counters" for one in alive()))
    counters.follow([RUN])
    assert counters.written_since(RUN, 0) is None
    counters.close()
