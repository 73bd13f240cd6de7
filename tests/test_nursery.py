"""A daemon that was forked is, as far as it can tell, one that was started as a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live import NURSERY, Live, eventually, ok, running
from quire_client.start import apart

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="/proc and process descriptors are Linux's"),
]

SLEEPS = """
import os, sys, time
try:
    print(os.getpid(), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(3)
"""

WORDS = [sys.executable, "-m", "quire_daemon"]


def seen(at: Live, pid: int) -> dict[str, object]:
    """What a process began with, and what it made of it, without what is its own: numbers and folders.

    libffi may hold its own file open, for the code that it makes for callbacks: which imports came first decides where.
    """
    proc = Path("/proc") / str(pid)
    lines = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
    links = [os.readlink(proc / "fd" / number) for number in sorted(os.listdir(proc / "fd"), key=int)]
    return {
        "session": os.getsid(pid) == at.daemon_pid(),
        "parent is the daemon": f"{at.daemon_pid()}" == lines["PPid"].strip(),
        "folder": os.readlink(proc / "cwd"),
        "open": [
            link.replace(str(at.state_dir), "").replace(str(at.top), "").replace(f"/proc/{pid}/", "/proc/self/")
            for link in links
            if not link.startswith(("socket:", "pipe:", "/tmp/#")) and "/libffi.so" not in link
        ],
        "limits": (proc / "limits").read_text(),
        **{name: lines[name].strip() for name in ("Umask", "SigBlk", "SigIgn", "SigCgt", "Threads")},
    }


def test_session_folder_descriptors_limits_and_signals_are_those_of_a_program(tmp_path: Path) -> None:
    views = []
    for forked in (False, True):
        at = Live(state_dir=tmp_path / f"forked-{forked}", forked=forked)  # a journal in memory has a thread less
        try:
            status = at.connect().status
            eventually("no folder is looked into any more", lambda status=status: ok(status())["capture"]["finished"])
            views.append(seen(at, at.daemon_pid()))
        finally:
            at.close()
    assert views[0] == views[1]


def test_what_a_forked_daemon_starts_is_its_child_and_as_a_program() -> None:
    views = []
    for forked in (False, True):
        at = Live(forked=forked)
        try:
            at.write("a.txt", "count 0\n")
            ok(at.connect().call("regex_replace", {"file": "a.txt", "pattern": r"\d", "replacement": "n"}))
            (searcher,) = at.programs("searcher")
            views.append(seen(at, searcher))
            os.kill(at.daemon_pid(), signal.SIGKILL)
            assert at.died(searcher, 15)
        finally:
            at.close()
    assert views[0] == views[1]
    assert views[0]["parent is the daemon"]


def test_its_end_is_told_as_to_a_parent(daemon) -> None:
    at = daemon()
    client = at.connect()
    (forked,) = (one for one in NURSERY._made if one.pid == at.daemon_pid())
    assert forked.poll() is None
    ok(client.shutdown_daemon())
    eventually("it is told", lambda: forked.poll() is not None)
    assert forked.returncode == 0
    at.connect("again")
    killed = next(one for one in NURSERY._made if one.pid == at.daemon_pid())
    os.kill(killed.pid, signal.SIGKILL)
    eventually("it is told", lambda: killed.poll() is not None)
    assert killed.returncode == -signal.SIGKILL
    assert at.pids() == []


def test_what_it_says_before_it_gives_up_and_its_status_are_those_of_a_program(tmp_path: Path) -> None:
    words = [*WORDS, "--workspace", str(tmp_path / "nowhere"), "--state-dir", str(tmp_path / "state")]
    said = []
    for begin in (apart, NURSERY.apart):
        with (tmp_path / "errors").open("w+") as errors:
            status = begin(words, errors.fileno(), errors.fileno()).wait()
            errors.seek(0)
            said.append((status, errors.read()))
    assert said[0] == said[1]
    assert said[0][0] == 2, said
    assert str(tmp_path / "nowhere") in said[0][1]


ALL = "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['SAID'], sys.stdin.read())"


@pytest.mark.parametrize(
    ("words", "given", "status"),
    [
        (["-c", ALL], "", 0),
        (["file.py"], "read", 0),
        (["-"], "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", 7),
        (["-c", "import sys; sys.exit('a sentence')"], "", 1),
        (["-c", "import os; print('kept back', end='', flush=True); os.kill(os.getpid(), 9)"], "", -9),
        (["-m", "quire_client", "--version"], "", 0),
    ],
)
def test_what_stands_in_for_a_python_does_what_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], given: str, status: int
) -> None:
    monkeypatch.setenv("SAID", "ä ü")
    (tmp_path / "file.py").write_text(ALL)
    told = []
    for program in (sys.executable, NURSERY.python()):
        command = [program, *words, *(["a", "b c"] if words[0] != "-m" else [])]
        ran = subprocess.run(command, input=given, cwd=tmp_path, capture_output=True, text=True)
        told.append((ran.returncode, ran.stdout, ran.stderr))
    assert told[0] == told[1]
    assert told[0][0] == status


def test_what_stands_in_hears_of_an_interrupt_and_takes_the_other_with_it_when_it_is_killed() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
    for end, status in ((signal.SIGINT, 3), (signal.SIGKILL, -signal.SIGKILL)):
        with running(NURSERY.python(), "-c", SLEEPS) as program:
            assert program.stdout is not None
            there = int(program.stdout.readline())
            assert there != program.pid
            program.send_signal(end)
            assert program.wait(10) == status
        eventually("it has gone", lambda there=there: not Path(f"/proc/{there}").exists())


def test_the_journal_of_what_is_measured_lies_on_the_disk_beside_its_checkout() -> None:
    """One in memory would be synced for nothing."""
    at = Live(forked=False)
    try:
        assert at.state_dir.parent.stat().st_dev == at.root.stat().st_dev
    finally:
        at.close()
