"""Claude Code has its MCP server answer hooks. Where no server is, or it dies, a process answers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import agent_binaries
import agent_runs
import pytest
from scripted_model import Call, Model, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

AGENT = "claude-code"


def servers(at: agent_runs.Checkout) -> list[int]:
    """The servers that say that they answer hooks."""
    folder = at.home / ".local" / "state" / "quire" / "serving"
    return [int(file.read_text()) for file in folder.iterdir()] if folder.exists() else []


def processes(at: agent_runs.Checkout) -> list[int]:
    """The processes that told of the edits, the oldest edit first."""
    records = [record for record in at.quire("log", "--records", "calc.py")["records"] if record["writer"]["agent"]]
    assert [record["evidence"] for record in records] == ["exact"] * len(records)
    return [record["writer"]["pid"] for record in reversed(records)]


def edit(root: Path, old: int, new: int) -> Call:
    return agent_runs.edit(AGENT, root, "calc.py", f"    return {old}", f"    return {new}")


def test_the_server_answers_the_hooks_of_all_calls_and_leaves_nothing_behind(at: agent_runs.Checkout) -> None:
    agent_binaries.require(AGENT)
    at.run("quire", "setup", AGENT)
    seen: list[int] = []

    def last() -> Call:
        seen.extend(servers(at))
        return edit(at.root, 2, 22)

    with Model(steps(agent_runs.read(AGENT, at.root, "calc.py"), edit(at.root, 1, 11), last)) as model:
        at.agent(AGENT, model)
    assert processes(at) == seen * 2
    assert servers(at) == []


def test_a_server_that_is_killed_takes_no_edit_with_it(at: agent_runs.Checkout) -> None:
    agent_binaries.require(AGENT)
    at.run("quire", "setup", AGENT)
    killed: list[int] = []

    def after_the_kill() -> Call:
        killed.extend(servers(at))
        for server in killed:
            os.kill(server, signal.SIGKILL)
        return edit(at.root, 2, 22)

    calls = [edit(at.root, 1, 11), after_the_kill, edit(at.root, 3, 33)]
    with Model(steps(agent_runs.read(AGENT, at.root, "calc.py"), *calls)) as model:
        at.agent(AGENT, model)
    assert "Nothing was written." not in "".join(model.results)
    first, second, third = processes(at)
    assert killed == [first]
    assert first not in (second, third)


def test_without_a_server_each_hook_has_a_process(at: agent_runs.Checkout) -> None:
    agent_binaries.require(AGENT)
    at.run("quire", "setup", AGENT)
    (at.root / ".mcp.json").unlink()
    calls = [edit(at.root, 1, 11), edit(at.root, 2, 22)]
    with Model(steps(agent_runs.read(AGENT, at.root, "calc.py"), *calls)) as model:
        at.agent(AGENT, model)
    first, second = processes(at)
    assert first != second
    at.elsewhere("calc.py", "return 11", "return 12")
    with Model(steps(agent_runs.read(AGENT, at.root, "calc.py"), edit(at.root, 12, 13))) as model:
        at.agent(AGENT, model)
    assert "return 13" in at.read("calc.py")
