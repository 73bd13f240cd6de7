"""Files that come to the names of folders whose files go, and go from there again: on a real disk."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import Daemon

from quire_daemon.commit.recorder import Recorder
from quire_daemon.ops.daemon_log import Log
from quire_daemon.startup.recovery import recover
from quire_daemon.startup.recovery_context import RecoveryContext
from quire_daemon.workspace.workspace import Workspace
from quire_journal.integrity.checker import check
from quire_journal.journal import Journal
from quire_journal.views.files import standing


def call(daemon: Daemon, tool: str, **args: Any) -> dict[str, Any]:
    return daemon.turn(ann=(tool, args))["ann"]


def ok(reply: dict[str, Any]) -> dict[str, Any]:
    assert reply["ok"], reply
    return reply


def tree(daemon: Daemon) -> dict[str, str | None]:
    """What is on the disk; None stands for an empty folder."""
    found: dict[str, str | None] = {}
    for path in sorted(daemon.root.rglob("*")):
        name = str(path.relative_to(daemon.root))
        if name.split("/")[0] == ".quire":
            continue
        if path.is_file():
            found[name] = path.read_text()
        elif not any(path.iterdir()):
            found[name] = None
    return found


def file_for_folder(daemon: Daemon) -> None:
    """`mv d/x y; rmdir d; mv z d`, where `d/x` and `z` were."""
    (daemon.root / "d").mkdir()
    (daemon.root / "d/x").write_text("x\n")
    (daemon.root / "z").write_text("z\n")
    ok(call(daemon, "move_file", path="d/x", to="y"))
    (daemon.root / "d").rmdir()
    ok(call(daemon, "move_file", path="z", to="d"))


MOVED = {"d": "z\n", "y": "x\n"}
BEFORE = {"d/x": "x\n", "z": "z\n"}


def test_undo_and_redo_exchange_a_file_and_a_folder_of_one_name(daemon: Daemon) -> None:
    file_for_folder(daemon)
    for _ in range(2):
        ok(call(daemon, "undo", last=2))
        assert tree(daemon) == BEFORE
        ok(call(daemon, "redo"))
        assert tree(daemon) == MOVED
    assert list(check(daemon.store)) == []


def test_a_file_that_was_made_in_the_place_of_a_folder_is_made_again(daemon: Daemon) -> None:
    """`rm -r d; echo > d`."""
    (daemon.root / "d/in").mkdir(parents=True)
    for name in ("d/x", "d/in/y"):
        (daemon.root / name).write_text("old\n")
        ok(call(daemon, "delete_file", path=name))
    (daemon.root / "d/in").rmdir()
    (daemon.root / "d").rmdir()
    ok(call(daemon, "write_file", path="d", content="file\n"))
    for _ in range(2):
        ok(call(daemon, "undo", last=3))
        assert tree(daemon) == {"d/x": "old\n", "d/in/y": "old\n"}
        ok(call(daemon, "redo"))
        assert tree(daemon) == {"d": "file\n"}


def test_a_file_comes_back_where_an_empty_folder_is(daemon: Daemon) -> None:
    """And the journal knows of that folder by then."""
    made = ok(call(daemon, "write_file", path="d", content="file\n"))["version"]
    for tool, args in (("undo", {}), ("restore", {"at": made, "path": "d"})):
        ok(call(daemon, "delete_file", path="d"))
        (daemon.root / "d/in").mkdir(parents=True)
        assert not call(daemon, "read_file", path="d/in")["ok"]
        ok(call(daemon, tool, **args))
        assert tree(daemon) == {"d": "file\n"}
    with daemon.app.recorder.history() as history:
        heads = {path: head.gone for path, head in history.paths() if path.startswith("d")}
    assert heads == {"d": False, "d/in": True}
    assert list(check(daemon.store)) == []


def test_a_file_that_becomes_the_folder_that_it_was_in_steps_aside_outside_of_that(daemon: Daemon) -> None:
    """`mv d/x t; rmdir d; mv t d`."""
    (daemon.root / "d").mkdir()
    (daemon.root / "d/x").write_text("x\n")
    ok(call(daemon, "move_file", path="d/x", to="t"))
    (daemon.root / "d").rmdir()
    ok(call(daemon, "move_file", path="t", to="d"))
    for _ in range(2):
        ok(call(daemon, "undo", last=2))
        assert tree(daemon) == {"d/x": "x\n"}
        ok(call(daemon, "redo"))
        assert tree(daemon) == {"d": "x\n"}


@pytest.mark.parametrize("ignored", [False, True])
def test_a_folder_in_which_something_stays_keeps_its_name(daemon: Daemon, ignored: bool) -> None:
    """Also where it is ignored, so that the journal does not know it."""
    if ignored:
        (daemon.root / ".gitignore").write_text("theirs\n")
    file_for_folder(daemon)
    ok(call(daemon, "undo", last=2))
    (daemon.root / "d/theirs").write_text("theirs\n")
    ok(call(daemon, "redo"))
    assert daemon.text("d/theirs") == "theirs\n"
    assert daemon.text("y") == "x\n"
    assert daemon.text("z") == "z\n"


def test_undo_restores_one_of_two_files_if_one_needs_the_others_name_as_a_folder(daemon: Daemon) -> None:
    ok(call(daemon, "write_file", path="d", content="file\n"))
    ok(call(daemon, "delete_file", path="d"))
    ok(daemon.turn(ben=("write_file", {"path": "d/w", "content": "w\n"}))["ben"])
    ok(call(daemon, "delete_file", path="d/w"))
    (daemon.root / "d").rmdir()
    reply = ok(call(daemon, "undo", last=2))
    assert sorted((f["action"], f["skipped"] or "") for f in reply["files"]) == [("create", ""), ("none", "occupied")]


def test_redo_keeps_a_folder_into_which_another_writer_put_a_file_meanwhile(daemon: Daemon) -> None:
    file_for_folder(daemon)
    ok(call(daemon, "undo", last=2))
    passed: list[str] = []

    def meanwhile(step: str) -> None:
        passed.append(step)
        if step == "perform.moved" and passed.count(step) == 1:
            (daemon.root / "d/new").write_text("new\n")

    daemon.at_step = meanwhile
    ok(call(daemon, "redo"))
    daemon.at_step = lambda step: None
    assert tree(daemon) == {"d/new": "new\n", "y": "x\n", "z": "z\n"}
    assert list(check(daemon.store)) == []


def test_a_folder_that_was_removed_comes_back_with_its_mode_when_all_goes_back(daemon: Daemon) -> None:
    """Somebody writes the file that is to have its name; the undo is made on that, then."""
    file_for_folder(daemon)
    ok(call(daemon, "undo", last=2))
    (daemon.root / "d").chmod(0o750)
    taken_back: list[tuple[int, dict[str, str | None]]] = []

    def meanwhile(step: str) -> None:
        if step == "perform.cleared" and not taken_back:
            (daemon.root / "z").write_text("z\nmore\n")
        if step == "after_abandon":
            taken_back.append(((daemon.root / "d").stat().st_mode & 0o7777, tree(daemon)))

    daemon.at_step = meanwhile
    ok(call(daemon, "redo"))
    daemon.at_step = lambda step: None
    assert taken_back == [(0o750, {**BEFORE, "z": "z\nmore\n"})]
    assert tree(daemon) == {**MOVED, "d": "z\nmore\n"}


def restored_folder(daemon: Daemon, *paths: str) -> None:
    """There were empty folders, they went, and are restored."""
    for path in paths:
        (daemon.root / path).mkdir(mode=0o750, parents=True)
    there = [daemon.seen(path) for path in paths][-1]
    for path in paths:
        (daemon.root / path).rmdir()
        daemon.seen(path)
    ok(call(daemon, "restore", at=f"seq:{there}", paths=[*paths]))
    assert {path: tree(daemon).get(path, "") for path in paths} == dict.fromkeys(paths)


def test_an_empty_folder_that_a_restore_made_goes_with_its_undo_and_comes_with_a_redo(daemon: Daemon) -> None:
    restored_folder(daemon, "d")
    for _ in range(2):
        undone = ok(call(daemon, "undo"))
        assert [(f["path"], f["action"]) for f in undone["files"]] == [("d", "delete")]
        assert tree(daemon) == {}
        redone = ok(call(daemon, "redo"))
        assert [(f["path"], f["action"]) for f in redone["files"]] == [("d", "make")]
        assert tree(daemon) == {"d": None}
        assert (daemon.root / "d").stat().st_mode & 0o777 == 0o750
    assert list(check(daemon.store)) == []


def test_a_rollback_takes_a_restored_folder_away_with_what_the_caller_wrote_in_it(daemon: Daemon) -> None:
    ok(call(daemon, "write_file", path="f", content="f\n"))
    restored_folder(daemon, "d", "e")
    ok(call(daemon, "write_file", path="d/in/x", content="x\n"))
    ok(call(daemon, "delete_file", path="d/in/x"))
    (daemon.root / "d/in").rmdir()
    ok(call(daemon, "write_file", path="d/x", content="x\n"))
    rolled = ok(call(daemon, "rollback", to="seq:2"))
    assert sorted(f["path"] for f in rolled["files"] if f["action"] == "delete") == ["d", "d/x", "e"]
    assert tree(daemon) == {"f": "f\n"}
    ok(call(daemon, "undo", batch=rolled["batch"]))
    assert tree(daemon) == {"f": "f\n", "d/x": "x\n", "e": None}
    assert list(check(daemon.store)) == []


@pytest.mark.parametrize("theirs", ["d/theirs", "d/in/"])
def test_a_restored_folder_in_which_somebody_made_something_stays(daemon: Daemon, theirs: str) -> None:
    restored_folder(daemon, "d", "e")
    if theirs.endswith("/"):
        (daemon.root / theirs).mkdir()
    else:
        (daemon.root / theirs).write_text("theirs\n")
    undone = ok(call(daemon, "undo"))
    assert {f["path"]: (f["action"], f["skipped"]) for f in undone["files"]} == {
        "d": ("none", "occupied"),
        "e": ("delete", None),
    }
    assert (daemon.root / theirs).exists()
    ok(call(daemon, "redo"))
    assert (daemon.root / "e").is_dir()
    (daemon.root / "e/theirs").write_text("theirs\n")
    refused = call(daemon, "undo")
    assert (refused["error"], (daemon.root / "e/theirs").exists()) == ("conflict", True)


def test_undo_of_outside_writes_keeps_a_new_folder(daemon: Daemon) -> None:
    (daemon.root / "d").mkdir()
    daemon.seen("d")
    refused = call(daemon, "undo", writer="outside", last=1)
    assert (refused["error"], tree(daemon)) == ("not_found", {"d": None})


def test_a_restored_folder_that_somebody_removed_and_made_again_stays(daemon: Daemon) -> None:
    restored_folder(daemon, "d")
    (daemon.root / "d").rmdir()
    daemon.seen("d")
    refused = call(daemon, "undo")
    assert (refused["ok"], tree(daemon)) == (False, {})
    (daemon.root / "d").mkdir()
    daemon.seen("d")
    refused = call(daemon, "undo")
    assert (refused["ok"], tree(daemon)) == (False, {"d": None})


def test_a_folder_that_went_for_a_file_comes_again_when_the_file_goes(daemon: Daemon) -> None:
    made = ok(call(daemon, "write_file", path="d", content="file\n"))["version"]
    ok(call(daemon, "delete_file", path="d"))
    (daemon.root / "d/in").mkdir(parents=True)
    daemon.seen("d/in")
    ok(call(daemon, "restore", at=made, path="d"))
    assert tree(daemon) == {"d": "file\n"}
    ok(call(daemon, "undo"))
    assert tree(daemon) == {"d/in": None}
    ok(call(daemon, "redo"))
    assert tree(daemon) == {"d": "file\n"}
    assert list(check(daemon.store)) == []


class Killed(BaseException):
    """The process is dead."""


def test_a_kill_at_any_step_leaves_what_the_next_start_finishes(tmp_path: Path) -> None:
    """There is a folder that the journal knows in the one that it does not know."""
    steps = 100
    for at in range(steps):
        folder = tmp_path / str(at)
        folder.mkdir()
        daemon = Daemon(folder)
        file_for_folder(daemon)
        ok(call(daemon, "undo", last=2))
        (daemon.root / "d/in").mkdir()
        assert not call(daemon, "read_file", path="d/in")["ok"]
        passed = kill_at(daemon, at, "redo")
        if passed <= at:
            break
        assert passed == at + 1
        undone = "d" not in recovered(daemon)
        assert tree(daemon) == ({**BEFORE, "d/in": None} if undone else MOVED), at
        daemon.app.close()
    assert 10 < at < steps - 1
    assert tree(daemon) == MOVED
    daemon.app.close()


@pytest.mark.parametrize("tool", ["undo", "redo"])
def test_a_kill_at_any_step_leaves_a_restored_folder_there_or_gone_as_the_log_says(tmp_path: Path, tool: str) -> None:
    steps = 100
    for at in range(steps):
        folder = tmp_path / str(at)
        folder.mkdir()
        daemon = Daemon(folder)
        restored_folder(daemon, "d", "e")
        if tool == "redo":
            ok(call(daemon, "undo"))
        passed = kill_at(daemon, at, tool)
        if passed <= at:
            break
        assert dict.fromkeys(recovered(daemon)) == tree(daemon)
        daemon.app.close()
    assert 4 < at < steps - 1
    daemon.app.close()


def recovered(daemon: Daemon) -> set[str]:
    """A start after a kill; what stands by the log then."""
    workspace, store = Workspace(daemon.root), daemon.store.copy()
    recorder = Recorder(Journal.open(store, daemon.clock.now_ns()), daemon.clock)
    recover(RecoveryContext(recorder, workspace, Log(), 1 << 20))
    with recorder.history() as history:
        assert not history.unsettled()
        there = {path for path, head in history.paths() if standing(head) is not None}
    assert list(check(store)) == []
    workspace.close()
    return there


def kill_at(daemon: Daemon, at: int, tool: str) -> int:
    """Call, and die at the step of this number; how many were passed."""
    passed = 0

    def die(step: str) -> None:
        nonlocal passed
        passed += 1
        if passed == at + 1:
            raise Killed

    daemon.at_step = die
    with suppress(Killed):
        ok(call(daemon, tool))
    daemon.at_step = lambda step: None
    return passed
