"""Processes and their ancestors, from Linux's `/proc`; on other systems every answer is empty."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

PROC: Final = "/proc"

MOST_ANCESTORS: Final = 64


class Process(NamedTuple):
    pid: int
    start: int  # clock ticks after boot; distinguishes reused pids
    name: str  # chosen by the process, at most 15 bytes: "claude", "node"
    exe: str  # file of its program; "" if unreadable
    at_terminal: bool = False  # session leader at a terminal without a command (`-c`): a person types there


ProcessId = tuple[int, int]
"""(pid, start in clock ticks after boot); unique even if pids are reused."""


class ProcessTree:
    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc

    def ancestors(self, pid: int) -> tuple[Process, ...]:
        return ancestors(pid, self._proc)

    def has_ended(self, process: ProcessId) -> bool:
        pid, start = process
        return pid_start(pid, self._proc) != start


def ancestors(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """Return the process, its parent, and so on; () if unknown. Stops at a parent younger than its child (a reused pid)
    and at a pid namespace's edge.
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
    """Return a process's start in clock ticks after boot; 0 if there is none."""
    told = _told(pid, proc)
    return 0 if told is None else told.start


class _Stat(NamedTuple):
    name: str
    parent: int
    session: int  # pid of its session leader
    terminal: int  # of the session; 0: none
    start: int


def _told(pid: int, proc: str) -> _Stat | None:
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
