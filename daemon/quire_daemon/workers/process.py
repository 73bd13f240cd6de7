"""Starts the daemon's helper processes, each a module of this package run in the folder `/`.

The daemon has threads and an open LMDB database, so it always starts a new program and never continues in a fork.
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
"""Number of threads that the daemon must be able to start: libzmq's two, and those of the file watcher."""

FILES: Final = 96
"""Number of files that the daemon must be allowed to open."""

_NOWHERE: Final = "/"
"""Working directory of helper processes, so that they keep no other folder busy."""

Command = Callable[[int], Sequence[str]]


def program(module: str, *words: str) -> list[str]:
    """Return the command line that runs `module` of this package, without importing from the working directory (`-P`).
    `words` are its arguments.
    """
    return [sys.executable, "-P", "-W", "ignore", "-m", f"quire_daemon.{module}", *words]


def require_threads(count: int = THREADS) -> None:
    """Raises `RuntimeError` if `count` threads cannot be started, so that the daemon fails at the start and not
    later.
    """
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
    """Raises `OSError` if this process may not open `count` files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        raise OSError(errno.EMFILE, f"the daemon needs {count} open files, and may have {soft}")


class PipedProcess(subprocess.Popen[bytes]):
    """A process with pipes as its standard streams, run in the folder `/`. Raises `NoProcess` if it cannot be
    started.
    """

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, words: Sequence[str], errors: int = subprocess.PIPE) -> None:
        try:
            super().__init__(words, cwd=_NOWHERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise NoProcess(error.errno, error.strerror) from error


def wired(command: Command) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start a process connected by a socket pair. Returns this side's socket and the process; `command` gets the
    descriptor of the other side. Raises `NoProcess` if the process cannot be started.
    """
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
    """Return the last line of `said`, what an ended process wrote to stderr; if it is empty, a text with the exit
    status.
    """
    return (said.decode("utf-8", "replace").strip().splitlines() or [f"status {status}"])[-1]
