"""Hooks that a process answers which stays: the template, the connections, and the guard that stands beside it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_daemon import FakeDaemon
from test_samples import RUNS, events

from quire_client.hooks.relay import Surroundings
from quire_client.hooks.resident import MOST_LINES, Answerer, Lines, event_of, marker, serving
from quire_client.hooks.table import agent
from quire_client.setup.claude_code import FIELDS, calls_tools, guarded, hooks
from quire_client.transport.fast_client import Unreachable
from quire_journal.workspaces.identity import settle
from quire_journal.workspaces.layout import Place, place_of

OF_CLAUDE = [run for run in RUNS if run.startswith("claude-code/")]


def filled_in(event: Mapping[str, Any]) -> dict[str, Any]:
    """The template as Claude Code fills it in: what is no text as JSON, what is missing as an empty text."""
    found = {}
    for name in FIELDS[event["hook_event_name"]]:
        value: Any = event
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        found[name] = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return found


@pytest.mark.parametrize(
    ("run", "place"),
    [(run, n) for run in OF_CLAUDE for n, one in enumerate(events(run)) if one["hook_event_name"] in FIELDS],
)
def test_an_event_that_comes_through_the_tool_means_what_it_means_on_stdin(run: str, place: int) -> None:
    event = events(run)[place]
    speaks = agent("claude-code")
    assert speaks.understand(event_of(filled_in(event))) == speaks.understand(event)


def test_a_template_names_each_field_as_claude_code_finds_it_and_no_output_of_a_command() -> None:
    tool, command = hooks("PostToolUse", "/x/quire", "claude-code", 10)
    assert tool["input"]["tool_input"] == "${tool_input}"
    assert tool["input"]["tool_response.originalFile"] == "${tool_response.originalFile}"
    assert "tool_response" not in tool["input"]
    assert command["command"].endswith(" || exec /x/quire hook claude-code")


@pytest.mark.parametrize(
    ("version", "new"), [("2.1.330 (Claude Code)", True), ("2.1.118", True), ("2.1.117", False), ("2.0.999", False)]
)
def test_an_older_claude_code_gets_commands_alone(version: str, new: bool) -> None:
    assert calls_tools(version) == new
    assert calls_tools("")


@pytest.mark.parametrize("odd", [{}, {"tool_input": "{"}, {"tool_input": 3, "hook_event_name": "PreToolUse"}])
def test_arguments_that_make_no_event_are_answered_with_nothing(odd: dict[str, Any]) -> None:
    assert Answerer("claude-code", Surroundings({})).answer(odd) == {}


# ── connections ──────────────────────────────────────────────────────────────


class Line:
    """A connection that notes what becomes of it."""

    def __init__(self, made: list[Line]) -> None:
        self.calls: list[str] = []
        self.ended = self.closed = False
        made.append(self)

    def call(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(tool)
        return {"ok": True}

    def renew(self, caller: Mapping[str, str], until: float) -> bool:
        return not self.ended

    def close(self) -> None:
        self.closed = True


class Connections:
    """Makes them."""

    def __init__(self) -> None:
        self.made: list[Line] = []

    def __call__(self, place: Place, caller: Mapping[str, str], until: float) -> Any:
        return Line(self.made)


def used(lines: Lines, place: Place, session: str) -> Any:
    """The connection that an event of this session gets."""
    with lines(place, {"agent_session": session}, 0.0) as line:
        return line


def test_a_session_keeps_its_connection_and_another_one_has_its_own(place: Place) -> None:
    connections = Connections()
    lines = Lines(connections)
    first = used(lines, place, "s1")
    assert used(lines, place, "s1") is first
    assert used(lines, place, "s1.a1") is not first
    with lines(place, {"agent_session": "s1"}, 0.0) as one, lines(place, {"agent_session": "s1"}, 0.0) as two:
        assert one is not two
    assert len(connections.made) == 3
    lines.drop("s1")
    assert [line.closed for line in connections.made] == [True, False, True]
    lines.close()
    assert all(line.closed for line in connections.made)


def test_a_connection_that_failed_or_whose_daemon_has_ended_is_not_used_again(place: Place) -> None:
    connections = Connections()
    lines = Lines(connections)
    with pytest.raises(Unreachable), lines(place, {"agent_session": "s1"}, 0.0):
        raise Unreachable("it closed the connection")
    assert connections.made[0].closed
    used(lines, place, "s1").ended = True
    used(lines, place, "s1")
    assert [line.closed for line in connections.made] == [True, True, False]


def test_the_sessions_that_called_longest_ago_give_their_connections_up(place: Place) -> None:
    connections = Connections()
    lines = Lines(connections)
    for n in range(MOST_LINES + 1):
        used(lines, place, f"s{n}")
    assert [line.closed for line in connections.made] == [True] + [False] * MOST_LINES


def test_a_session_that_has_ended_keeps_no_connection(tmp_path: Path) -> None:
    place = place_of(tmp_path / "ws")
    place.root.mkdir()
    place.state.mkdir(parents=True)
    settle(place)
    connections = Connections()
    answerer = Answerer("claude-code", Surroundings({}), connections)
    event = {"session_id": "s1", "agent_id": "a1", "cwd": str(place.root)}
    answerer.answer({**event, "hook_event_name": "UserPromptSubmit"})
    answerer.answer({**event, "hook_event_name": "SubagentStop"})
    assert [(line.calls, line.closed) for line in connections.made] == [(["native", "native"], True)]


def test_a_fault_of_ours_is_told_and_stops_nobody(tmp_path: Path) -> None:
    place = place_of(tmp_path / "ws")
    place.root.mkdir()
    place.state.mkdir(parents=True)
    settle(place)

    def broken(place: Place, caller: Mapping[str, str], until: float) -> Any:
        raise ZeroDivisionError("of all things")

    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(place.root)}
    told = Answerer("claude-code", Surroundings({}), broken).answer(event)
    assert told == {"systemMessage": "Quire could not answer a hook: ZeroDivisionError: of all things"}


def test_a_kept_connection_calls_for_whoever_uses_it_and_ends_with_its_daemon(place: Place) -> None:
    lines = Lines()
    with FakeDaemon(place):
        for turn in ("t1", "t2"):
            with lines(place, {"agent": "ann", "turn": turn}, time.monotonic() + 5) as line:
                told = line.call("status", {})
                assert (told["agent"], told["args"]) == ("ann", {})
        assert line.renew({"agent": "bob"}, time.monotonic() + 5)
        assert line.call("status", {})["agent"] == "bob"
    assert not line.renew({}, time.monotonic() + 5)
    lines.close()


# ── the guard ────────────────────────────────────────────────────────────────


@pytest.fixture
def quire(tmp_path: Path) -> Path:
    """A `quire` that writes down that it was called, and with what."""
    script = tmp_path / "a b" / "quire"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$*: $(cat)" >> {tmp_path}/called\n')
    script.chmod(0o755)
    return script


def calls(quire: Path) -> list[str]:
    """What it was called with since it was asked last, by a shell whose parent is this process."""
    command = guarded(str(quire), "claude-code")
    done = subprocess.run(["sh", "-c", command], input="{}", capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    file = quire.parents[1] / "called"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    return lines


def test_a_hook_starts_a_process_only_where_no_server_answers_it(quire: Path) -> None:
    assert calls(quire) == ["hook claude-code: {}"]
    with serving(os.getpid()):
        assert calls(quire) == []
    assert calls(quire) == ["hook claude-code: {}"]


def test_a_server_that_was_killed_answers_nothing_and_is_forgotten_by_the_next(quire: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with serving(os.getpid()):
        marker(os.getpid()).write_text(f"{ended.pid}\n")
        marker(1).write_text(f"{ended.pid}\n")
        assert calls(quire) == ["hook claude-code: {}"]
    assert marker(os.getpid()).exists()  # it is not ours any more
    with serving(os.getpid()):
        assert calls(quire) == []
        assert not marker(1).exists()


def test_without_proof_of_a_server_hooks_start_processes(quire: Path) -> None:
    marker(1).parent.parent.mkdir(parents=True)
    marker(1).parent.write_text("a file where a folder of ours must be")
    with serving(os.getpid()):
        assert calls(quire) == ["hook claude-code: {}"]
