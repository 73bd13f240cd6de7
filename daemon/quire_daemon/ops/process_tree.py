"""Processes and their ancestors, from Linux's `/proc`; on other systems every answer is empty."""

from __future__ import annotations

import os
from collections.abc import Iterator
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

    def bytes_written(self, process: ProcessId) -> int | None:
        """Return the bytes that the process, its living descendants, and all that they waited for have written so far,
        to files, pipes or terminals; None if unknown. A child that ends during this call may be left out; the next call
        counts it.
        """
        pid, start = process
        if pid_start(pid, self._proc) != start:
            return None
        try:
            return sum(_written(one, self._proc, one == pid) for one in _family(pid, self._proc))
        except OSError:
            return None


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


def _family(pid: int, proc: str) -> Iterator[int]:
    """Yield the pids of the process and its living descendants, parents first."""
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        try:
            threads = os.listdir(f"{proc}/{one}/task")
        except OSError:
            continue  # it has just ended
        for thread in threads:
            try:
                with open(f"{proc}/{one}/task/{thread}/children", "rb", 0) as file:
                    waiting += map(int, file.read().split())
            except OSError:
                continue


def _written(pid: int, proc: str, must_be: bool) -> int:
    """Return the bytes that the process, and children that it waited for, have written. If it has ended, the result is
    0, or OSError if it `must_be` there. Raises OSError if the number may not be read.
    """
    try:
        with open(f"{proc}/{pid}/io", "rb", 0) as file:
            told = dict(line.split(b": ") for line in file.read().splitlines())
    except (FileNotFoundError, ProcessLookupError):
        if must_be:
            raise
        return 0  # it has just ended
    return int(told[b"wchar"]) + int(told[b"write_bytes"])  # the second: what was written through a mapping
