"""What a daemon does not see is said where somebody is told of the tree: with the answers, and to people on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rights
from live import Live, caught_up, eventually, ok

pytestmark = pytest.mark.real

HIDDEN = 40


def run(at: Live, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "quire_client", *arguments, "--state-dir", os.fspath(at.state_dir)]
    return subprocess.run(command, cwd=at.root, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.timeout(60)
def test_files_that_a_rule_hides_and_that_are_then_deleted_are_not_exported(at: Live, tmp_path: Path) -> None:
    """Thousands of files that were gone came out of `export-tree`, while `status` told of full coverage."""
    for n in range(HIDDEN):
        at.write(f"build/f{n}", f"{n}\n")
    at.write("kept", "kept\n")
    client = at.connect()
    cursor = caught_up(client)
    eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["finished"])
    ok(client.call("write_file", {"path": "build/made", "content": "by a tool\n"}))
    at.write(".gitignore", "build/\n")

    told = ok(client.call("since", {"cursor": cursor, "kind": "capture_failed", "limit": 1000}))
    assert {(one["path"], one["why"]) for one in told["records"]} == {(f"build/f{n}", "ignored") for n in range(HIDDEN)}
    shutil.rmtree(at.root / "build")

    tree = {one["path"]: one.get("uncaptured") for one in ok(client.call("tree", {}))["entries"]}
    assert tree == {".gitignore": None, "kept": None, **{f"build/f{n}": "ignored" for n in range(HIDDEN)}}
    named = ok(client.call("checkpoint", {"name": "here"}))
    assert named["not_captured"]["count"] == HIDDEN
    assert f"{HIDDEN} files are not captured" in named["message"]
    written = run(at, "export-tree", "here", os.fspath(tmp_path / "out"))
    assert written.returncode == 0, written.stderr
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [".gitignore", "kept"]
    assert "build/f0: ignored" in written.stderr


@pytest.mark.timeout(60)
def test_a_partly_blind_watcher_is_told_in_every_reply_that_it_touches(at: Live) -> None:
    """It was told in `status` only: of a hundred saves by others fifty were missing, without a word."""
    for n in range(20):
        at.write(f"d{n:02}/f", "before\n")

    def act() -> None:
        Path("/proc/sys/user/max_inotify_watches").write_text("11")
        command = [sys.executable, "-m", "quire_daemon", "--workspace", os.fspath(at.root)]
        with (at.top / "err").open("wb") as errors:
            command += ["--state-dir", os.fspath(at.state_dir)]
            subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)

    rights.printed(rights.have_own_limits, act)
    lock = at.state_dir / "lock"
    eventually("the daemon", lambda: lock.exists() and '"epoch"' in lock.read_text())
    with contextlib.closing(at.connect(start=False)) as client:
        status = eventually(
            "the capture", lambda: (told := ok(client.call("status", {})))["capture"]["finished"] and told
        )
        assert status["coverage"]["reasons"] == ["watch_limit"]
        for n in range(20):
            at.write(f"d{n:02}/f", "after\n")
        reply = ok(client.call("since", {"cursor": "seq:1"}))
        (said,) = [one["message"] for one in reply["warnings"] if one["type"] == "coverage"]
        assert "fs.inotify.max_user_watches" in said
        first = said.removeprefix("The journal may not know everything that is on disk: ").partition(" and ")[0]
        calls = [
            ("log", {"path": f"{first}/f"}),
            ("blame", {"path": f"{first}/f"}),
            ("tree", {"path": first}),
            ("tree", {}),
            ("diff", {"from": "seq:1"}),
            ("checkpoint", {"name": "blind"}),
            ("undo", {"writer": "outside", "last": 1, "plan": True}),
        ]
        for tool, args in calls:
            types = [one["type"] for one in ok(client.call(tool, args)).get("warnings", ())]
            assert "coverage" in types, (tool, args)
        assert not ok(client.call("log", {"path": "elsewhere"})).get("warnings")
        listed = run(at, "ls")
        assert said in listed.stderr
        then = json.loads(run(at, "ls", "--at", "blind", "--json").stdout)
        assert any("When checkpoint 'blind' was named" in one["message"] for one in then["warnings"])
