"""What a daemon takes of the machine, with the processes that it started: memory, and time of the processor."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

REST_S: Final = 0.003
"""A process that does nothing for so long is at rest."""

_NOTHING_S: Final = 0.000_05
"""Of processor, that a process at rest may use meanwhile: a thread that looks at its clock."""

_CLEAN, _DIRTY = "Private_Clean", "Private_Dirty"


def memory_mb(pid: int, cached: bool = False) -> float:
    """Memory that nobody can take from the process, with that of the processes it started.

    `cached`: instead of that, the pages of files (the journal, libraries) that only it has mapped and has not changed:
    they are the kernel's page cache, which it takes back when it needs the room.
    """
    found = 0
    for told in _told(pid, "smaps_rollup"):
        lines = told.splitlines()
        found += sum(int(line.split()[1]) for line in lines if line.startswith(_CLEAN if cached else _DIRTY))
    return found / 1024


def cpu_s(pid: int) -> float:
    """Seconds of processor that the process and those it started have used, also those that have ended."""
    total = 0
    for told in _told(pid, "stat"):
        words = told.rpartition(")")[2].split()
        total += sum(int(words[n]) for n in (11, 12, 13, 14))
    return total / 100


def used_s(pid: int) -> float:
    """Seconds of processor of the process alone, all threads, to this moment: its clock, which the kernel keeps."""
    return time.clock_gettime(~pid << 3 | 2)


def wait_for_rest(pid: int, within_s: float = 2.0) -> None:
    """Wait until no thread of the process works, or waits for the disk. Raises `TimeoutError`."""
    until = time.monotonic() + within_s
    while True:
        before = used_s(pid)
        time.sleep(REST_S)
        if used_s(pid) - before < _NOTHING_S and _sleeps(pid):
            return
        if time.monotonic() > until:
            raise TimeoutError(f"process {pid} did not come to rest in {within_s:g} s")


def _told(pid: int, file: str) -> Iterator[str]:
    """Yield the text of a file in /proc of the process, and of those it started that have not ended meanwhile."""
    yield Path(f"/proc/{pid}/{file}").read_text()
    for child in _children(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield Path(f"/proc/{child}/{file}").read_text()


def _sleeps(pid: int) -> bool:
    return all(
        (thread / "stat").read_text().rpartition(")")[2].split()[0] == "S"
        for thread in Path(f"/proc/{pid}/task").iterdir()
    )


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as told:
        return [int(word) for word in told.read().split()]
