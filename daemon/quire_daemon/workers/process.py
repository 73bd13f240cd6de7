"""Start of helper processes, each a module of this package. The daemon has threads and an open LMDB, so it never forks
without exec.
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
"""Number of threads that must be possible: libzmq's and the file watcher's."""

FILES: Final = 96
_NOWHERE: Final = "/"
Command = Callable[[int], Sequence[str]]


def program(module: str, *words: str) -> list[str]:
    """Return the command line of `module` of this package, without imports from the working directory (`-P`)."""
    return [sys.executable, "-P", "-W", "ignore", "-m", f"quire_daemon.{module}", *words]


def require_threads(count: int = THREADS) -> None:
    """Raise `RuntimeError` if `count` threads cannot be started."""
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
    """Start a process connected by a socket pair; return our socket and the process. `command` makes the command line
    from the number of the process's descriptor. Raises `NoProcess`.
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
    """Return the last line of an ended process's error output, or its exit status if there was no output."""
    return (said.decode("utf-8", "replace").strip().splitlines() or [f"status {status}"])[-1]
