"""Starting the daemon's other processes: each runs a module of its own, from nowhere in particular.

A daemon has threads, and LMDB open: what is begun beside it is another program at once, never a fork that goes on.
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
"""Threads that no daemon can do without: two of libzmq, which aborts where it gets none, and those of the watcher."""

FILES: Final = 96
"""Open files below which no daemon is started: 32 of its own, a few connections, and what an edit opens."""

_NOWHERE: Final = "/"
"""Where they run, so that no folder is kept busy by one."""

Command = Callable[[int], Sequence[str]]
"""The words that start a process, which is to talk over the descriptor of this number."""


def program(module: str, *words: str) -> list[str]:
    """The words that run `module` of this package; none of the folder that it is started in is to be found (`-P`)."""
    return [sys.executable, "-P", "-W", "ignore", "-m", f"quire_daemon.{module}", *words]


def require_threads(count: int = THREADS) -> None:
    """Raises RuntimeError where not so many threads can be started: that is said now, not by an abort in the middle."""
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
    """Raises OSError where this process may not have so many files open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        raise OSError(errno.EMFILE, f"the daemon needs {count} open files, and may have {soft}")


class PipedProcess(subprocess.Popen[bytes]):
    """A process whose standard streams are pipes. Raises `NoProcess` when it cannot be started."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, words: Sequence[str], errors: int = subprocess.PIPE) -> None:
        """`errors`: where what it says on its standard error goes, if nobody reads that."""
        try:
            super().__init__(words, cwd=_NOWHERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise NoProcess(error.errno, error.strerror) from error


def wired(command: Command) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Our end of a wire, and a process that has the other. Raises `NoProcess` when it cannot be started."""
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
    """What a process that ended with this status said last on its standard error."""
    return (said.decode("utf-8", "replace").strip().splitlines() or [f"status {status}"])[-1]
