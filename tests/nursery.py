"""Daemons for tests, forked from one process that has imported what a daemon needs (`forking`).

Most of what a daemon computes until it answers is imports, and the tests start some two hundred of them. Here one
process imports once, and forks for each daemon: it has one thread and opens nothing of Quire's, so a fork of it is as
new as a program just started. Everything that a daemon can tell about how it began is as `quire_client.start.apart` has
it: session, folder, environment, descriptors, arguments; what others see in /proc (`cmdline`, `environ`) is that of the
nursery, which is why it tells which processes it made.

Who ends one way or another (a signal, an exit status) is told to whoever asked for it, as a parent would learn it.
Tests of the start itself, the benchmarks, and `scripts/test --long` start real programs (`live.Live(forked=False)`).
"""

from __future__ import annotations

import array
import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import forking
from quire_client.start import Child, apart

MARK = "QUIRE_TEST_MARK"
"""The variable that all daemons of one `Live` have in their environment."""


class Forked:
    """A daemon that the nursery made, as `quire_client.start` sees it."""

    def __init__(self, pid: int, mark: str, told: BinaryIO) -> None:
        self.pid = pid
        self.mark = mark
        self.returncode: int | None = None
        self._told = told  # a stream: its exit status comes there

    def poll(self) -> int | None:
        return self.returncode

    def wait(self) -> int:
        """To be called once, and from whichever thread: `start` has one for it."""
        with self._told as told:
            self.returncode = int(told.read() or -9)  # the nursery itself has ended
        return self.returncode


class Nursery:
    """The process that forks daemons, started at the first call or before.

    Forks of the process that started it use it, too: nothing comes back on the line that they share.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._made: list[Forked] = []

    def apart(self, words: list[str], log: int, errors: int) -> Child:
        """In place of `quire_client.start.apart`, and the same for programs other than the daemon."""
        if words[:3] != [sys.executable, "-m", "quire_daemon"]:
            return apart(words, log, errors)
        read, tell = os.pipe()
        told = os.fdopen(read, "rb")
        try:
            with self._lock:
                line = self._line or self._start()
                request = json.dumps([words, dict(os.environ)]).encode()
                line.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [log, errors, tell]))])
                made = Forked(int(told.readline()), os.environ.get(MARK, ""), told)
                self._made.append(made)
                return made
        except BaseException:
            told.close()
            raise
        finally:
            os.close(tell)

    def start(self) -> None:
        """Begin, for those that will need it, and go on without waiting for it."""
        with self._lock:
            if self._line is None:
                self._start()

    def living(self, mark: str) -> list[int]:
        """The process ids of the daemons with this mark that have not ended."""
        with self._lock:
            self._made = [one for one in self._made if one.returncode is None]
            return [one.pid for one in self._made if one.mark == mark]

    def close(self) -> None:
        """End the process, where it was started. Daemons that still run are not its own business."""
        if self._line is not None and self._process is not None:
            self._line.close()
            self._process.wait()
            self._line = self._process = None

    def _start(self) -> socket.socket:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, forking.MOST)
        environ = {name: value for name, value in os.environ.items() if name != MARK}
        atexit.register(self.close)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", Path(forking.__file__), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd="/",
                env=environ,
                start_new_session=True,  # Ctrl-C is for pytest
            )
        return self._line
