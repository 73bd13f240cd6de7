"""A hundred thousand edits of four agents, as many as a long day has: the daemon's own memory stands still.

The caches are full after the first tenth. What is freed of them goes back to the system in pieces of many megabytes, or
not for a while, so that the memory has plateaus: the lowest of the second half shows whether anything stays for good.
"""

from __future__ import annotations

import threading
from pathlib import Path
from statistics import median

import pytest

import live
from live import Live, ok, verified
from quire_client import Client

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 3600))]

EDITS = live.length(800, 100_000)
AGENTS = 4
FILES = 100
LINES = 100
SAMPLES = 50
MOST_GROWTH = live.length(1.5, 1.05)
"""Of the lowest plateau. The short form stands at the beginning, where the caches fill."""

MOST_HELD = live.length(1.5, 1.3)
"""With all that was freed and did not go back."""


def own_kb(pid: int) -> int:
    """RssAnon: the memory of a process without what it maps of files."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def line(path: str, at: int, turn: int) -> str:
    """A line of a file, as it is since this turn; no two files have one in common."""
    return f"{path} has line {at} since {turn}\n"


class Agent:
    """Edits its share of the files, one after the other."""

    def __init__(self, client: Client, number: int) -> None:
        self._client, self._number, self._done = client, number, 0

    def edit(self, count: int) -> None:
        """Make so many edits."""
        for n in range(self._done, self._done + count):
            turn, file = divmod(n, FILES // AGENTS)
            at = turn % LINES
            path = f"{self._number}/{file}.txt"
            change = {"old_text": line(path, at, max(0, turn - LINES + 1)), "new_text": line(path, at, turn + 1)}
            ok(self._client.call("edit_replace", {"file": path, **change}))
        self._done += count


def test_the_daemons_own_memory_stands_still_over_a_day_of_edits(daemon) -> None:
    at: Live = daemon()
    for number in range(AGENTS):
        for file in range(FILES // AGENTS):
            path = f"{number}/{file}.txt"
            at.write(path, "".join(line(path, n, 0) for n in range(LINES)))
    agents = [Agent(at.connect(f"agent{number}", timeout_s=60.0), number) for number in range(AGENTS)]
    samples: list[int] = []
    for _ in range(SAMPLES):
        threads = [threading.Thread(target=agent.edit, args=[EDITS // AGENTS // SAMPLES]) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        samples.append(own_kb(at.daemon_pid()))
        if live.LONG:
            print(len(samples) * EDITS // SAMPLES, "edits:", samples[-1], "kB", flush=True)
    tenth = SAMPLES // 10
    full = median(samples[tenth : 2 * tenth])
    assert min(samples[SAMPLES // 2 :]) <= MOST_GROWTH * full, samples
    assert max(samples) <= MOST_HELD * full, samples
    with at.connect("boss", timeout_s=60.0) as boss:
        assert ok(boss.call("status", {}))["journal"]["records"] >= EDITS
        verified(boss)
