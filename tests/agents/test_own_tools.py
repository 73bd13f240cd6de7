"""The real agents write with the tools that they were built with, while another process writes in the same files."""

from __future__ import annotations

import threading

import agent_binaries
import agent_runs
import pytest
from scripted_model import Call, Model, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

AGENTS = ("claude-code", "codex", "gemini", "opencode")


def versions(at: agent_runs.Checkout, name: str) -> list[tuple[str, str]]:
    """(agent, evidence) of each version of a file, the oldest first; the agent is "" where nobody is known."""
    records = at.quire("log", "--records", name)["records"]
    return [(record["writer"]["agent"], record["evidence"]) for record in reversed(records)]


def session(agent: str, at: agent_runs.Checkout) -> Model:
    """A model that has the agent edit, write and run a command, while another process changes the same files."""
    root = at.root

    def edit_again() -> Call:
        at.elsewhere("calc.py", "return 3", "return 33")
        return agent_runs.edit(agent, root, "calc.py", "    return 2", "    return 22")

    def command() -> Call:
        save = threading.Timer(1.0, at.elsewhere, ("notes.md", "second", "SECOND"))
        save.start()
        return agent_runs.shell(agent, "sleep 2; echo delta >> data.txt")

    return Model(
        steps(
            agent_runs.read(agent, root, "calc.py"),
            agent_runs.edit(agent, root, "calc.py", "    return 1", "    return 11"),
            edit_again,
            agent_runs.write(agent, root, "new.txt", "made\nby the agent\n"),
            command,
        )
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_what_an_agent_writes_is_its_own_and_is_taken_back_without_what_others_wrote(
    agent: str, at: agent_runs.Checkout
) -> None:
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    with session(agent, at) as model:
        at.agent(agent, model)
    assert len(model.results) == 5, model.results
    assert not [result for result in model.results if "Nothing was written." in result]
    assert [line for line in at.read("calc.py").splitlines() if "return" in line] == [
        "    return 11",
        "    return 22",
        "    return 33",
    ]
    assert at.read("data.txt").endswith("gamma\ndelta\n")

    exact = (agent, "exact")
    assert [known for known in versions(at, "calc.py") if known[0]] == [exact, exact]
    assert versions(at, "new.txt") == [exact]
    assert [who for who, _ in versions(at, "notes.md")] == ["", ""]
    (by_shell,) = versions(at, "data.txt")[1:]
    assert by_shell in [(agent, "traced"), (agent, "during")]

    at.quire("undo", "--writer", agent)
    assert at.read("calc.py") == agent_runs.CALC.replace("return 3", "return 33")
    assert not (at.root / "new.txt").exists()
    assert at.read("notes.md") == agent_runs.NOTES.replace("second", "SECOND")
    assert at.read("data.txt") == (agent_runs.DATA if by_shell[1] == "traced" else f"{agent_runs.DATA}delta\n")
    assert at.quire("verify")["ok"]
