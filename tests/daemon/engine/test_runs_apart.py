"""A person's runs, and what the same person does beside them: only what a run's own processes do is the run's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_daemon import MemoryDaemon
from proc_folder import told
from quire_journal.model.events import WorkspaceScanned
from quire_journal.model.messages import Caller

RUN, WITHIN, NESTED = 40, 51, 52
OTHER, ELSEWHERE = 60, 71
"""Processes: a `quire run` with two below it, and two of another terminal."""


@pytest.fixture
def daemon(tmp_path: Path) -> MemoryDaemon:
    """Two terminals of one person."""
    told(tmp_path, 1, 0, 1, "systemd", "/sbin/init")
    for terminal, number in ((30, 300), (31, 310)):
        told(tmp_path, terminal, 1, number, "bash", "/bin/bash", leads=34816 + terminal, words="-bash")
    told(tmp_path, RUN, 30, 400, "quire", "/usr/bin/python3")
    told(tmp_path, 50, RUN, 500, "make", "/usr/bin/make")
    told(tmp_path, WITHIN, 50, 510, "quire", "/usr/bin/python3")
    told(tmp_path, NESTED, 50, 520, "quire", "/usr/bin/python3")
    told(tmp_path, OTHER, 31, 600, "quire", "/usr/bin/python3")
    told(tmp_path, ELSEWHERE, 31, 710, "quire", "/usr/bin/python3")
    daemon = MemoryDaemon({"a": "one\n", "b": "two\n"}, proc=tmp_path)
    daemon.watch("captured")
    daemon.note(WorkspaceScanned("start", 2, 2))
    return daemon


def call(daemon: MemoryDaemon, pid: int, tool: str, **args: Any) -> dict[str, Any]:
    reply = daemon.said(tool, args, Caller(), pid)
    assert reply["ok"], reply
    return reply


def begin(daemon: MemoryDaemon, pid: int, *command: str, isolated: bool = False) -> int:
    return int(call(daemon, pid, "run", action="begin", command=command, isolated=isolated)["burst"])


def end(daemon: MemoryDaemon, pid: int, burst: int) -> list[list[str]]:
    """[paths that the run changed, paths that others changed]."""
    told = call(daemon, pid, "run", action="end", burst=burst)
    return [[file["path"] for file in told[kind]] for kind in ("changed", "by_others")]


def lands(daemon: MemoryDaemon, pid: int, burst: int, path: str, data: bytes) -> None:
    file = {"path": path, "kind": "file", "mode": 0o644, "data": data}
    call(daemon, pid, "land", burst=burst, files=[file])


def test_what_a_person_does_in_another_terminal_is_not_the_runs(daemon: MemoryDaemon) -> None:
    """An undo of the run took it back, and `--strict` did not tell of it."""
    run = begin(daemon, RUN, "make")
    call(daemon, OTHER, "write_file", path="mine", content="x\n")
    call(daemon, WITHIN, "write_file", path="its", content="x\n")
    assert end(daemon, RUN, run) == [["its"], ["mine"]]
    call(daemon, OTHER, "undo", burst=run)
    assert {*daemon.files} == {"a", "b", "mine"}


def test_an_undo_in_another_terminal_is_not_the_runs(daemon: MemoryDaemon) -> None:
    call(daemon, OTHER, "write_file", path="mine", content="x\n")
    run = begin(daemon, RUN, "make")
    call(daemon, ELSEWHERE, "undo")
    assert end(daemon, RUN, run) == [[], ["mine"]]


def test_what_lands_from_a_run_is_that_runs_and_of_the_one_around_it(daemon: MemoryDaemon) -> None:
    outer = begin(daemon, RUN, "make")
    other = begin(daemon, OTHER, "fix", isolated=True)
    inner = begin(daemon, NESTED, "fmt", isolated=True)
    lands(daemon, OTHER, other, "a", b"fixed\n")
    lands(daemon, NESTED, inner, "b", b"formatted\n")
    assert end(daemon, NESTED, inner) == [["b"], ["a"]]
    assert end(daemon, OTHER, other) == [["a"], ["b"]]
    assert end(daemon, RUN, outer) == [["b"], ["a"]]
    stories = [call(daemon, OTHER, "stories", path=path)["stories"][0]["commands"] for path in ("a", "b")]
    assert stories == [["fix"], ["fmt"]]
    call(daemon, OTHER, "undo", burst=outer)
    assert daemon.files == {"a": b"fixed\n", "b": b"two\n"}


@pytest.mark.parametrize("pid", [OTHER, NESTED])
def test_what_another_run_wrote_is_the_outer_ones_only_if_that_started_it(daemon: MemoryDaemon, pid: int) -> None:
    outer = begin(daemon, RUN, "make")
    other = begin(daemon, pid, "sed", "-i", "s/one/1/", "a")
    daemon.outside("a", b"1\n")
    assert end(daemon, pid, other) == [["a"], []]
    assert end(daemon, RUN, outer) == ([["a"], []] if pid == NESTED else [[], ["a"]])
    undone = daemon.said("undo", {"burst": outer, "probable": True}, Caller(), OTHER)
    assert (undone["ok"], daemon.files["a"]) == ((True, b"one\n") if pid == NESTED else (False, b"1\n"))
