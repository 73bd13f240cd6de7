"""A real daemon on a scratch checkout: what the end-to-end tests and the campaigns stand on.

Every daemon of a `Live` inherits a mark in its environment, so that it can be found and ended by its process id
however badly it hangs: stopped, without a socket, or never having answered. Nothing is ever ended by name.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import quire_client
from quire_client.__main__ import main
from quire_daemon.commit.disk_space import Reserve
from quire_daemon.config.settings import Retention
from quire_daemon.integrity import check_worker

T = TypeVar("T")

LONG = os.environ.get("QUIRE_LONG") == "1"
"""Are the campaigns to run at full length? `scripts/test --long` says so."""

SEED = int(os.environ.get("QUIRE_SEED", "20261"))
"""Of everything that a campaign draws at random; a failure says it, and setting it draws the same again."""

MARK: Final = "QUIRE_TEST_MARK"
"""The variable that all daemons of one `Live` have in their environment."""

VERIFY_S: Final = 900.0
"""A campaign at full length leaves tens of thousands of versions of one file."""

ROOM: Final = 2 << 30
"""Bytes that a file system in memory has to have free, before journals of tests lie there."""


def in_memory() -> Path | None:
    """A folder for journals of tests in memory, or None: the usual place will do.

    A daemon syncs its journal after each change, and waits for the disk most of the time that a test takes. Everything
    but an end of the machine, which no test has, is the same there. A checkout is not: stamps of files behave otherwise
    in memory (`Protection.stamps`), so it lies on the disk, as everything does at full length.
    """
    folder = Path("/dev/shm")
    if (
        LONG
        or not os.access(folder, os.W_OK)
        or not any(line.split()[1:3] == ["/dev/shm", "tmpfs"] for line in Path("/proc/mounts").read_text().splitlines())
    ):
        return None
    free = os.statvfs(folder)
    return folder if free.f_bavail * free.f_frsize > ROOM else None


@contextlib.contextmanager
def folder_for_journals() -> Iterator[Path]:
    """A scratch folder, in memory where that can be."""
    folder = Path(tempfile.mkdtemp(prefix="quire-live-", dir=in_memory()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def reserve() -> Path:
    """A reserve that the journals in memory share (`quire_daemon.commit.disk_space`): each of its own is 16 MiB to be
    cleared."""
    folder = tempfile.mkdtemp(prefix="quire-live-", dir=in_memory())
    atexit.register(shutil.rmtree, folder)
    made = Path(folder, "reserve")
    Reserve(made, Retention().reserve_bytes).take()
    return made


def length(short: T, full: T) -> T:
    """How often, or how long, a campaign does its thing."""
    return full if LONG else short


def sha256(data: bytes) -> str:
    """As replies write it."""
    return hashlib.sha256(data).hexdigest()


def eventually(what: str, look: Callable[[], Any], within_s: float = 15.0) -> Any:
    """The first true answer of `look`; fails by the name of `what` when there is none in time."""
    until, pause_s = time.monotonic() + within_s, 0.001
    while not (answer := look()):
        assert time.monotonic() < until, f"not within {within_s:g} s: {what}"
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.02)
    return answer


def stop(pid: int) -> None:
    """Stop a process as SIGSTOP does, and return when none of its threads runs: until one that waits for the disk has
    the signal, the others go on. SIGCONT ends it. Linux.
    """
    os.kill(pid, signal.SIGSTOP)
    threads = Path(f"/proc/{pid}/task")
    eventually(
        "the process stands still",
        lambda: all((one / "stat").read_text().rpartition(")")[2].split()[0] == "T" for one in threads.iterdir()),
    )


class Live:
    """A scratch checkout at `root`, its state folder, and whatever daemons come to serve it.

    From `__init__` to `close` the environment of this process carries the mark and XDG folders of its own: a
    client may start a daemon again at any call, and that one must be found too.

    `on_disk`: journals lie on the disk beside the checkout, as at full length and where something is measured.
    Otherwise they lie in memory, where there is room.
    """

    def __init__(self, root: Path | None = None, state_dir: Path | None = None, on_disk: bool = LONG) -> None:
        # A socket's path has 107 bytes, and a test's own folder can use up most of them.
        self.top = Path(tempfile.mkdtemp(prefix="quire-live-"))
        self.root = root or self.top / "checkout"
        self.root.mkdir(parents=True, exist_ok=True)
        memory = None if on_disk else in_memory()
        self._kept = Path(tempfile.mkdtemp(prefix="quire-live-", dir=memory))
        self.state_dir = state_dir or self._kept / "state"
        if state_dir is None and memory is not None:
            self.state_dir.mkdir(mode=0o700)
            os.link(reserve(), self.state_dir / "reserve")
        self.mark = secrets.token_hex(8)
        self._clients: list[quire_client.Client] = []
        self._before = dict(os.environ)
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
            folder = (self.top if name == "XDG_STATE_HOME" else self._kept) / name.lower()
            folder.mkdir(mode=0o700)
            os.environ[name] = str(folder)
        os.environ[MARK] = self.mark
        for name in ("QUIRE_AGENT", "QUIRE_SESSION", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "QUIRE_FAULT"):
            os.environ.pop(name, None)

    # ── clients ──

    def connect(
        self, agent: str = "tester", session: str = "s1", timeout_s: float = 20.0, start: bool = True
    ) -> quire_client.Client:
        """A client; it starts a daemon when none runs, unless `start` says no."""
        client = quire_client.connect(
            self.root, agent=agent, session=session, state_dir=self.state_dir, timeout_s=timeout_s, start=start
        )
        self._clients.append(client)
        return client

    @contextlib.contextmanager
    def fault(self, step: str, passing: int = 1) -> Iterator[None]:
        """A daemon that is started meanwhile kills itself at the n-th passing of `step`."""
        os.environ["QUIRE_FAULT"] = f"{step}:{passing}"
        try:
            yield
        finally:
            del os.environ["QUIRE_FAULT"]

    def write(self, path: str, content: bytes | str) -> bytes:
        """What an outside program does that does not care how it saves."""
        data = content.encode() if isinstance(content, str) else content
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return data

    def read(self, path: str) -> bytes:
        """What is on the disk."""
        return (self.root / path).read_bytes()

    # ── daemons ──

    def pids(self) -> list[int]:
        """The daemons that carry our mark and are not dead.

        All processes of the machine are looked at: not by way of `Path`, and what is wanted of most is one read.
        """
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                marked = b"quire" in _told(name, "cmdline") and wanted in _told(name, "environ").split(b"\0")
                if marked and not _dead(int(name)):
                    found.append(int(name))
        return sorted(found)

    def daemon_pid(self) -> int:
        """The one daemon that holds the lock."""
        return int(json.loads((self.state_dir / "lock").read_text())["pid"])

    def programs(self, name: str) -> list[int]:
        """The daemon's own processes that are `python -m quire_daemon.NAME`."""
        found = []
        tasks = f"/proc/{self.daemon_pid()}/task"
        for task in os.listdir(tasks):
            for child in Path(tasks, task, "children").read_text().split():
                with contextlib.suppress(OSError):
                    words = _told(child, "cmdline").split(b"\0")
                    if f"quire_daemon.{name}".encode() in words and not _dead(int(child)):
                        found.append(int(child))
        return found

    def died(self, pid: int, within_s: float = 0.5) -> bool:
        """Has this daemon ended? The kernel drops a dying process's locks and sockets a moment before the process."""
        until = time.monotonic() + within_s
        while not _dead(pid):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        return True

    def kill(self) -> None:
        """End the daemon as a crash would, and wait until it is gone; by then a client may have started the next."""
        self._kill(self.pids())

    def _kill(self, pids: list[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            assert self.died(pid, 15.0), f"the killed daemon {pid} is not gone"
            with contextlib.suppress(ChildProcessError):  # a child of ours stays a zombie until it is waited for
                os.waitpid(pid, 0)

    def log_tail(self, lines: int = 30) -> str:
        """The end of the daemon's own log, for the message of a failure."""
        path = self.state_dir / "daemon.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "(no daemon.log)"

    def close(self) -> None:
        """Close the clients, end the daemons, remove the folders."""
        for client in self._clients:
            client.close()
        while pids := self.pids():
            self._kill(pids)
        os.environ.clear()
        os.environ.update(self._before)
        for folder in (self.top, self._kept):
            shutil.rmtree(folder, ignore_errors=True)


def _told(process: str, what: str) -> bytes:
    """A file of a process in /proc, which may be gone."""
    fd = os.open(f"/proc/{process}/{what}", os.O_RDONLY)
    try:
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)


def _dead(pid: int) -> bool:
    """Is there no such process, or nothing but its exit status?"""
    try:
        return _told(str(pid), "stat").rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


# ── what the campaigns ask again and again ───────────────────────────────────


def ok(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply, which must be a success."""
    assert reply.get("ok"), f"{reply.get('error')}: {reply.get('message')} {reply}"
    return reply


def refused(reply: dict[str, Any], *codes: str) -> dict[str, Any]:
    """The reply, which must be a refusal with one of `codes`, in a sentence."""
    assert reply.get("ok") is False, reply
    assert reply.get("error") in codes, reply
    assert reply.get("message", "").strip(), reply
    return reply


def caught_up(client: quire_client.Client) -> str:
    """The cursor of now, after the watcher has caught up with the disk; it is asked again where it could not wait."""
    while True:
        reply = ok(client.call("since", {}))
        if "not_caught_up" not in [warning["type"] for warning in reply.get("warnings", ())]:
            return str(reply["cursor"])


def log(client: quire_client.Client, **filters: Any) -> list[dict[str, Any]]:
    """Every record that `filters` let through, oldest first, page by page."""
    records: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = ok(client.call("log", {**filters, "order": "oldest", "limit": 1000, **cursor}))
        records += page["records"]
        if page["next"] is None:
            return records
        cursor = {"cursor": page["next"]}


def journaled(client: quire_client.Client, path: str) -> set[str]:
    """The sha256 of every content of `path` that the journal holds."""
    return {record["sha256"] for record in log(client, path=path) if record.get("sha256")}


def verified_by_daemon(client: quire_client.Client) -> None:
    """The journal's own check, which must find nothing."""
    report = ok(client.verify(timeout_s=VERIFY_S))
    assert not report["findings"], report


def verified(client: quire_client.Client) -> None:
    """The same, but not at full length in this process: the one that `verify` starts imports longer than it checks."""
    if LONG:
        verified_by_daemon(client)
        return
    ok(client.call("status", {}))  # by a daemon that serves, and has finished what one before it had not
    said = io.StringIO()
    check_worker.do(check_worker.CheckTask(str(client.place.journal), in_use=True), said)
    lines = [line for line in map(json.loads, said.getvalue().splitlines()) if line[0] != "progress"]
    assert lines == [["end", {"findings": 0, "whole": True}]], lines


def anchor(reply: dict[str, Any], contains: str) -> str:
    """The anchor (`N#hash`) of the first shown line that contains a text."""
    for line in reply["lines"]:
        if contains in line.partition("|")[2]:
            return str(line.partition(" ")[0])
    raise AssertionError(f"no line with {contains!r} in {reply['lines'][:20]}")


def replacing(shown: dict[str, Any], contains: str, content: str) -> dict[str, Any]:
    """The arguments of `edit` that replace the shown line with `contains` in it."""
    operation = {"op": "replace_line", "hash": anchor(shown, contains), "content": content}
    return {"path": shown["path"], "operations": [operation]}


def quire(*words: str, cwd: Path | str = "/", given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command line of `quire` as it is called in a folder, but in this process.

    A process of its own computes 0.1 s before it gets to its command, and is for tests of just that.
    """
    stdin, stdout, stderr = (io.TextIOWrapper(io.BytesIO(said), encoding="utf-8") for said in (given, b"", b""))
    before, sys.stdin = sys.stdin, stdin
    try:
        with contextlib.chdir(cwd), contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            status = main(words)
    finally:
        sys.stdin = before
    stdout.flush()
    stderr.flush()
    return subprocess.CompletedProcess(words, status, stdout.buffer.getvalue(), stderr.buffer.getvalue())  # type: ignore[attr-defined]


@contextlib.contextmanager
def running(*command: str | Path, **popen: Any) -> Iterator[subprocess.Popen[str]]:
    """An outside program, ended with the block if it has not ended by itself."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, **popen)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()
