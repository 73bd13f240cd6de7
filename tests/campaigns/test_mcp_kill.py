"""Agents over MCP work on while their daemon is killed again and again: what was answered holds, and only once.

Below the protocol: `AgentSession` is what every tool call of `quire mcp` goes through, and it promises an answer that
is true whatever became of the daemon. Each call appends a line that nobody else writes. In the end a line whose call
was answered with `ok` stands in the file once, and one whose call was refused does not stand there.
"""

from __future__ import annotations

import collections
import os
import random
import signal
import threading
import time
from typing import Any

import pytest

import live
from quire_client.mcp.agents import AgentSession

pytestmark = [pytest.mark.real, pytest.mark.timeout(live.length(60, 1800))]

AGENTS = live.length(3, 6)
KILLS = live.length(3, 60)
PATH = "shared.txt"


class Working(threading.Thread):
    """An agent that appends lines until it is told to stop."""

    def __init__(self, at: live.Live, name: str) -> None:
        super().__init__(name=name)
        self.session = AgentSession(lambda: at.connect(name))
        self.replies: dict[str, dict[str, Any]] = {}  # by the line that the call was to append
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.is_set():
            line = f"{self.name} {len(self.replies)}"
            self.replies[line] = self.session.call("insert_lines", {"path": PATH, "line_number": -1, "text": line})
        self.session.close()


def test_every_line_that_was_answered_stands_once_however_often_the_daemon_dies(daemon: Any) -> None:
    chance = random.Random(live.SEED)
    at: live.Live = daemon()
    at.write(PATH, "first\n")
    live.ok(at.connect("looker").status())
    agents = [Working(at, f"agent{n}") for n in range(AGENTS)]
    for agent in agents:
        agent.start()
    try:
        for _ in range(KILLS):
            done = sum(len(agent.replies) for agent in agents)
            live.eventually("calls are answered", lambda done=done: sum(len(a.replies) for a in agents) > done + AGENTS)
            time.sleep(chance.uniform(0, 0.05))
            os.kill(at.daemon_pid(), signal.SIGKILL)
    finally:
        for agent in agents:
            agent.stop.set()
        for agent in agents:
            agent.join(60)
    lines = collections.Counter(at.read(PATH).decode().splitlines())
    replies = {line: reply for agent in agents for line, reply in agent.replies.items()}
    wrong = {line: (lines[line], reply) for line, reply in replies.items() if lines[line] != (1 if reply["ok"] else 0)}
    assert not wrong
    assert len(replies) > KILLS * AGENTS
    assert set(lines) <= {"first", *replies}
    live.verified(at.connect("looker"))
