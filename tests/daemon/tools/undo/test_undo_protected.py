"""Going back where a path is protected by now: it stays as it is, and the reply says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from daemon_turns import Daemon

HOOK = "bare.git/hooks/post-update"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A folder in which a tool wrote, and of which git has made a repository since."""
    one = Daemon(tmp_path)
    assert call(one, "write_file", path=HOOK, content="#!/bin/sh\n")["ok"]
    assert call(one, "write_file", path="free.txt", content="free\n")["ok"]
    for name in ("HEAD", "objects/x", "refs/x"):
        (one.root / "bare.git" / name).parent.mkdir(parents=True, exist_ok=True)
        (one.root / "bare.git" / name).write_text("")
    yield one
    one.app.close()


def call(daemon: Daemon, tool: str, **args: Any) -> dict[str, Any]:
    return daemon.turn(ann=(tool, args))["ann"]


def test_an_undo_leaves_what_is_protected_by_now_and_does_the_rest(daemon: Daemon) -> None:
    undone = call(daemon, "undo", last=2)
    assert undone["ok"], undone
    assert {f["path"]: f["skipped"] for f in undone["files"]} == {HOOK: "protected", "free.txt": None}
    assert (daemon.text(HOOK), daemon.text("free.txt")) == ("#!/bin/sh\n", None)


@pytest.mark.parametrize("tool", ["rollback", "restore"])
def test_nothing_is_brought_back_into_a_repository(daemon: Daemon, tool: str) -> None:
    point = f"seq:{daemon.app.recorder.journal.head}"
    (daemon.root / HOOK).unlink()
    (daemon.root / "free.txt").write_text("changed\n")
    for path in (HOOK, "free.txt"):
        daemon.seen(path)
    args = {"at": point, "path": HOOK} if tool == "restore" else {"to": point, "writer": "*"}
    reply = call(daemon, tool, **args)
    assert daemon.text(HOOK) is None
    if tool == "restore":
        assert (reply["ok"], reply["error"], reply["files"][0]["skipped"]) == (False, "conflict", "protected")
    else:
        assert {f["path"]: f["skipped"] for f in reply["files"]} == {HOOK: "protected", "free.txt": None}
