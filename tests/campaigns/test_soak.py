"""Twenty minutes of mixed work: the daemon's own memory stands still in the second half of them.

Agents read, search their anchors, edit, undo and redo; an outside program saves files and creates some; connections
come for one call and go. What the daemon keeps has a bound each, and all of them are reached in the first half.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import live
import quire_client
from live import Live, ok, verified
from quire_client import Client

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 1800))]

LASTS_S = live.length(4.0, 1200.0)
SAMPLES = live.length(40, 1200)
WINDOW = live.length(5, 60)
"""Samples at the middle and at the end whose median is compared: one alone may meet a call that is being answered."""

MOST_RISE_KB = live.length(16 << 10, 1 << 10)
"""The short form stands at the beginning, where the caches fill."""

LARGE = live.length(5, 250)
"""Files of 3,000 lines that are written first: together they weigh more than the daemon keeps of texts."""

AGENTS = 4
FILES = 60
PAUSE_S = 0.02
"""Between two rounds: a soak measures what stays, not what a busy daemon needs for a moment."""

EXPLAINED = {
    *("not_found", "conflict", "busy", "plan_stale", "already_exists", "no_op", "expired"),
    *("anchor_stale", "anchor_context_ambiguous", "old_text_not_found", "write_conflict", "stale_base"),
}
"""Refusals that a call of another writer explains."""


def own_kb(pid: int) -> int:
    """RssAnon: the memory of a process without what it maps of files."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("the kernel does not tell RssAnon")


def rise_kb(samples: list[int]) -> float:
    """How much higher the end of the samples lies than their middle."""
    middle = len(samples) // 2
    return median(samples[-WINDOW:]) - median(samples[middle - WINDOW // 2 : middle + WINDOW // 2 + 1])


class Day:
    """Who works on a checkout, and what each does in one round."""

    def __init__(self, at: Live) -> None:
        self._at, self._draw, self._round = at, random.Random(live.SEED), 0
        self._paths = [f"d{n % 6}/f{n}.py" for n in range(FILES)]
        for n, path in enumerate(self._paths):
            at.write(path, "".join(f"value_{n}_{line} = {line}\n" for line in range(20 + 60 * (n % 12))))
        self._agents = [at.connect(f"agent{n}", f"s{n}") for n in range(AGENTS)]
        self.calls = 0

    def fill(self) -> None:
        """Large files, each read with its anchors: what is kept of texts reaches its bound, on a slow machine, too."""
        for n in range(LARGE):
            path, agent = f"large/l{n}.py", self._agents[n % AGENTS]
            ok(agent.write_file(path, "".join(f"large_{n}_{line} = {line}\n" for line in range(3000))))
            ok(agent.call("read_file", {"path": path, "hashes": True}))

    def round(self) -> None:
        """One call of each agent, one of somebody who comes and goes, and now and then an outside save."""
        self._round += 1
        for agent in self._agents:
            for reply in self._work(agent):
                self.calls += 1
                assert reply.get("ok") or reply["error"] in EXPLAINED, reply
        with self._guest() as guest:
            ok(guest.read_file(self._any()))
        if self._round % 5 == 0:
            self._at.write(self._any(), "".join(f"outside_{self._round}_{n} = {n}\n" for n in range(60)))
        if self._round % 50 == 0:
            name = f"new/n{self._round}.txt"
            self._at.write(name, f"new in round {self._round}\n")
            os.unlink(self._at.root / name) if self._round % 100 == 0 else None

    def _guest(self) -> Client:
        """Somebody of whom the harness keeps nothing."""
        who = f"guest{self._round % 40}", f"g{self._round}"
        return quire_client.connect(self._at.root, *who, state_dir=self._at.state_dir, timeout_s=20.0, start=False)

    def _any(self) -> str:
        return self._draw.choice(self._paths)

    def _work(self, agent: Client) -> Iterator[dict[str, Any]]:
        path, dice = self._any(), self._draw.random()
        if dice < 0.25:
            yield agent.call("read_file", {"path": path, "hashes": True})
        elif dice < 0.6:
            shown = agent.call("read_file", {"path": path, "hashes": True})
            yield shown
            if shown.get("ok") and shown["lines"]:
                anchor = self._draw.choice(shown["lines"]).partition(" ")[0]
                operation = {"op": "replace_line", "hash": anchor, "content": f"changed = {self._round}"}
                yield agent.call("edit", {"path": path, "operations": [operation], "safety_check": "off"})
        elif dice < 0.7:
            yield agent.call("undo", {"last": self._draw.choice([1, 1, 3])})
        elif dice < 0.75:
            yield agent.call("redo", {})
        elif dice < 0.8:
            yield agent.call("write_file", {"path": f"own/w{self._round % 50}.txt", "content": f"{self._round}\n" * 20})
        elif dice < 0.85:
            yield agent.call("log", {"limit": 50})
        elif dice < 0.9:
            yield agent.call("blame", {"path": path})
        elif dice < 0.95:
            yield agent.call("since", {})
        else:
            yield agent.call("status", {})


def test_the_daemons_own_memory_stands_still_in_the_second_half_of_a_soak(daemon) -> None:
    at = daemon()
    day = Day(at)
    pid, begun, samples = at.daemon_pid(), time.monotonic(), list[int]()
    day.fill()
    while (passed := time.monotonic() - begun) < LASTS_S:
        day.round()
        if passed >= len(samples) * LASTS_S / SAMPLES:
            samples.append(own_kb(pid))
            if live.LONG and len(samples) % 60 == 0:
                print(f"{passed:.0f} s, {day.calls} calls: {samples[-1]} KB", flush=True)
        time.sleep(PAUSE_S)
    assert at.daemon_pid() == pid, "the daemon was started anew"
    rise = rise_kb(samples)
    print(f"{day.calls} calls in {LASTS_S:g} s; second half: {rise:+.0f} KB; at the end {samples[-1]} KB", flush=True)
    assert rise < MOST_RISE_KB, samples[:: max(len(samples) // 40, 1)]
    verified(at.connect("boss"))
