"""Two real agents edit one file at the same time, each with the tools that it was built with."""

from __future__ import annotations

import statistics
import threading
from concurrent.futures import ThreadPoolExecutor

import agent_binaries
import agent_runs
import pytest
from scripted_model import Call, Goals, Model

pytestmark = [pytest.mark.agents, pytest.mark.timeout(900)]

AGENTS = ("claude-code", "codex")
EDITS = 12
THINK_S = 1.0
"""How long a model takes for a call, which is at the quick end of what models take."""

ROUNDS = 3
NAME = "many.py"


def source() -> str:
    """A file with a function for each edit."""
    return "".join(f"def function{n}(x):\n    y = x + {n}\n    return y\n\n\n" for n in range(EDITS))


def edits(agent: str, at: agent_runs.Checkout) -> list[Call]:
    """Every other line is for one agent."""
    mine = range(AGENTS.index(agent), EDITS, len(AGENTS))
    lines = [f"    y = x + {n}" for n in mine]
    return [agent_runs.edit(agent, at.root, NAME, line, f"{line}  # by {agent}") for line in lines]


def together(at: agent_runs.Checkout) -> tuple[float, list[str]]:
    """(seconds until both have made their edits, all results of their tools)."""
    (at.root / NAME).write_text(source())
    ready = threading.Barrier(len(AGENTS), timeout=agent_runs.RUN_S)
    scripts = [Goals(agent_runs.read(a, at.root, NAME), edits(a, at), ready.wait, THINK_S) for a in AGENTS]
    with Model(scripts[0]) as one, Model(scripts[1]) as two, ThreadPoolExecutor(len(AGENTS)) as threads:
        for run in [threads.submit(at.agent, *pair) for pair in zip(AGENTS, (one, two), strict=True)]:
            run.result()
    return max(script.took_s for script in scripts), [*one.results, *two.results]


def test_no_edit_of_two_agents_is_lost_or_refused_and_each_has_its_author(at: agent_runs.Checkout) -> None:
    agent_binaries.require(*AGENTS)
    for agent in AGENTS:
        at.run("quire", "setup", agent)
    _, results = together(at)
    assert not [result for result in results if "Nothing was written." in result]
    lines = at.read(NAME).splitlines()
    assert [sum(line.endswith(f"# by {agent}") for line in lines) for agent in AGENTS] == [EDITS / 2, EDITS / 2]

    records = [record for record in at.quire("log", "--records", NAME)["records"] if record["writer"]["agent"]]
    assert sorted((record["writer"]["agent"], record["evidence"]) for record in records) == [
        (agent, "exact") for agent in AGENTS for _ in range(EDITS // 2)
    ]
    blamed = {line["line"]: line["writer"]["agent"] for line in at.quire("blame", NAME)["lines"]}
    for number, line in enumerate(lines, 1):
        assert blamed[number] == (line.rpartition("# by ")[2] if "# by " in line else "")
    assert at.quire("verify")["ok"]


def test_hooks_do_not_slow_two_agents_down() -> None:
    agent_binaries.require(*AGENTS)
    agent_runs.require_quiet()
    took: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for with_quire in (False, True):
            with agent_runs.checkout() as at:
                if with_quire:
                    at.run("quire", "up")
                    for agent in AGENTS:
                        at.run("quire", "setup", agent)
                took[with_quire].append(together(at)[0])
    ratio = statistics.median(took[True]) / statistics.median(took[False])
    print(f"{EDITS} edits of two agents: {took[True]} s with Quire, {took[False]} s without; ratio {ratio:.2f}")
    assert ratio <= 1.15
