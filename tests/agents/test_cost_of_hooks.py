"""How much longer a call of an agent's own tool takes with the two hooks around it."""

from __future__ import annotations

from itertools import pairwise

import agent_binaries
import agent_runs
import pytest
from scripted_model import Model, steps

pytestmark = [pytest.mark.agents, pytest.mark.timeout(900)]

EDITS = 20
ROUNDS = 3

MOST_S = {"claude-code": 0.020, "opencode": 0.020}
"""Agents that need no process for a hook."""

BY_PROCESS_S = 0.200
"""What two processes of Python may add."""


def call_s(agent: str, at: agent_runs.Checkout) -> float:
    """The time of the quickest call of a turn that edits one line again and again: others waited for other programs."""
    lines = [f"    return 1{n or ''}" for n in range(EDITS + 1)]
    edits = [agent_runs.edit(agent, at.root, "calc.py", old, new) for old, new in pairwise(lines)]
    with Model(steps(agent_runs.read(agent, at.root, "calc.py"), *edits)) as model:
        at.agent(agent, model)
    assert lines[-1] in at.read("calc.py")
    return min(model.calls_s[1:])


@pytest.mark.parametrize("agent", agent_binaries.PACKAGES)
def test_two_hooks_add_little_to_a_call(agent: str) -> None:
    agent_binaries.require(agent)
    agent_runs.require_quiet()
    plain, hooked = list[float](), list[float]()
    for _ in range(ROUNDS):
        with agent_runs.checkout() as without, agent_runs.checkout() as at:
            at.run("quire", "up")
            at.run("quire", "setup", agent)
            plain.append(call_s(agent, without))
            hooked.append(call_s(agent, at))
        print(f"{agent}: {plain[-1] * 1000:.0f} ms a call, {hooked[-1] * 1000:.0f} ms with two hooks")
    assert min(hooked) - min(plain) <= MOST_S.get(agent, BY_PROCESS_S)
