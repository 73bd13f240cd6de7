"""One agent session is one writer, whether it works with its own tools, by Quire's server, or in its shell."""

from __future__ import annotations

import json
import sys

import agent_binaries
import agent_runs
import pytest
from scripted_model import Model, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(900)]


@pytest.mark.parametrize("agent", agent_binaries.PACKAGES)
def test_an_agents_own_tools_its_server_and_its_shell_are_one_writer(agent: str, at: agent_runs.Checkout) -> None:
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    root = at.root
    quire = f"{sys.executable} -m quire_client"  # the login shell of Codex has a PATH of its own
    written = json.dumps({"path": "by_shell.txt", "content": "shell\n"})
    script = steps(
        agent_runs.read(agent, root, "calc.py"),
        agent_runs.edit(agent, root, "calc.py", "    return 1", "    return 11"),
        agent_runs.by_mcp(agent, "write_file", path="by_server.txt", content="server\n"),
        agent_runs.by_mcp(agent, "read_file", path="calc.py"),
        agent_runs.shell(agent, f"{quire} call write_file '{written}'"),
        agent_runs.edit(agent, root, "calc.py", "    return 2", "    return 22"),
        agent_runs.by_mcp(agent, "undo"),
        agent_runs.by_mcp(agent, "who"),
    )
    with Model(script) as model:
        at.agent(agent, model)
    said = "\n".join(model.results)
    assert "Nothing was written." not in said
    assert "changed_since_your_read" not in said
    assert "changed by others" not in model.told
    records = at.quire("log", "--oldest")["records"]
    made = [record for record in records if record["writer"]["agent"] not in ("", "quire")]  # whose setup is told, too
    assert {record["path"] for record in made} == {"calc.py", "by_server.txt", "by_shell.txt"}
    assert {(record["writer"]["agent"], record["writer"]["agent_session"]) for record in made} == {
        (agent, made[0]["writer"]["agent_session"])
    }
    assert not made[0]["writer"]["agent_session"].startswith("mcp-")
    assert at.read("calc.py") == agent_runs.CALC.replace("return 1", "return 11"), "the last work was undone"
