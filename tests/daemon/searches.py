"""Searches, and a loop that waits for them as the daemon's does. No pytest in it: a bare process uses it, too."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import Protocol

from quire_daemon.workers.regex.job import Answer, Search

LONG_MS = 30_000  # a limit that only a hang would reach
FOR_EVER = r"(a|aa)+$"


def search(text: bytes | str, pattern: str, replacement: str = "X", count: int = 0, most: int = 1 << 20) -> Search:
    """A search in this text."""
    return Search(pattern, replacement, count, text.encode() if isinstance(text, str) else text, most)


def endless() -> Search:
    """One that is not done before the sun is."""
    return search("a" * 60 + "!", FOR_EVER)


class Asked(Protocol):
    """What the loop knows of whoever runs searches."""

    def ask(self, search: Search, limit_ms: int) -> int: ...
    def cancel(self, ticket: int) -> None: ...
    def look(self, now_s: float) -> list[tuple[int, Answer]]: ...
    def next_look_s(self, now_s: float) -> float: ...
    def close(self) -> None: ...


class Poll:
    """The loop's poll, and nothing else of it."""

    def __init__(self) -> None:
        self.poll = select.poll()
        self.watched: set[int] = set()

    def watch(self, fd: int, writable: bool = False) -> None:
        self.watched.add(fd)
        self.poll.register(fd, select.POLLIN | (select.POLLOUT if writable else 0))

    def unwatch(self, fd: int) -> None:
        self.watched.remove(fd)
        self.poll.unregister(fd)


def _queued_s() -> float:
    """How long this thread could have gone on by now, and others had the processor; 0.0 where nothing tells."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


class Loop:
    """Asks, and waits as the daemon's loop does."""

    def __init__(self, asked: Asked, poll: Poll) -> None:
        self.asked, self.poll = asked, poll
        self.slowest_look_s = 0.0  # what it did and what it waited for; not that others had the processor

    def turn(self, most_s: float = 30.0) -> list[tuple[int, Answer]]:
        """One turn of the loop, which ends at the latest in `most_s`."""
        began, queued_s = time.monotonic(), _queued_s()
        ended = self.asked.look(began)
        now = time.monotonic()
        self.slowest_look_s = max(self.slowest_look_s, now - began - (_queued_s() - queued_s))
        if not ended:
            self.poll.poll.poll(1000 * max(0.0, min(self.asked.next_look_s(now) - now, most_s)) + 1)
        return ended

    def until(self, *tickets: int) -> dict[int, Answer]:
        """What came of these."""
        answers: dict[int, Answer] = {}
        until = time.monotonic() + 30
        while answers.keys() < {*tickets}:
            assert time.monotonic() < until
            answers.update(self.turn())
        return answers

    def one(self, search: Search, limit_ms: int = LONG_MS) -> Answer:
        """What comes of a search."""
        ticket = self.asked.ask(search, limit_ms)
        return self.until(ticket)[ticket]


def children() -> set[int]:
    """The processes that search for this one."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == os.getpid() and b"quire_daemon.workers.regex.worker" in command:
            found.add(int(entry.name))
    return found
