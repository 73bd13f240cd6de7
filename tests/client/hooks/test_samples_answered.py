"""Samples of four agents, played to a daemon in memory: whose each write is, and that nobody is refused for nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
from test_samples import BY_OTHERS, CALC, NOTES, RUNS, events, made, understood

from memory_daemon import MemoryDaemon
from quire_client.hooks.base import Intent
from quire_client.hooks.dispatch import tell
from quire_client.hooks.table import agent
from quire_journal.model.events import TurnBegan
from quire_journal.model.messages import Caller

DATA = "alpha\nbeta\ngamma\n"
SAVED = {("claude-code/run3", 9): ("notes.md", "second", "SECOND saved by a person")}
"""(run, the number of a line) → (file, text, other text) that a person saved while the command of that line ran."""


WRITES = {
    "claude-code/run1": ["exact", "exact", "during"],
    "claude-code/run3": ["exact", "exact", "during", "during", "during", "during"],
    "codex/run2": ["exact", "exact", "exact"],
    "codex/run4-codemode": ["exact", "during"],
    "codex/run6": [],
    "gemini/run2": ["exact", "during"],
    "opencode/run2": ["exact", "during"],
}
"""Run → by what each write of the agent is known to be its own."""


class Replay:
    """A run, line by line, with what each call of it writes and what others wrote meanwhile."""

    def __init__(self, run: str) -> None:
        self.run, self.speaks = run, agent(run.partition("/")[0])
        self.daemon = MemoryDaemon()
        for path, text in (("calc.py", CALC), ("notes.md", NOTES), ("data.txt", DATA)):
            self.daemon.outside(path, text.encode())
        self.by_others: set[int] = set()
        self.by_agent: dict[int, tuple[str, str]] = {}  # record → (agent session, evidence)
        self.refused: list[str] = []

    def play(self) -> None:
        """All of it. A call that the daemon refuses is over."""
        for number, event in enumerate(events(self.run), 1):
            if number in BY_OTHERS.get(self.run, {}):
                self._elsewhere(*BY_OTHERS[self.run][number])
            intent = understood(self.run, event)
            if intent is None:
                continue
            if intent.moment == "after":
                self._performed(number, intent)
            outcome = tell(intent, self.speaks.rereads, self._line(intent))
            assert not outcome.warning
            self.refused += [] if outcome.allow else [outcome.reason]

    def _line(self, intent: Intent) -> Any:
        caller = Caller(self.speaks.name, intent.session, intent.turn, intent.call, intent.model, parent=intent.parent)

        def call(tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
            return self.daemon.said(tool, args, caller, os.getpid())

        return call

    def _elsewhere(self, path: str, old: str, new: str) -> None:
        text = self._text(path)
        assert old in text
        self.by_others.add(self.daemon.outside(path, text.replace(old, new).encode()))

    def _performed(self, number: int, intent: Intent) -> None:
        """What the call does to the files before its end is told."""
        if (self.run, number) in SAVED:
            self._elsewhere(*SAVED[self.run, number])
        if intent.payloads:
            paths = {path: self._text(path) for path in intent.paths}
            for path, text in made(intent.payloads[0], paths).items():
                self.by_agent[self.daemon.outside(path, text.encode())] = (intent.session, "exact")
        said, _, path = intent.command.partition(" >> ")
        if path.startswith("data.txt"):
            line = said.rpartition("echo ")[2] + "\n"
            written = self.daemon.outside("data.txt", (self._text("data.txt") + line).encode())
            self.by_agent[written] = (intent.session, "during")

    def _text(self, path: str) -> str:
        return (self.daemon.read(path) or "").replace("\r", "")


@pytest.mark.parametrize("run", RUNS)
def test_each_write_has_its_author_and_no_call_is_refused(run: str) -> None:
    replay = Replay(run)
    replay.play()
    assert replay.refused == []
    assert [evidence for _, evidence in replay.by_agent.values()] == WRITES[run]
    found = {}
    with replay.daemon.history() as history:
        for seq in (*replay.by_agent, *replay.by_others):
            record = replay.daemon.record(seq)
            assert record is not None
            known = history.attribution(record)
            writer = {} if known is None or not known.writer else history.writer_json(known.writer)
            found[seq] = (writer.get("agent_session", ""), known.evidence if known is not None and writer else "")
    assert {seq: found[seq] for seq in replay.by_agent} == replay.by_agent
    assert {found[seq][0] for seq in replay.by_others} <= {""}


@pytest.mark.parametrize(("run", "prompt"), [(run, "go" if run == "codex/run6" else "change calc.py") for run in RUNS])
def test_what_the_person_asked_for_is_kept_with_its_turn(run: str, prompt: str) -> None:
    replay = Replay(run)
    replay.play()
    turns = [event for event in replay.daemon.events(TurnBegan) if isinstance(event, TurnBegan)]
    if run == "opencode/run2":  # it was recorded before the plugin told of prompts
        assert turns == []
        return
    assert turns[0].prompt == prompt
    assert turns[0].transcript or run.startswith("codex")
