"""Starting the daemon: once, apart from us, and with its own words when it will not."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quire_client import NoDaemon, WorkspaceRefused, connect
from quire_client.transport import autostart
from quire_journal.workspaces.layout import Place
from quire_journal.workspaces.lock import running

FAKE = Path(__file__).parents[1] / "fake_daemon.py"


@pytest.fixture
def fake_program(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The fake is started in place of the real daemon, with the same arguments, and ended by its pid."""
    real = autostart.command
    monkeypatch.setattr(autostart, "command", lambda place: [sys.executable, str(FAKE), *real(place)[3:]])
    yield place
    for pid in starts(place):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def starts(place: Place) -> list[int]:
    """The process id of every daemon that was started."""
    counted = place.state / "starts"
    return [int(line) for line in counted.read_text().split()] if counted.exists() else []


def wait_until_free(place: Place) -> None:
    until = time.monotonic() + 10
    while running(place) is not None:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_daemon_is_started_with_exactly_these_arguments(place: Place) -> None:
    assert autostart.command(place) == [
        sys.executable,
        "-m",
        "quire_daemon",
        "--workspace",
        str(place.root),
        "--state-dir",
        str(place.state),
        "--socket",
        str(place.socket),
    ]


def test_the_first_client_starts_the_daemon(fake_program: Place) -> None:
    with connect(fake_program.root, state_dir=fake_program.state) as client:
        assert client.call("edit")["pid"] != os.getpid()
        client.shutdown_daemon()
    assert len(starts(fake_program)) == 1


def test_clients_that_come_at_once_get_one_daemon(fake_program: Place) -> None:
    def pid(n: int) -> int:
        with connect(fake_program.root, session=str(n), state_dir=fake_program.state) as client:
            return int(client.call("edit")["pid"])

    with ThreadPoolExecutor(6) as pool:
        pids = set(pool.map(pid, range(6)))
    assert len(pids) == 1
    assert starts(fake_program) == list(pids)


def test_a_socket_whose_daemon_is_being_killed_is_not_taken_for_one_that_systemd_holds(fake_program: Place) -> None:
    """The kernel may take a dying process's lock before its socket: for a moment somebody listens and nobody serves."""
    fake_program.socket.parent.mkdir(mode=0o700)
    dying = socket.socket(socket.AF_UNIX)
    dying.bind(str(fake_program.socket))
    dying.listen()

    def die() -> None:
        time.sleep(0.1)  # the client has connected by then, or is refused: both must end well
        dying.close()
        fake_program.socket.unlink()

    with ThreadPoolExecutor(1) as pool:
        dead = pool.submit(die)
        with connect(fake_program.root, state_dir=fake_program.state, timeout_s=20) as client:
            assert client.call("edit")["ok"]
            dead.result()
            client.shutdown_daemon()
    assert len(starts(fake_program)) == 1


LISTENER = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[2])
listener.listen()
print(flush=True)
time.sleep(60)
"""


def test_a_daemon_that_lost_its_state_folder_is_named_and_not_taken_for_systemd(
    fake_program: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autostart, "LEAVING_S", 0.1)
    fake_program.socket.parent.mkdir(mode=0o700)
    words = [sys.executable, "-c", LISTENER, "quire_daemon", str(fake_program.socket)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as stray:
        assert stray.stdout is not None
        stray.stdout.readline()
        with pytest.raises(NoDaemon) as refused:
            connect(fake_program.root, state_dir=fake_program.state, timeout_s=20)
        stray.kill()
    assert f"A daemon (pid {stray.pid}) listens" in str(refused.value)
    assert "state folder was removed" in str(refused.value)
    assert "systemd" not in str(refused.value)


def test_the_daemons_last_words_are_the_reason(fake_program: Place) -> None:
    (fake_program.root / "refuse").touch()
    with pytest.raises(NoDaemon) as refused:
        connect(fake_program.root, state_dir=fake_program.state)
    assert str(refused.value) == "The daemon did not start: .quire.toml: line 3: there is no key `edti`."


def test_a_daemon_that_dies_of_a_damaged_journal_is_followed_by_one_that_checks_it(fake_program: Place) -> None:
    (fake_program.root / "die").touch()
    with connect(fake_program.root, state_dir=fake_program.state) as client:
        assert client.call("edit")["ok"]
        client.shutdown_daemon()
    assert not (fake_program.root / "die").exists()


def test_a_daemon_that_breaks_down_at_its_start_says_where_all_of_it_is(fake_program: Place) -> None:
    (fake_program.root / "break").touch()
    with pytest.raises(NoDaemon) as refused:
        connect(fake_program.root, state_dir=fake_program.state)
    where = f"(all of it is in {fake_program.start_error}, its log is {fake_program.log})"
    assert str(refused.value) == f"The daemon did not start: RuntimeError: nobody expected that {where}"
    assert "Traceback" in fake_program.start_error.read_text()
    assert fake_program.log.exists()


def test_a_killed_daemon_is_replaced_at_the_next_call_whatever_it_left(fake_program: Place) -> None:
    with connect(fake_program.root, state_dir=fake_program.state) as client:
        first = client.call("edit")["pid"]
        os.kill(first, signal.SIGKILL)
        wait_until_free(fake_program)
        assert fake_program.socket.exists()
        assert client.call("edit")["pid"] != first


def test_a_program_that_cannot_be_run_is_a_reason(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autostart, "command", lambda place: ["/nowhere/python"])
    with pytest.raises(NoDaemon, match=r"could not be started.*/nowhere/python"):
        connect(place.root, state_dir=place.state)


def test_no_daemon_is_started_where_no_journal_may_live(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceRefused, match="is not a folder"):
        connect(tmp_path / "missing", state_dir=tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_modules_in_the_current_folder_are_not_the_daemons(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout that brings its own `msgspec.py` must not get it run."""
    (place.root / "planted.py").write_text("raise SystemExit('planted code ran')")
    monkeypatch.chdir(place.root)
    monkeypatch.setattr(autostart, "command", lambda place: [sys.executable, "-m", "planted"])
    with pytest.raises(NoDaemon, match="No module named planted"):
        connect(place.root, state_dir=place.state)
