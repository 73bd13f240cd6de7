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


def ancestors(pid: int, proc: str = PROC) -> tuple[Process, ...]:
    """The process itself, its parent, the parent of that, up to the first one; () where nothing is known.

    A parent that began after its child is another process that got the pid of a parent that has ended: there the row
    ends. It ends also at the edge of a pid namespace, and after `MOST_ANCESTORS`.
    """
    found: list[Process] = []
    last = None
    while pid > 0 and len(found) < MOST_ANCESTORS:
        told = _told(pid, proc)
        if told is None or (last is not None and told[1] > last):
            break
        name, last, parent = told
        found.append(Process(pid, last, name, _exe(pid, proc)))
        pid = parent
    return tuple(found)


def pid_start(pid: int, proc: str = PROC) -> int:
    """When the process began, in clock ticks after boot: tells a recycled pid apart. 0 where it cannot be known."""
    told = _told(pid, proc)
    return 0 if told is None else told[1]


def _told(pid: int, proc: str) -> tuple[str, int, int] | None:
    """(name, start, pid of the parent), read at one moment; None where there is no such process."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as file:
            stat = file.read()
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")  # a name may hold spaces and brackets
        fields = rest.split()
        return name.decode("utf-8", "replace"), int(fields[19]), int(fields[1])
    except (OSError, ValueError, IndexError):
        return None


def _exe(pid: int, proc: str) -> str:
    try:
        return os.readlink(f"{proc}/{pid}/exe")
    except OSError:
        return ""
