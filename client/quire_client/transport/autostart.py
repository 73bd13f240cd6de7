"""Finds the running daemon of a workspace, or starts one; simultaneous clients start only one.

The process that holds the flock on the file `lock` is the daemon. Clients that find no daemon queue on `start.lock`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from quire_client.transport.connection import Connection
from quire_client.transport.errors import NoDaemon, NoReply, NotSent
from quire_client.transport.sandbox import NOT_WRITABLE, blocked, no_start
from quire_journal import VERSION
from quire_journal.model import SPOOL_FOLDER, Request, encode
from quire_journal.workspaces import LockHolder, Place, checked, hold_lock, make_private_folder, open_own, running

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from quire_client.transport.file_transport import SpoolLine

Told = Callable[[str], None]
"""Callback for the progress messages of a starting daemon."""

PATIENCE_S: Final = 30.0
"""Additional seconds to wait after each progress message of a starting daemon."""

LEAVING_S: Final = 4.0
"""Maximum wait in seconds for the end of a daemon that listens on its socket but does not hold its lock."""

DIED_OF_ITS_JOURNAL: Final = (-7, -11, -6)
"""Return codes of a daemon killed by SIGBUS, SIGSEGV or SIGABRT (Linux), as a damaged journal causes."""

PAUSE_S: Final = 0.01


class Child(Protocol):
    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self) -> int: ...


class Door:
    """Opens connections to the daemon of one workspace. `may_start` permits starting a daemon; `told` gets a starting
    daemon's progress messages.
    """

    def __init__(self, place: Place, may_start: bool, told: Told | None = None) -> None:
        self.place = place
        self.may_start = may_start
        self.told = told

    def open(self, until: float, starting: bool = True) -> Connection | SpoolLine:
        """Return a connection after its handshake, by files if no socket is reachable. Starts a missing daemon if both
        `may_start` and `starting` are true.

        `until` is a monotonic time in seconds. Raises NoDaemon if no daemon answers by then, and WorkspaceRefused if
        the folder may have no journal.
        """
        while True:
            by_files = _by_files(self.place)
            if by_files is not None:
                return by_files
            connection = self._dial(until)
            if connection is not None:
                return connection
            if not (self.may_start and starting):
                raise NoDaemon(f"No daemon runs for {self.place.root}; start one with `quire up`.")
            if blocked(os.fspath(self.place.socket)):
                raise NoDaemon(no_start(self.place.root, "it may not connect"))
            try:
                start(self.place, until, self.told)
            except OSError as error:
                if error.errno not in NOT_WRITABLE:
                    raise
                raise NoDaemon(no_start(self.place.root, f"{error.filename}: {error.strerror}")) from error

    def _dial(self, until: float) -> Connection | None:
        while (found := running(self.place)) is not None:
            reason = "A daemon is starting and has not said where it listens."
            if found.doing:
                reason = f"The daemon is starting: it is {found.doing}. Try again in a moment."
                until = _longer(found, self.told, until)
            if found.socket:
                _check_owner(found.socket)
                connection = Connection(self.place, found)
                try:
                    connection.wait_ready(until)
                except BaseException as error:
                    connection.close()
                    if not isinstance(error, NotSent):
                        raise
                    reason = str(error)
                else:
                    return connection
            if time.monotonic() >= until:
                raise NoDaemon(reason)
            time.sleep(PAUSE_S)
        return None


def _by_files(place: Place) -> SpoolLine | None:
    if not os.path.lexists(place.root.joinpath(*SPOOL_FOLDER)):
        return None
    from quire_client.transport.file_transport import way_in

    return way_in(place)


def start(place: Place, until: float, told: Told | None = None) -> None:
    """Start the workspace's daemon unless one runs, and return when the daemon answers.

    Raises NoDaemon if none answers by the monotonic time `until`, and WorkspaceRefused if the folder may have no
    journal.
    """
    checked(place)
    make_private_folder(place.state)
    make_private_folder(place.socket.parent)
    with hold_lock(place.start_lock, patience_s=max(0.0, until - time.monotonic())) as lock:
        if lock is None:
            raise NoDaemon(f"Another client is still starting the daemon; see {place.log}.")
        if running(place) is None and not _activated(place, until):
            _wait_until_up(place, _spawn(place), until, told)


def _activated(place: Place, until: float) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        try:
            _check_owner(os.fspath(place.socket))
            caller.settimeout(max(0.01, until - time.monotonic()))
            caller.connect(os.fspath(place.socket))
        except OSError:
            return False  # no socket, or one of a daemon that has ended
        stray = _daemon_behind(caller)
        until = min(until, time.monotonic() + LEAVING_S) if stray else until
        while running(place) is None:
            if time.monotonic() >= until:
                if stray:
                    raise NoDaemon(
                        f"A daemon (pid {stray}) listens on {place.socket}, but does not hold {place.lock}: the state "
                        f"folder was removed or replaced while it ran. It should have ended by itself; end it with "
                        f"`kill {stray}` and call again."
                    )
                raise NoDaemon(
                    f"systemd listens on {place.socket}, but no daemon has come; see `quire service status` and "
                    f"`journalctl --user`, or remove the service with `quire service uninstall`."
                )
            caller.settimeout(PAUSE_S)
            try:
                if not caller.recv(64):
                    return False
            except TimeoutError:
                continue
            except OSError:
                return False
    return True


def _daemon_behind(caller: socket.socket) -> int:
    import socket
    import struct

    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    try:
        pid = int(struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return 0
    return pid if b"quire_daemon" in words[1:] or any(word.endswith(b"/quired") for word in words[:2]) else 0


def _longer(found: LockHolder, told: Told | None, until: float) -> float:
    if told is None:
        return until
    told(found.doing)
    return max(until, time.monotonic() + PATIENCE_S)


def command(place: Place) -> list[str]:
    return [
        sys.executable,
        "-m",
        "quire_daemon",
        "--workspace",
        os.fspath(place.root),
        "--state-dir",
        os.fspath(place.state),
        "--socket",
        os.fspath(place.socket),
    ]


def checking_settings(place: Place) -> list[str]:
    return [sys.executable, "-m", "quire_daemon", "--workspace", os.fspath(place.root), "--check-settings"]


def apart(words: list[str], log: int, errors: int) -> Child:
    """Start the command line `words` in its own session, in the folder `/` with stdin from /dev/null. `log` and
    `errors` are the file descriptors of its stdout and stderr.
    """
    import subprocess

    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=errors,
        cwd="/",  # `-m` puts the current folder first on the path; no module of the workspace may be imported
        start_new_session=True,
    )


def _spawn(place: Place) -> Child:
    import threading

    if not sys.executable:
        raise NoDaemon("This Python does not know its own path, so it cannot start the daemon; run `quired` yourself.")
    errors = open_own(place.start_error, os.O_WRONLY | os.O_TRUNC)
    try:
        log = open_own(place.log, os.O_WRONLY | os.O_APPEND)
    except BaseException:
        os.close(errors)
        raise
    try:
        child = apart(command(place), log, errors)
    except OSError as error:
        raise NoDaemon(f"The daemon could not be started: {error}.") from error
    finally:
        os.close(errors)
        os.close(log)
    # If the daemon ends before this process, its status must be read, or it remains a zombie.
    threading.Thread(target=child.wait, name="quire-daemon-ended", daemon=True).start()
    return child


def _wait_until_up(place: Place, child: Child, until: float, told: Told | None, again: bool = True) -> None:
    doing = ""
    while time.monotonic() < until:
        found = running(place)
        if found is not None and found.doing:
            doing = f" It is {found.doing}."
            until = _longer(found, told, until)
        if found is None and child.poll() is not None:
            if again and child.returncode in DIED_OF_ITS_JOURNAL:
                _wait_until_up(place, _spawn(place), until, told, again=False)
                return
            raise NoDaemon(_last_words(place, child))
        if found is not None and found.socket:
            connection = Connection(place, found)
            try:
                connection.exchange(1, encode(Request(1, "hello", client=VERSION, epoch=found.epoch)), until)
            except (NotSent, NoReply):
                pass  # it ended, or the time is up; the loop checks which
            else:
                return  # any answer shows that the daemon runs
            finally:
                connection.close()
        time.sleep(PAUSE_S)
    raise NoDaemon(f"The daemon (pid {child.pid}) was started, but does not answer yet.{doing} See {place.log}.")


def _last_words(place: Place, child: Child) -> str:
    try:
        tail = place.start_error.read_bytes()[-4096:].decode("utf-8", "replace")
    except OSError:
        tail = ""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    if not lines and _is_full(place.state):
        return f"The daemon could not start: the disk of {place.state} is full. Make room on it, and call again."
    if not lines:
        return f"The daemon ended at once (status {child.returncode}) and gave no reason; see {place.log}."
    if lines[-1].startswith("quired: "):
        return f"The daemon did not start: {lines[-1].removeprefix('quired: ')}"
    return f"The daemon did not start: {lines[-1]} (all of it is in {place.start_error}, its log is {place.log})"


def _is_full(folder: Path) -> bool:
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False


def _check_owner(path: str) -> None:
    try:
        found = os.lstat(path)
    except OSError:
        return
    if found.st_uid != os.getuid():
        raise NoDaemon(f"The socket {path} belongs to another user (uid {found.st_uid}).")
