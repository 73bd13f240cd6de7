"""What a daemon takes of the machine, with the processes that it started: memory, and time of the processor."""

from __future__ import annotations

_CLEAN, _DIRTY = "Private_Clean", "Private_Dirty"


def memory_mb(pid: int, cached: bool = False) -> float:
    """Memory that nobody can take from the process, with that of the processes it started.

    `cached`: instead of that, the pages of files (the journal, libraries) that only it has mapped and has not changed:
    they are the kernel's page cache, which it takes back when it needs the room.
    """
    found = 0
    for one in (pid, *_children(pid)):
        with open(f"/proc/{one}/smaps_rollup") as told:
            found += sum(int(line.split()[1]) for line in told if line.startswith(_CLEAN if cached else _DIRTY))
    return found / 1024


def cpu_s(pid: int) -> float:
    """Seconds of processor that the process and those it started have used, also those that have ended."""
    total = 0
    for one in (pid, *_children(pid)):
        with open(f"/proc/{one}/stat") as told:
            words = told.read().rpartition(")")[2].split()
        total += sum(int(words[n]) for n in (11, 12, 13, 14))
    return total / 100


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as told:
        return [int(word) for word in told.read().split()]
