"""One daemon for one workspace, whatever was left behind; and a client that always comes back in time with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import live
import quire_client
from live import Live, eventually, ok, verified

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 300))]


def start_daemon(at: Live) -> subprocess.CompletedProcess[str]:
    """What a person does who starts a second daemon; it must end by itself."""
    command = [sys.executable, "-m", "quire_daemon", "--workspace", str(at.root), "--state-dir", str(at.state_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_a_second_daemon_ends_at_once_and_says_that_there_is_one(served) -> None:
    at = served
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    second = start_daemon(at)
    assert second.returncode != 0
    assert "another daemon" in second.stderr.lower()
    assert ok(client.call("status", {}))["pid"] == pid
    assert at.pids() == [pid]


def leave_garbage_in_the_lock(lock: Path, door: Path) -> None:
    lock.write_bytes(b"\0\xff not json")


def leave_a_plain_file_for_a_socket(lock: Path, door: Path) -> None:
    door.unlink(missing_ok=True)
    door.write_text("not a socket")


def leave_the_id_of_a_living_process_and_a_dead_socket(lock: Path, door: Path) -> None:
    lock.write_text(json.dumps({"pid": os.getpid(), "epoch": "0" * 16, "socket": str(door)}))
    door.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(door))  # and closed: nobody listens there


def test_what_a_dead_daemon_left_behind_never_blocks_a_start(daemon) -> None:
    at = daemon()
    client = at.connect()
    ok(client.call("write_file", {"path": "kept.txt", "content": "kept\n"}))
    lock = at.state_dir / "lock"
    door = Path(json.loads(lock.read_text())["socket"])
    for leave in (
        lambda lock, door: None,  # what a crash leaves is enough to try
        leave_garbage_in_the_lock,
        leave_a_plain_file_for_a_socket,
        leave_the_id_of_a_living_process_and_a_dead_socket,
    ):
        at.kill()
        assert lock.exists()
        leave(lock, door)
        fresh = at.connect()
        assert ok(fresh.call("status", {}))["pid"] in at.pids()
        assert ok(client.call("status", {})), "the old client finds the new daemon"
    assert at.read("kept.txt") == b"kept\n"
    verified(client)


def test_a_client_of_a_stopped_daemon_fails_within_its_deadline_and_says_why(served) -> None:
    at = served
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        reply = client.call("write_file", {"path": "late.txt", "content": "x\n"}, timeout_s=0.4)
        assert time.monotonic() - begun < 3
        assert reply["ok"] is False
        assert reply["outcome"] == "unknown"
        assert reply["op"]
        assert "did not answer" in reply["message"]
        begun = time.monotonic()
        with pytest.raises(quire_client.NoDaemon) as lost, at.connect("other", timeout_s=0.4) as other:
            raise quire_client.NoDaemon(str(other.call("status", {})))
        assert time.monotonic() - begun < 4
        assert str(pid) in str(lost.value) or "did not answer" in str(lost.value)
    finally:
        os.kill(pid, signal.SIGCONT)
    settled = eventually(
        "the operation is decided", lambda: (r := client.call("op_status", {"op": reply["op"]})).get("outcome") and r
    )
    assert (settled["outcome"] == "not_applied") == (not (at.root / "late.txt").exists())
    assert at.pids() == [pid], "a slow daemon is not replaced"


def test_a_request_whose_deadline_passed_in_the_queue_is_not_performed(served) -> None:
    """Minutes later nobody expects the write any more."""
    at = served
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        reply = client.call("write_file", {"path": "expired.txt", "content": "x\n"}, timeout_s=0.3)
        assert reply["outcome"] == "unknown"
        time.sleep(0.2)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ok(client.call("op_status", {"op": reply["op"]}))["outcome"] == "not_applied"
    assert not (at.root / "expired.txt").exists()


AGENT = """
import sys
import quire_client

root, state, number = sys.argv[1:]
with quire_client.connect(root, agent=f"agent{number}", session=number, state_dir=state) as client:
    status = client.call("status", {})
    written = client.call("write_file", {"path": f"from{number}.txt", "content": f"{number}\\n"})
assert status["ok"] and written["ok"], (status, written)
print(status["pid"])
"""
"""What each of the eight does; it prints which daemon answered."""


@pytest.mark.wide
def test_eight_clients_that_start_at_once_get_one_daemon(daemon) -> None:
    at = daemon()
    words = [sys.executable, "-c", AGENT, str(at.root), str(at.state_dir)]
    with contextlib.ExitStack() as ended:
        clients = [ended.enter_context(live.running(*words, str(number))) for number in range(8)]
        said = [client.communicate(timeout=30)[0] for client in clients]
        assert [client.returncode for client in clients] == [0] * 8, said
    assert {int(pid) for pid in said} == set(at.pids()), said
    assert len(at.pids()) == 1
    assert sorted(path.name for path in at.root.glob("from*")) == [f"from{n}.txt" for n in range(8)]


def test_a_daemon_that_is_told_to_end_leaves_nothing_but_its_journal(daemon) -> None:
    at = daemon()
    client = at.connect()
    door = Path(json.loads((at.state_dir / "lock").read_text())["socket"])
    pid = ok(client.call("status", {}))["pid"]
    os.kill(pid, signal.SIGTERM)
    eventually("it is gone", lambda: not at.pids())
    assert not door.exists()
    assert not list((at.root / ".quire" / "tmp").glob("*"))
    verified(at.connect())
