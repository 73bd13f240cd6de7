"""The start of the daemon's other processes, each a module run in the root folder.

The daemon has threads and an open LMDB, so it starts a new program, and never forks to go on.
"""

from __future__ import annotations

import errno
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Final

from quire_journal.model import NoProcess
from quire_journal.storage import Thread

THREADS: Final = 5
"""Threads that every daemon needs: two of libzmq, which aborts without them, and the watcher's."""

FILES: Final = 96
"""Open files that a daemon needs."""

_NOWHERE: Final = "/"
"""Their working directory, which keeps no folder busy."""

Command = Callable[[int], Sequence[str]]


def program(module: str, *words: str) -> list[str]:
    """The command line that runs `module` of this package, with no modules from the working directory (`-P`)."""
    return [sys.executable, "-P", "-W", "ignore", "-m", f"quire_daemon.{module}", *words]


def require_threads(count: int = THREADS) -> None:
    """Raises RuntimeError if so many threads cannot be started, instead of an abort later."""
    end, begun = threading.Event(), list[Thread]()
    try:
        for _ in range(count):
            begun.append(Thread(partial(_wait, end), "tried"))
    finally:
        end.set()
        for thread in begun:
            thread.join()


def _wait(end: threading.Event) -> None:
    end.wait()


def require_files(count: int = FILES) -> None:
    """Raises OSError if this process may not open so many files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        raise OSError(errno.EMFILE, f"the daemon needs {count} open files, and may have {soft}")


class PipedProcess(subprocess.Popen[bytes]):
    """A process with pipes as standard streams. Raises `NoProcess` if it cannot be started."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, words: Sequence[str], errors: int = subprocess.PIPE) -> None:
        try:
            super().__init__(words, cwd=_NOWHERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise NoProcess(error.errno, error.strerror) from error


def wired(command: Command) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Our end of a socket pair, and a process with the other end. Raises `NoProcess` if it cannot be started."""
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise NoProcess(error.errno, error.strerror) from error
    with theirs:
        fd = theirs.fileno()
        try:
            return ours, subprocess.Popen(command(fd), pass_fds=(fd,), cwd=_NOWHERE, stdin=subprocess.DEVNULL)
        except OSError as error:
            ours.close()
            raise NoProcess(error.errno, error.strerror) from error
        except BaseException:
            ours.close()
            raise


def last_words(said: bytes, status: int) -> str:
    """The last line on stderr of a process that ended with this status."""
    return (said.decode("utf-8", "replace").strip().splitlines() or [f"status {status}"])[-1]
