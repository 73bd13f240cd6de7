"""What agent sessions are told when they begin, and whose the work of a subagent is."""

from __future__ import annotations

import json
import subprocess
import time

import agent_binaries
import agent_runs
import pytest
from scripted_model import Call, Model, Script, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(900)]


@pytest.mark.parametrize("agent", agent_binaries.PACKAGES)
def test_a_session_is_greeted_and_told_of_nobody_who_has_gone(agent: str, at: agent_runs.Checkout) -> None:
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    for name in ("calc.py", "notes.md"):
        with Model(steps(agent_runs.read(agent, at.root, name))) as model:
            at.agent(agent, model)
        assert "Quire keeps every version of every file here" in model.told
        assert "`quire log PATH`" in model.told  # which is on the PATH of this agent
        assert "works here too" not in model.told
    assert [one for one in at.quire("who")["writers"] if one.get("present") and one.get("agent")] == []


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_what_a_subagent_writes_is_of_its_session_and_none_of_its_own_work_is_news(
    agent: str, at: agent_runs.Checkout
) -> None:
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    root = at.root
    main = steps(
        agent_runs.read(agent, root, "calc.py"),
        agent_runs.edit(agent, root, "calc.py", "    return 1", "    return 11"),
        agent_runs.delegate(agent),
        agent_runs.read(agent, root, "calc.py"),
        agent_runs.edit(agent, root, "calc.py", "    return 3", "    return 33"),
    )
    part = steps(
        agent_runs.read(agent, root, "calc.py"),
        agent_runs.edit(agent, root, "calc.py", "    return 2", "    return 22"),
    )
    with Model(main, subagent=part) as model:
        at.agent(agent, model)
    assert "Nothing was written." not in "\n".join(model.results)
    records = [record for record in at.quire("log", "--records", "calc.py")["records"] if record["writer"]["agent"]]
    assert [record["evidence"] for record in records] == ["exact"] * 3
    last, by_part, first = (record["writer"] for record in records)
    assert first["agent_session"] == last["agent_session"] != by_part["agent_session"]
    assert by_part["parent"] == first["agent_session"]

    at.quire("undo", "--writer", f"{agent}/{first['agent_session']}")
    assert at.read("calc.py") == agent_runs.CALC


def test_an_edit_is_not_refused_for_what_the_agents_own_command_left_running(at: agent_runs.Checkout) -> None:
    agent = "claude-code"
    agent_binaries.require(agent)
    at.run("quire", "setup", agent)
    root = at.root

    def when_it_has_written() -> Call:
        deadline = time.monotonic() + agent_runs.RUN_S / 4
        while "return 22" not in at.read("calc.py") and time.monotonic() < deadline:
            time.sleep(0.05)
        return agent_runs.edit(agent, root, "calc.py", "def two():", "def deux():")

    script = steps(
        agent_runs.read(agent, root, "calc.py"),
        agent_runs.shell(agent, "(sleep 1; sed -i 's/return 2/return 22/' calc.py) >/dev/null 2>&1 &"),
        when_it_has_written,
    )
    with Model(script) as model:
        at.agent(agent, model)
    assert "Nothing was written." not in "\n".join(model.results)
    assert "def deux():\n    return 22\n" in at.read("calc.py")
    assert "changed while your command ran" in model.told


def test_a_session_that_is_cleared_is_over_and_the_next_one_is_another(at: agent_runs.Checkout) -> None:
    agent = "claude-code"
    agent_binaries.require(agent)
    command = [agent_binaries.binary(agent), "-p", "--verbose", "--permission-mode", "bypassPermissions"]
    at.run("quire", "setup", agent)

    def present() -> dict[str, bool]:
        return {one["agent_session"]: one["present"] for one in at.quire("who")["writers"] if one["agent"] == agent}

    def script(n: int) -> Script:
        edit = agent_runs.edit(agent, at.root, "calc.py", f"    return {n}", f"    return {n}{n}")
        return steps(agent_runs.read(agent, at.root, "calc.py"), edit)

    with (
        Model(script(1)) as model,
        subprocess.Popen(
            [*command, "--input-format", "stream-json", "--output-format", "stream-json"],
            cwd=at.root,
            env={**at.environ, "ANTHROPIC_BASE_URL": model.url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None

        def say(text: str) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n")
            process.stdin.flush()
            assert any('"type":"result"' in line for line in process.stdout)

        say("change the first")
        (first,) = present()
        model.script, model.results = script(2), []
        say("/clear")
        assert present()[first] is False
        say("change the second")
        (second,) = present().keys() - {first}
        process.stdin.close()
        assert process.wait(agent_runs.RUN_S) == 0
    assert set(present().values()) == {False}
    records = at.quire("log", "--records", "calc.py")["records"]
    made = [(one["writer"]["agent_session"], one["evidence"]) for one in records if one["writer"]["agent"]]
    assert made == [(second, "exact"), (first, "exact")]
