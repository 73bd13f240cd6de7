"""Starting the daemon's other processes: each runs a module of its own, from nowhere in particular.

A daemon has threads, and LMDB open: what is begun beside it is another program at once, never a fork that goes on.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO, Final

_NOWHERE: Final = "/"
"""Where they run, so that no folder is kept busy by one."""

Command = Callable[[int], Sequence[str]]
"""The words that start a process, which is to talk over the descriptor of this number."""


def program(module: str, *words: str) -> list[str]:
    """The words that run `module` of this package; none of the folder that it is started in is to be found (`-P`)."""
    return [sys.executable, "-P", "-W", "ignore", "-m", f"quire_daemon.{module}", *words]


class Piped(subprocess.Popen[bytes]):
    """A process whose standard streams are pipes. Raises OSError when it cannot be started."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def __init__(self, words: Sequence[str], errors: int = subprocess.PIPE) -> None:
        """`errors`: where what it says on its standard error goes, if nobody reads that."""
        super().__init__(words, cwd=_NOWHERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)


def wired(command: Command) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Our end of a wire, and a process that has the other. Raises OSError when it cannot be started."""
    ours, theirs = socket.socketpair()
    with theirs:
        fd = theirs.fileno()
        try:
            return ours, subprocess.Popen(command(fd), pass_fds=(fd,), cwd=_NOWHERE, stdin=subprocess.DEVNULL)
        except BaseException:
            ours.close()
            raise


def last_words(said: bytes, status: int) -> str:
    """What a process that ended with this status said last on its standard error."""
    return (said.decode("utf-8", "replace").strip().splitlines() or [f"status {status}"])[-1]
