"""Process tree: who started whom, and nobody who only got the number of somebody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from proc_folder import told
from quire_daemon.ops.process_tree import MOST_ANCESTORS, Process, ancestors, pid_start


def test_a_process_comes_first_and_then_who_started_it(tmp_path: Path) -> None:
    told(tmp_path, 1, 0, 0, "init", "")
    told(tmp_path, 20, 1, 100, "claude", "/opt/claude")
    told(tmp_path, 30, 20, 150)
    assert ancestors(30, str(tmp_path)) == (
        Process(30, 150, "sh", "/bin/sh"),
        Process(20, 100, "claude", "/opt/claude"),
        Process(1, 0, "init", ""),
    )


def test_a_name_may_hold_brackets_and_spaces(tmp_path: Path) -> None:
    told(tmp_path, 7, 0, 5, "a) S 1 (b")
    assert [(one.name, one.start) for one in ancestors(7, str(tmp_path))] == [("a) S 1 (b", 5)]


def test_a_parent_that_began_after_its_child_is_somebody_else(tmp_path: Path) -> None:
    """Its number was given out again."""
    told(tmp_path, 20, 1, 151, "claude")
    told(tmp_path, 30, 20, 150)
    assert [one.pid for one in ancestors(30, str(tmp_path))] == [30]


def test_a_parent_that_has_ended_ends_the_row(tmp_path: Path) -> None:
    told(tmp_path, 30, 20, 150)
    assert [one.pid for one in ancestors(30, str(tmp_path))] == [30]


def test_of_a_process_that_has_ended_nothing_is_known(tmp_path: Path) -> None:
    assert ancestors(30, str(tmp_path)) == ()
    assert pid_start(30, str(tmp_path)) == 0


def test_a_shell_that_leads_a_terminal_is_a_persons_unless_it_runs_one_command(tmp_path: Path) -> None:
    told(tmp_path, 10, 0, 1, "bash", leads=34816, words="-bash")
    told(tmp_path, 20, 10, 2, "bash", leads=34817, words="/bin/bash -lc make")
    told(tmp_path, 30, 20, 3, "bash", leads=0, words="bash")
    assert [one.at_terminal for one in ancestors(30, str(tmp_path))] == [False, False, True]


def test_what_is_no_process_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "30").mkdir()
    (tmp_path / "30" / "stat").write_text("30 (sh")
    assert ancestors(30, str(tmp_path)) == () == ancestors(0, str(tmp_path))


def test_a_row_of_processes_has_an_end(tmp_path: Path) -> None:
    for pid in range(1, MOST_ANCESTORS + 10):
        told(tmp_path, pid, pid - 1, pid)
    assert len(ancestors(MOST_ANCESTORS + 9, str(tmp_path))) == MOST_ANCESTORS


def test_the_kernel_knows_the_ancestors_of_a_child_of_ours() -> None:
    if not os.path.exists("/proc/self/stat"):
        assert ancestors(os.getpid()) == ()
        return
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        found = ancestors(child.pid)
        assert [one.pid for one in found[:2]] == [child.pid, os.getpid()]
        assert found[1].start == pid_start(os.getpid()) <= found[0].start
        assert found[1].exe == os.path.realpath("/proc/self/exe")
    finally:
        child.communicate(b"\n")
