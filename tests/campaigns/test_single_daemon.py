"""One daemon for one workspace, whatever was left behind; and a client that always comes back in time with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import live
import quire_client
from live import Live, eventually, ok, verified

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 300))]


def start_daemon(at: Live) -> subprocess.CompletedProcess[str]:
    """What a person does who starts a second daemon; it must end by itself."""
    command = [sys.executable, "-m", "quire_daemon", "--workspace", str(at.root), "--state-dir", str(at.state_dir)]
    return subprocess.run(command, capture_output=True, text=True, timeout=10)


def test_a_second_daemon_ends_at_once_and_says_that_there_is_one(daemon) -> None:
    at = daemon()
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    second = start_daemon(at)
    assert second.returncode != 0
    assert "another daemon" in second.stderr.lower()
    assert ok(client.call("status", {}))["pid"] == pid
    assert at.pids() == [pid]


def test_another_state_folder_does_not_make_a_second_daemon_possible_where_journals_are_known(daemon) -> None:
    """Two journals on one checkout would each take the other's writes for outside ones."""
    at = daemon()
    first = quire_client.connect(at.root)  # in the XDG state folder, where a client looks for others
    try:
        ok(first.call("status", {}))
        second = subprocess.run(
            [sys.executable, "-m", "quire_daemon", "--workspace", str(at.root), "--state-dir", str(at.top / "other")],
            capture_output=True,
            text=True,
            timeout=10,
        )
        assert second.returncode != 0
        assert str(at.root) in second.stderr
    finally:
        first.close()


@pytest.mark.parametrize(
    "kind", ["nothing but a crash", "garbage in the lock", "a plain file for a socket", "a foreign pid"]
)
def test_what_a_dead_daemon_left_behind_never_blocks_a_start(daemon, kind: str) -> None:
    at = daemon()
    client = at.connect()
    ok(client.call("write_file", {"path": "kept.txt", "content": "kept\n"}))
    lock = at.state_dir / "lock"
    door = Path(json.loads(lock.read_text())["socket"])
    at.kill()
    assert lock.exists()
    if kind == "garbage in the lock":
        lock.write_bytes(b"\0\xff not json")
    elif kind == "a plain file for a socket":
        door.unlink(missing_ok=True)
        door.write_text("not a socket")
    elif kind == "a foreign pid":
        said = json.loads(lock.read_text())
        lock.write_text(json.dumps({**said, "pid": os.getpid()}))
        with contextlib.suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as stale:
            door.unlink()
            stale.bind(str(door))  # and closed: nobody listens there
    fresh = at.connect()
    assert at.read("kept.txt") == b"kept\n"
    assert ok(fresh.call("status", {}))["pid"] in at.pids()
    verified(fresh)
    assert ok(client.call("status", {})), "the old client finds the new daemon"


def test_a_client_of_a_stopped_daemon_fails_within_its_deadline_and_says_why(daemon) -> None:
    at = daemon()
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        reply = client.call("write_file", {"path": "late.txt", "content": "x\n"}, timeout_s=1.0)
        assert time.monotonic() - begun < 3
        assert reply["ok"] is False
        assert reply["outcome"] == "unknown"
        assert reply["op"]
        assert "did not answer" in reply["message"]
        begun = time.monotonic()
        with pytest.raises(quire_client.NoDaemon) as lost, at.connect("other", timeout_s=1.0) as other:
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


def test_a_request_whose_deadline_passed_in_the_queue_is_not_performed(daemon) -> None:
    """Minutes later nobody expects the write any more."""
    at = daemon()
    client = at.connect()
    pid = ok(client.call("status", {}))["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        reply = client.call("write_file", {"path": "late.txt", "content": "x\n"}, timeout_s=0.5)
        assert reply["outcome"] == "unknown"
        time.sleep(0.2)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ok(client.call("op_status", {"op": reply["op"]}))["outcome"] == "not_applied"
    assert not (at.root / "late.txt").exists()


def test_eight_clients_that_start_at_once_get_one_daemon(daemon) -> None:
    at = daemon()
    pids: list[int] = []
    faults: list[Any] = []
    gate = threading.Barrier(8)

    def start(n: int) -> None:
        gate.wait()
        try:
            with at.connect(f"agent{n}", f"agent{n}") as client:
                pids.append(ok(client.call("status", {}))["pid"])
                ok(client.call("write_file", {"path": f"from{n}.txt", "content": f"{n}\n"}))
        except Exception as fault:  # noqa: BLE001  reported by the test, which is in another thread
            faults.append(fault)

    threads = [threading.Thread(target=start, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults
    assert len(pids) == 8
    assert len(set(pids)) == 1, pids
    assert at.pids() == pids[:1]
    assert sorted(path.name for path in at.root.glob("from*")) == [f"from{n}.txt" for n in range(8)]


def test_eight_processes_that_start_at_once_get_one_daemon(daemon) -> None:
    """Threads share an interpreter; agents do not."""
    at = daemon()
    code = (
        "import sys, quire_client\n"
        "with quire_client.connect(sys.argv[1], agent='a', session=sys.argv[3], state_dir=sys.argv[2]) as client:\n"
        "    print(client.call('status', {})['pid'])\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(at.root), str(at.state_dir), str(n)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    said = [process.communicate(timeout=40) for process in started]
    assert [process.returncode for process in started] == [0] * 8, said
    assert len({pid for pid, _ in said}) == 1, said


def test_a_client_follows_its_daemon_through_a_restart(daemon) -> None:
    at = daemon()
    client = at.connect("ada")
    shown = ok(client.call("write_file", {"path": "a.txt", "content": "one\ntwo\n"}))
    at.kill()
    again = ok(client.call("read_file", {"path": "a.txt"}))
    assert again["version"] == shown["version"], "a version means the same to the next daemon"
    ok(client.shutdown_daemon())
    eventually("it has ended", lambda: not at.pids())
    ok(client.call("write_file", {"path": "a.txt", "content": "three\n", "base": again["version"]}))


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
