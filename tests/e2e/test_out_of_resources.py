"""A daemon without descriptors, memory or threads: refusals that say which, and it lives."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live import Live, eventually, ok, verified
from quire_client import Client

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process are Linux's"),
    pytest.mark.wide,
]

BIG = "a line of some bytes\n" * 12_000


@pytest.fixture
def at() -> Iterator[Live]:
    """A checkout with a few small files and a big one."""
    at = Live(on_disk=True)
    for n in range(5):
        at.write(f"f{n}.py", "value = 1\n" * 20)
    at.write("big.txt", BIG)
    yield at
    at.close()


@contextmanager
def limited(at: Live, which: int, most: int) -> Iterator[None]:
    """The daemon may have so much meanwhile."""
    pid = at.daemon_pid()
    before = resource.prlimit(pid, which)
    resource.prlimit(pid, which, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, which, before)


def status_of(at: Live, word: str) -> int:
    """A line of the daemon's status in /proc."""
    for line in Path(f"/proc/{at.daemon_pid()}/status").read_text().splitlines():
        if line.startswith(f"{word}:"):
            return int(line.split()[1])
    raise AssertionError(word)


def descriptors(at: Live) -> int:
    return len(os.listdir(f"/proc/{at.daemon_pid()}/fd"))


def everything(client: Client, name: str) -> Iterator[dict[str, Any]]:
    """Calls of every kind of work."""
    patch = "".join(f"*** Add File: {name}/{n}.txt\n+x\n" for n in range(70))
    yield client.call("read_file", {"path": "f1.py", "hashes": True})
    yield client.call("write_file", {"path": f"{name}.txt", "content": "new\n"})
    yield client.call("write_file", {"path": f"{name}.big", "content": ("x" * 300 + "\n") * 16_000})
    yield client.call("edit_replace", {"file": "f2.py", "old_text": "value", "new_text": name})
    yield client.call("apply_patch", {"patch": f"*** Begin Patch\n{patch}*** End Patch"})
    yield client.call("regex_replace", {"path": "f3.py", "pattern": "[0-9]", "replacement": "2"})
    yield client.call("undo", {})
    yield client.call("blame", {"path": "f2.py"})
    yield client.call("verify", {})
    yield client.call("status", {})


def refusals(replies: Iterator[dict[str, Any]]) -> set[str]:
    """The limits that were told. Whatever is refused is refused for one, or since nothing could be made before."""
    told = [reply for reply in replies if not reply["ok"]]
    for reply in told:
        assert reply["error"] != "fault", reply
        assert reply.get("limit") or reply["error"] in ("not_found", "old_text_not_found", "pattern_not_found"), reply
        assert reply.get("outcome", "not_applied") == "not_applied", reply
    return {str(reply["limit"]) for reply in told if "limit" in reply}


def works_again(at: Live, client: Client, pid: int, name: str) -> None:
    """Nothing is left of a limit that was lifted."""
    assert at.daemon_pid() == pid, at.log_tail()
    assert refusals(everything(client, name)) == set()
    log = (at.state_dir / "daemon.log").read_text().splitlines()
    assert [line for line in log if json.loads(line)["event"] == "fault"] == []
    verified(client)


def test_without_descriptors_calls_are_refused_and_the_daemon_goes_on_when_there_are_some(at: Live) -> None:
    client = at.connect()
    ok(client.verify())
    pid = at.daemon_pid()
    told = set()
    for more in (0, 2, 5):
        with limited(at, resource.RLIMIT_NOFILE, descriptors(at) + more):
            told |= refusals(everything(client, f"with_{more}"))
    assert told == {"descriptors"}
    works_again(at, client, pid, "after")


def test_without_memory_calls_are_refused_and_the_daemon_goes_on_when_there_is_some(at: Live) -> None:
    client = at.connect()
    ok(client.verify())
    pid = at.daemon_pid()
    told = set()
    for more in (0, 16, 48):
        with limited(at, resource.RLIMIT_AS, (status_of(at, "VmSize") << 10) + (more << 20)):
            told |= refusals(everything(client, f"with_{more}"))
    assert told == {"memory"}
    works_again(at, client, pid, "after")


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of processes. A limit of a user's does not hold for root."""
    group = Path("/sys/fs/cgroup/pids") / f"quire-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield group
    eventually("the group is empty", lambda: not (group / "cgroup.procs").read_text(), 5)
    group.rmdir()


def test_without_threads_edits_are_made_and_what_needs_a_process_is_refused(at: Live, group: Path) -> None:
    client = at.connect()
    pid = at.daemon_pid()
    (group / "cgroup.procs").write_text(str(pid))
    (group / "pids.max").write_text((group / "pids.current").read_text())
    try:
        replies = [*everything(client, "without")]
        assert [reply["ok"] for reply in replies[:5]] == [True] * 5
        assert refusals(iter(replies)) == {"threads"}
        (group / "pids.max").write_text("max")
        works_again(at, client, pid, "after")
    finally:
        at.kill()


def start(at: Live, group: Path | None = None, files: int = 0) -> tuple[int, str]:
    """Start a daemon of at most six threads, or with so many files: how it ended, and what it said last."""

    def confine() -> None:
        if group is not None:
            (group / "pids.max").write_text("4")
            (group / "cgroup.procs").write_text(str(os.getpid()))
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    words = ["-m", "quire_daemon", "--workspace", str(at.root), "--state-dir", str(at.state_dir)]
    done = subprocess.run([sys.executable, *words], preexec_fn=confine, capture_output=True, text=True, timeout=30)
    return done.returncode, done.stderr


def test_a_start_without_threads_says_so(at: Live, group: Path) -> None:
    at.kill()
    status, said = start(at, group)
    assert (status, said.startswith("quired: no thread or process can be started")) == (2, True), said


def test_a_start_without_descriptors_says_so(at: Live) -> None:
    at.kill()
    status, said = start(at, files=40)
    assert (status, "needs 96 open files, and may have 40" in said) == (2, True), said
