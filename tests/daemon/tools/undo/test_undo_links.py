"""Links that a restore made, or that went: on a real disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
from quire_journal.model.events import LINK, BatchUndone, FileDeleted, FileWritten, WriterIntroduced
from quire_journal.model.ids import WriterId

TARGETS = ["f", "nowhere", "/etc/passwd"]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon(tmp_path)
    (one.root / "f").write_text("f\n")
    yield one
    one.app.close()


def call(daemon: Daemon, tool: str, **args: Any) -> dict[str, Any]:
    return daemon.turn(ann=(tool, args))["ann"]


def ok(reply: dict[str, Any]) -> dict[str, Any]:
    assert reply["ok"], reply
    return reply


def restored(daemon: Daemon, target: str) -> None:
    """A link was there, went, and is restored."""
    (daemon.root / "link").symlink_to(target)
    there = daemon.seen("link")
    (daemon.root / "link").unlink()
    daemon.seen("link")
    ok(call(daemon, "restore", at=f"seq:{there}", path="link"))
    assert os.readlink(daemon.root / "link") == target


@pytest.mark.parametrize("target", TARGETS)
def test_a_restored_link_goes_with_an_undo_and_comes_with_a_redo(daemon: Daemon, target: str) -> None:
    """Wherever it leads; what it leads to stays."""
    restored(daemon, target)
    for _ in range(2):
        undone = ok(call(daemon, "undo"))
        assert [(f["path"], f["action"]) for f in undone["files"]] == [("link", "delete")]
        assert not os.path.lexists(daemon.root / "link")
        ok(call(daemon, "redo"))
        assert os.readlink(daemon.root / "link") == target
    assert daemon.text("f") == "f\n"
    assert list(check(daemon.store)) == []


def test_a_link_that_somebody_leads_elsewhere_since_stays(daemon: Daemon) -> None:
    restored(daemon, "nowhere")
    (daemon.root / "link").unlink()
    (daemon.root / "link").symlink_to("f")
    refused = call(daemon, "undo")
    assert (refused["ok"], os.readlink(daemon.root / "link")) == (False, "f")


def test_a_file_that_took_the_place_of_a_link_is_no_link_of_its_bytes_after_an_undo(daemon: Daemon) -> None:
    (daemon.root / "link").symlink_to("nowhere")
    daemon.seen("link")
    (daemon.root / "link").unlink()
    (daemon.root / "link").write_text("file\n")
    daemon.seen("link")
    refused = call(daemon, "undo", writer="outside", last=1)
    assert (refused["ok"], daemon.text("link")) == (False, "file\n")


@pytest.mark.parametrize("back", ["undo", "restore", "rollback"])
def test_a_link_that_was_led_elsewhere_leads_back(daemon: Daemon, back: str) -> None:
    (daemon.root / "link").symlink_to("nowhere")
    there = daemon.seen("link")
    (daemon.root / "link").unlink()
    (daemon.root / "link").symlink_to("f")
    daemon.seen("link")
    asked = {"undo": {"last": 1}, "restore": {"at": f"seq:{there}", "path": "link"}, "rollback": {"to": f"seq:{there}"}}
    others = {} if back == "restore" else {"writer": "outside"}
    for _ in range(2):
        told = ok(call(daemon, back, **asked[back], **others))
        assert [(f["path"], f["action"], f["entry"]) for f in told["files"]] == [("link", "make", "link")]
        assert os.readlink(daemon.root / "link") == "nowhere"
        ok(call(daemon, "redo" if back == "undo" else "undo"))
        assert os.readlink(daemon.root / "link") == "f"
    assert daemon.text("f") == "f\n"
    assert list(check(daemon.store)) == []


@pytest.mark.parametrize("left", ["as before", "gone", "led back"])
def test_a_link_that_was_to_lead_back_when_the_daemon_was_killed_does(daemon: Daemon, left: str) -> None:
    (daemon.root / "link").symlink_to("nowhere")
    there = daemon.seen("link")
    (daemon.root / "link").unlink()
    (daemon.root / "link").symlink_to("f")
    now = daemon.seen("link")
    store = daemon.store.copy()
    recorder = Recorder(Journal.open(store, daemon.clock.now_ns()), daemon.clock)
    with recorder.history() as history:
        then = history.version("link", there)
    assert then is not None
    recorder.note(WriterIntroduced(5, agent="ann"))
    batch = recorder.note(FileDeleted("link", now, "undo", (daemon.root / "link").lstat().st_ino), WriterId(5))
    recorder.note(FileWritten("link", then.blob, then.size, 0o777, 0, "undo", entry=LINK), WriterId(5), batch)
    recorder.note(BatchUndone((now,)), WriterId(5), batch)
    recorder.commit()
    if left != "as before":
        (daemon.root / "link").unlink()
    if left == "led back":
        (daemon.root / "link").symlink_to("nowhere")
    for _ in range(2):
        workspace = Workspace(daemon.root)
        recover(RecoveryContext(recorder, workspace, Log(), 1 << 20))
        workspace.close()
        assert os.readlink(daemon.root / "link") == "nowhere"
    with recorder.history() as history:
        head = history.file("link")
    assert head is not None
    assert (head.gone, head.blob) == (False, then.blob)


def test_a_link_that_another_program_removed_is_made_again(daemon: Daemon) -> None:
    (daemon.root / "link").symlink_to("nowhere")
    daemon.seen("link")
    (daemon.root / "link").unlink()
    daemon.seen("link")
    ok(call(daemon, "undo", writer="outside", last=1))
    assert os.readlink(daemon.root / "link") == "nowhere"


@pytest.mark.parametrize("same", [True, False])
def test_a_link_that_was_to_go_when_the_daemon_was_killed_goes(daemon: Daemon, same: bool) -> None:
    """Unless it leads elsewhere by now."""
    restored(daemon, "nowhere")
    store = daemon.store.copy()
    recorder = Recorder(Journal.open(store, daemon.clock.now_ns()), daemon.clock)
    with recorder.history() as history:
        head = history.file("link")
    assert head is not None
    recorder.note(WriterIntroduced(5, agent="ann"))
    inode = (daemon.root / "link").lstat().st_ino
    batch = recorder.note(FileDeleted("link", head.seq, "undo", inode), WriterId(5))
    recorder.note(BatchUndone((head.batch,)), WriterId(5), batch)
    recorder.commit()
    if not same:
        (daemon.root / "link").unlink()
        (daemon.root / "link").symlink_to("f")
    for _ in range(2):
        workspace = Workspace(daemon.root)
        recover(RecoveryContext(recorder, workspace, Log(), 1 << 20))
        workspace.close()
    assert os.path.lexists(daemon.root / "link") == (not same)


def test_two_names_of_one_file_are_undone_each_for_itself(daemon: Daemon) -> None:
    """A write through one of them parts it from the other, and so does the undo."""
    one = ok(call(daemon, "write_file", path="a", content="one\n"))
    (daemon.root / "b").hardlink_to(daemon.root / "a")
    daemon.seen("b")
    written = ok(call(daemon, "write_file", path="a", content="two\n", expectedSha256=one["sha256"]))
    assert [warning["type"] for warning in written["warnings"]] == ["hard_link_broken"]
    assert (daemon.text("a"), daemon.text("b")) == ("two\n", "one\n")
    undone = ok(call(daemon, "undo"))
    assert {f["path"]: f["action"] for f in undone["files"]} == {"a": "write"}
    assert (daemon.text("a"), daemon.text("b")) == ("one\n", "one\n")
    assert list(check(daemon.store)) == []


def test_one_patch_changes_two_names_of_one_file_each_for_itself(daemon: Daemon) -> None:
    ok(call(daemon, "write_file", path="a", content="one\ntwo\n"))
    (daemon.root / "b").hardlink_to(daemon.root / "a")
    daemon.seen("b")
    patch = "*** Begin Patch\n*** Update File: a\n-one\n+ONE\n*** Update File: b\n-two\n+TWO\n*** End Patch\n"
    ok(call(daemon, "apply_patch", patch=patch))
    assert (daemon.text("a"), daemon.text("b")) == ("ONE\ntwo\n", "one\nTWO\n")
    ok(call(daemon, "undo"))
    assert (daemon.text("a"), daemon.text("b")) == ("one\ntwo\n", "one\ntwo\n")
