"""`quire run` beside a real daemon: whose the writes are, what came meanwhile, and kills of each side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from live import Live, caught_up, eventually, ok, verified

pytestmark = pytest.mark.real


def begun(at: Live, *words: str) -> subprocess.Popen[str]:
    where = ["--state-dir", os.fspath(at.state_dir)] if at.state_dir is not None else []
    command = [sys.executable, "-m", "quire_client", *where, "run", *words]
    return subprocess.Popen(command, cwd=at.root, stderr=subprocess.PIPE, text=True, start_new_session=True)


def ran(at: Live, *words: str) -> tuple[int, str]:
    """(exit status, what was said on stderr)."""
    process = begun(at, *words)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def head(client: Any, path: str) -> dict[str, Any]:
    caught_up(client)
    record: dict[str, Any] = ok(client.call("log", {"path": path, "limit": 1}))["records"][0]
    return record


@pytest.fixture(autouse=True)
def traced(served: Live) -> None:
    """The first capture is over and in the log, and the kernel tells who writes, where it can."""
    client = served.connect("eve")
    eventually("the first capture", lambda: ok(client.call("status", {}))["capture"]["captured"])
    assert ran(served, "true") == (0, "")


def _uid(record: dict[str, Any]) -> Any:
    return record["writer"].get("uid")


def test_what_a_command_writes_is_its_callers_and_goes_back_with_it(served: Live) -> None:
    at = served
    at.write("a1.txt", "one\n")
    client = at.connect("ada")
    head(client, "a1.txt")
    status, said = ran(at, "sed", "-i", "s/one/two/", "a1.txt")
    assert (status, at.read("a1.txt")) == (0, b"two\n")
    assert "a1.txt changed by it; `quire undo --burst" in said
    assert _uid(head(client, "a1.txt")) == os.getuid()
    assert head(client, "a1.txt")["evidence"] in ("traced", "during")
    burst = int(said.split("--burst ")[1].split("`")[0].split()[0])
    assert ok(client.undo(burst=burst, probable=True))["ok"]
    assert at.read("a1.txt") == b"one\n"
    verified(client)


def test_an_edit_of_an_agent_meanwhile_is_told_and_strict_exits_with_75(served: Live, tmp_path: Path) -> None:
    at = served
    client = at.connect("ada")
    at.write("a2.txt", "one\n")
    head(client, "a2.txt")
    flag = tmp_path / "flag"
    process = begun(at, "--strict", "sh", "-c", f"touch {flag}; while [ -e {flag} ]; do sleep 0.05; done")
    eventually("the command", flag.exists)
    ok(client.call("write_file", {"path": "b2.txt", "content": "mine\n"}))
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 75
    assert "b2.txt (by ada/s1) changed by others meanwhile." in said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_keeps_what_it_wrote_as_its_callers(served: Live, tmp_path: Path, number: int) -> None:
    at = served
    client = at.connect("ada")
    at.write("a3.txt", "one\n")
    head(client, "a3.txt")
    process = begun(at, "sh", "-c", f"sed -i s/one/two/ a3.txt; touch {tmp_path}/flag; exec sleep 30")
    eventually("the write", (tmp_path / "flag").exists)
    process.send_signal(number)
    process.wait(timeout=60)
    if number == signal.SIGKILL:
        os.killpg(process.pid, signal.SIGKILL)  # the command, which goes on without it
    assert process.stderr is not None
    process.stderr.close()
    assert process.returncode == (-9 if number == signal.SIGKILL else 143)

    def is_over() -> bool:
        bursts = ok(client.burst("list"))["bursts"]
        return bursts[0]["state"] == "ended"

    eventually("the end of the run", is_over)
    assert _uid(head(client, "a3.txt")) == os.getuid()


def test_a_daemon_that_is_killed_meanwhile_loses_neither_the_run_nor_its_writes(served: Live, tmp_path: Path) -> None:
    at = served
    client = at.connect("ada")
    at.write("a4.txt", "one\n")
    head(client, "a4.txt")
    flag = tmp_path / "flag"
    command = f"touch {flag}; while [ -e {flag} ]; do sleep 0.05; done; sed -i s/one/two/ a4.txt"
    process = begun(at, "sh", "-c", command)
    eventually("the command", flag.exists)
    os.kill(ok(client.call("status", {}))["pid"], signal.SIGKILL)
    flag.unlink()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "a4.txt changed by it" in said
    client = at.connect("ada")
    assert _uid(head(client, "a4.txt")) == os.getuid()
    records = ok(client.call("log", {"kind": "command_ran"}))["records"]
    assert (records[0]["status"], records[0]["command"]) == (0, f"sh -c '{command}'")


def test_a_command_in_the_tree_of_a_point_sees_that_tree_and_its_end_stays(served: Live) -> None:
    at = served
    client = at.connect("ada")
    at.write("a5.txt", "one\n")
    version = head(client, "a5.txt")["version"]
    at.write("a5.txt", "two\n")
    head(client, "a5.txt")
    assert ran(at, "--at", version, "grep", "-q", "one", "a5.txt")[0] == 0
    assert ran(at, "--at", version, "grep", "-q", "two", "a5.txt")[0] == 1
    records = ok(client.call("log", {"kind": "command_ran"}))["records"]
    assert [(record["status"], record["ran_at"]) for record in records[:2]] == [(1, version), (0, version)]
    assert at.read("a5.txt") == b"two\n"
