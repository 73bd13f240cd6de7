"""Undo of a call in all its files: what one call of an agent's own tool, a command of git or a program wrote."""

from __future__ import annotations

from typing import Any

import pytest

from memory_daemon import MemoryDaemon, lines
from quire_daemon.tools.agent_hooks import NATIVE_TOOL
from quire_daemon.tools.undo.tool import REDO_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_journal.model.events import GitRan, OutsideWritten, WorkspaceScanned
from quire_journal.model.ids import blob_id

OLD = lines("old")
NEW = lines("new")
FILES = ("a", "b", "c")


@pytest.fixture
def daemon() -> MemoryDaemon:
    daemon = MemoryDaemon(dict.fromkeys((*FILES, "d"), OLD))
    daemon.watch("captured")
    daemon.note(WorkspaceScanned("start", 4, 4))
    return daemon


def native_call(daemon: MemoryDaemon, *paths: str, text: bytes = NEW) -> int:
    """Ann's own patch of several files; the version of the last one."""
    payloads = [{"kind": "content", "path": path, "text": text.decode()} for path in paths]
    args: dict[str, Any] = {"tool": "apply_patch", "paths": [*paths]}
    assert daemon.call(NATIVE_TOOL, daemon.ann, moment="before", payloads=payloads, **args)["ok"]
    for path in paths:
        daemon.outside(path, text)
    assert daemon.call(NATIVE_TOOL, daemon.ann, moment="after", **args)["ok"]
    return daemon.head_of(paths[-1])


def changed(daemon: MemoryDaemon) -> list[str]:
    return [path for path in (*FILES, "d") if daemon.text(path) != OLD]


def by_git(daemon: MemoryDaemon, *paths: str, text: bytes = NEW) -> int:
    daemon.note(GitRan("stash pop", head_before="main", head_after="main"))
    at_ns = daemon.now_ns
    for path in paths:
        daemon.now_ns = at_ns
        hint = "" if path == "b" else "git: index.lock was held"  # of one write git was not seen to run
        there = OutsideWritten(path, blob_id(text), len(text), 0o644, "watched", daemon.head_of(path), hint=hint)
        daemon.note(there, blobs=(text,))
        daemon.save(path, text)
    return daemon.head_of(paths[-1])


def test_the_last_call_of_an_agent_is_taken_back_in_all_its_files(daemon: MemoryDaemon) -> None:
    native_call(daemon, "d")
    daemon.after(60)
    native_call(daemon, *FILES)
    plan = daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=1, plan=True)
    assert [file["path"] for file in plan["files"]] == [*FILES]
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=1)["ok"]
    assert changed(daemon) == ["d"]
    assert daemon.call(REDO_TOOL, daemon.ben)["ok"]
    assert changed(daemon) == [*FILES, "d"]


def test_two_calls_are_taken_back_with_last_2(daemon: MemoryDaemon) -> None:
    native_call(daemon, "a", "b")
    native_call(daemon, "c", "d")
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="ann", last=2)["ok"]
    assert changed(daemon) == []


def test_an_undo_without_a_choice_takes_the_callers_last_call(daemon: MemoryDaemon) -> None:
    daemon.write("d", NEW, daemon.ann)
    native_call(daemon, *FILES)
    assert daemon.call(UNDO_TOOL, daemon.ann)["ok"]
    assert changed(daemon) == ["d"]


def test_a_version_means_all_that_its_call_wrote_and_a_number_one_batch(daemon: MemoryDaemon) -> None:
    version = native_call(daemon, *FILES)
    assert len(daemon.call(UNDO_TOOL, daemon.ben, batch=version, plan=True)["files"]) == 1
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=f"v{version}", path="b")["ok"]
    assert changed(daemon) == ["a", "c"]
    assert daemon.call(UNDO_TOOL, daemon.ben, batch=f"v{version}")["ok"]
    assert changed(daemon) == []
    assert daemon.call(REDO_TOOL, daemon.ben, batch=f"v{version}")["ok"]
    assert changed(daemon) == [*FILES]


@pytest.mark.parametrize("choice", [{"git": "last"}, {"writer": "*", "last": 1}])
def test_what_a_command_of_git_brought_is_one_of_the_last(daemon: MemoryDaemon, choice: dict[str, Any]) -> None:
    daemon.outside("d", NEW)
    daemon.after(60)
    version = by_git(daemon, *FILES)
    plan = daemon.call(UNDO_TOOL, daemon.ben, batch=f"v{version}", plan=True)
    assert [file["path"] for file in plan["files"]] == [*FILES]
    assert daemon.call(UNDO_TOOL, daemon.ben, **choice)["ok"]
    assert changed(daemon) == ["d"]


@pytest.mark.parametrize("choice", [{"git": "last"}, {"writer": "*", "last": 1}])
def test_a_stash_and_its_pop_are_two(daemon: MemoryDaemon, choice: dict[str, Any]) -> None:
    for path in FILES:
        daemon.outside(path, NEW)
    by_git(daemon, *FILES, text=OLD)
    by_git(daemon, *FILES)
    assert daemon.call(UNDO_TOOL, daemon.ben, **choice)["ok"]
    assert changed(daemon) == []


@pytest.mark.parametrize("last", [{}, {"last": 1}])
def test_what_git_wrote_stays_with_an_undo_of_outside_and_is_told(daemon: MemoryDaemon, last: dict[str, int]) -> None:
    start = f"seq:{daemon.journal.head}"
    daemon.outside("d", NEW)
    daemon.after(60)
    by_git(daemon, *FILES)
    plan = daemon.call(UNDO_TOOL, daemon.ben, writer="outside", **{"from": start}, **last, plan=True)
    assert ([file["path"] for file in plan["files"]], plan["left_out_by_git"]) == (["d"], 3)
    assert plan["message"].endswith(
        " 3 writes of git are left out: `quire undo --git last` takes back those of its last command."
    )
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="outside", **{"from": start}, **last)["ok"]
    assert changed(daemon) == [*FILES]
    refused = daemon.call(UNDO_TOOL, daemon.ben, writer="outside", **{"from": start}, **last)
    assert (refused["error"], refused["left_out_by_git"]) == ("not_found", 3)
    assert "`quire undo --git last`" in refused["message"]
    assert daemon.call(UNDO_TOOL, daemon.ben, git="last")["ok"]
    assert changed(daemon) == []


def test_a_file_that_git_wrote_unseen_beside_others_stays_with_an_undo_of_outside(daemon: MemoryDaemon) -> None:
    daemon.outside("d", NEW)
    daemon.after(60)
    by_git(daemon, "a", "b")  # of the write of b, the newest, git was not seen to run
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="outside", last=1)["ok"]
    assert changed(daemon) == ["a", "b"]
    assert daemon.call(REDO_TOOL, daemon.ben)["ok"]
    reply = daemon.call(UNDO_TOOL, daemon.ben, writer="outside", path="?")
    assert (reply["left_out_by_git"], changed(daemon)) == (2, ["a", "b"])


def test_a_rollback_and_a_redo_of_outside_leave_out_what_git_wrote(daemon: MemoryDaemon) -> None:
    start = f"seq:{daemon.journal.head}"
    daemon.outside("d", NEW)
    daemon.after(60)
    by_git(daemon, *FILES)
    back = daemon.call(ROLLBACK_TOOL, daemon.ben, to=start, writer="outside")
    assert (back["left_out_by_git"], changed(daemon)) == (3, [*FILES])
    assert daemon.call(UNDO_TOOL, daemon.ben, git="last")["ok"]
    redone = daemon.call(REDO_TOOL, daemon.ben, writer="outside", **{"from": start})
    assert (redone["left_out_by_git"], changed(daemon)) == (3, ["d"])
    assert " 3 writes of git are left out: `quire redo VERSION` brings back" in redone["message"]


def test_lines_that_git_put_there_are_not_of_outside(daemon: MemoryDaemon) -> None:
    by_git(daemon, "a")
    refused = daemon.call(UNDO_TOOL, daemon.ben, writer="outside", path="a", lines="1")
    assert refused["message"] == "Line 1 of a was not written by outside, but by git."
    assert daemon.call(UNDO_TOOL, daemon.ben, path="a", lines="1")["ok"]
    assert changed(daemon) == []


def test_a_save_is_one_of_the_last_and_a_write_of_many_files_too(daemon: MemoryDaemon) -> None:
    daemon.outside("a", NEW)
    daemon.outside("b", NEW)
    assert daemon.call(UNDO_TOOL, daemon.ben, writer="outside", last=1)["ok"]
    assert changed(daemon) == ["a"]
    daemon.after(60)
    for number in range(13):
        daemon.outside(f"new{number}", NEW)
    assert len(daemon.call(UNDO_TOOL, daemon.ben, writer="outside", last=1)["batches"]) == 13
    assert changed(daemon) == ["a"]
