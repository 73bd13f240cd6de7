"""The process tree, as the kernel tells it: who a process is, and who started it.

Linux tells in `/proc`. Elsewhere (macOS) nothing is known, and every answer is empty.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

PROC: Final = "/proc"

MOST_ANCESTORS: Final = 64
"""Generations that are followed. Agents, shells and wrappers together are seldom more than a dozen."""


class Process(NamedTuple):
    """A process that ran when the kernel was asked."""

    pid: int
    start: int  # clock ticks after boot; tells a recycled pid apart
    name: str  # as the process calls itself, at most 15 bytes: "claude", "node"; it can say anything
    exe: str  # the file of its program; "" where that may not be read
    at_terminal: bool = False  # leads the session of a terminal and was given no command (`-c`): a person types there


ProcessId = tuple[int, int]
"""pid and start: no two processes have both."""


class ProcessTree:
    """The processes of this machine."""

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc

    def ancestors(self, pid: int) -> tuple[Process, ...]:
        """See the function of that name."""
        return ancestors(pid, self._proc)

    def has_ended(self, process: ProcessId) -> bool:
        """Does this process run no more? Another one may have got its pid."""
        pid, start = process
        return pid_start(pid, self._proc) != start


def ancestors(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """The process itself, its parent, the parent of that, up to the first one; () where nothing is known.

    A parent that began after its child is another process that got the pid of a parent that has ended: there the row
    ends. It ends also at the edge of a pid namespace, and after `MOST_ANCESTORS`.
    """
    found: list[Process] = []
    last = None
    while pid > 0 and len(found) < MOST_ANCESTORS:
        told = _told(pid, proc)
        if told is None or (last is not None and told.start > last):
            break
        last = told.start
        typed = told.session == pid and told.terminal != 0 and not _has_command(pid, proc)
        found.append(Process(pid, last, told.name, _exe(pid, proc), typed))
        pid = told.parent
    return tuple(found)


def pid_start(pid: int, proc: str = PROC) -> int:
    """When the process began, in clock ticks after boot: tells a recycled pid apart. 0 where it cannot be known."""
    told = _told(pid, proc)
    return 0 if told is None else told.start


class _Stat(NamedTuple):
    """What the kernel tells of a process at one moment."""

    name: str
    parent: int
    session: int  # pid of the process that leads its session
    terminal: int  # of that session; 0: there is none
    start: int


def _told(pid: int, proc: str) -> _Stat | None:
    """None where there is no such process."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            stat = file.read()
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")  # a name may hold spaces and brackets
        fields = rest.split()
        numbers = (int(fields[place]) for place in (1, 3, 4, 19))
        return _Stat(name.decode("utf-8", "replace"), *numbers)
    except (OSError, ValueError, IndexError):
        return None


def _has_command(pid: int, proc: str) -> bool:
    """Was the process, a shell for example, started to run one command (`bash -lc ...`)?"""
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")
    except OSError:
        return False
    return any(word.startswith(b"-") and not word.startswith(b"--") and b"c" in word for word in words[1:4])


def _exe(pid: int, proc: str) -> str:
    try:
        return os.readlink(f"{proc}/{pid}/exe")
    except OSError:
        return ""
