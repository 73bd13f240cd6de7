"""Daemons for tests, forked from one process that has imported what a daemon needs (`forking`).

Most of what a daemon computes until it answers is imports, and the tests start some two hundred of them. Here one
process imports once, and forks for each daemon: it has one thread and opens nothing of Quire's, so a fork of it is as
new as a program just started. Everything that a daemon can tell about how it began is as `quire_client.start.apart` has
it: session, folder, environment, descriptors, arguments; what others see in /proc (`cmdline`, `environ`) is that of the
nursery, which is why it tells which processes it made.

Who ends one way or another (a signal, an exit status) is told to whoever asked for it, as a parent would learn it.
Tests of the start itself, the benchmarks, and `scripts/test --long` start real programs (`live.Live(forked=False)`).

The same process stands in for command lines: `Nursery.python` is a program that hands what it was called with, and its
streams, to a fork, and ends as that does. It takes a tenth of what an interpreter takes that imports Quire's client.
"""

from __future__ import annotations

import atexit
import json
import marshal
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO

import forking
from forking import MARK
from quire_client.start import Child, apart

STAND_IN = """\
#!{python} -IS
import _signal, _socket, marshal, posix, sys
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
line.connect({line!r})
words = [{python_here!r}, *{before!r}, *sys.argv[1:]]
streams = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
_signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, lambda *_: line.send(b"interrupt"))
line.sendmsg([marshal.dumps(["program", words, posix.environ, posix.getcwd()])], rights)
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])
status = int(line.recv(16) or b"1")
if status < 0:
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""


class Forked:
    """A daemon that the nursery made, as `quire_client.start` sees it."""

    def __init__(self, mark: str, told: BinaryIO) -> None:
        self.pid = int(told.readline())
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
    """The process that forks daemons, started at the first call or before; or the one that has its door in `folder`.

    Forks of the process that started it use it, too.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = folder
        self._line: socket.socket | None = None
        self._made: list[Forked] = []

    def apart(self, words: list[str], log: int, errors: int) -> Child:
        """In place of `quire_client.start.apart`, and the same for programs other than the daemon."""
        if words[:3] != [sys.executable, "-m", "quire_daemon"]:
            return apart(words, log, errors)
        made = Forked(os.environ.get(MARK, ""), self._asked("daemon", words, log, errors))
        with self._lock:
            self._made.append(made)
        return made

    def start(self) -> None:
        """Begin, for those that will need it, and go on without waiting for it."""
        with self._lock:
            if self._folder is None:
                self._start()

    def living(self, mark: str) -> list[int]:
        """The process ids of the daemons with this mark that have not ended."""
        with self._lock:
            self._made = [one for one in self._made if one.returncode is None]
            ours = [one.pid for one in self._made if one.mark == mark]
        if self._folder is None:
            return ours
        with self._asked("living", [], mark=mark) as told:
            return [*{*ours, *json.loads(told.readline())}]

    def python(self) -> Path:
        """A program that does what `sys.executable` would do with its arguments, of which the first are
        `-m MODULE`, `-c CODE`, `-` or a file. Beside it stands one that is called `quire`.

        It is killed with the other one, and hears of SIGINT, of no other signal. Modules have been imported there, so
        it is not for tests of what is.
        """
        self.start()
        assert self._folder is not None
        return self._folder / "python"

    def close(self) -> None:
        """End the process, where it was started. Daemons that still run are not its own business."""
        if self._line is not None and self._process is not None:
            self._line.close()
            self._process.wait()
            shutil.rmtree(str(self._folder), ignore_errors=True)
            self._line = self._process = self._folder = None

    def _asked(self, kind: str, words: list[str], *streams: int, mark: str = "") -> BinaryIO:
        """What is told of a request."""
        self.start()
        environ = {**os.environb, **({MARK.encode(): mark.encode()} if mark else {})}
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, forking.MOST)
            line.connect(f"{self._folder}/line")
            socket.send_fds(line, [marshal.dumps([kind, words, environ, "/"])], streams)
            return line.makefile("rb")

    def _start(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="quire-live-"))
        for name, before in (("python", []), ("quire", ["-m", "quire_client"])):
            here = str(self._folder / "python")
            text = STAND_IN.format(python=sys.executable, line=f"{self._folder}/line", python_here=here, before=before)
            (self._folder / name).write_text(text)
            (self._folder / name).chmod(0o700)
        self._line, theirs = socket.socketpair()
        environ = {name: value for name, value in os.environ.items() if name != MARK}
        atexit.register(self.close)
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            door.bind(f"{self._folder}/line")
            door.listen(64)
            given = theirs.fileno(), door.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", Path(forking.__file__), *map(str, given)],
                pass_fds=given,
                cwd="/",
                env=environ,
                start_new_session=True,  # Ctrl-C is for pytest
            )
