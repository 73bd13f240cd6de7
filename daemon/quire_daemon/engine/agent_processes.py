"""Which agent session is at work in which process: folded from the calls of agents' hooks.

Theory of operation. An agent's hook says which session it is about, and the kernel says which process started it. The
nearest ancestor that is no launcher (a shell, `uv`) is the agent's own process: `claude` below `sh -c`, the Rust binary
below Codex's `node`, the second `node` of Gemini. That process and the session belong together until the session ends.
The agent's MCP server has the same process for a parent, and so have the commands that the agent runs: who of them does
not know its session is given the one that the table has.

A hook may be started by a program of the user's, say a script for `node`, that lives no longer than the hook. Such a
program is taken for the agent until the next hook of the session, which has another one: what is above both is the
agent.

A hook from elsewhere that names the session of a process that lives proves nothing. A table that is lost with the
daemon is learnt anew from the next hooks. Nothing here asks the system: rows of ancestors are arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from quire_daemon.ops import Process, ProcessId

LAUNCHERS: Final = frozenset(
    {"ash", "bash", "busybox", "dash", "env", "fish", "ksh", "nice", "nohup", "pwsh", "setsid", "sh", "stdbuf"}
    | {"timeout", "uv", "uvx", "zsh"}
)
"""Programs that stand between an agent and what it starts, and live no longer."""

MOST_SESSIONS: Final = 256
"""Agent sessions that are remembered; the one that was heard of longest ago is forgotten."""


class AgentSession(NamedTuple):
    """An agent session; of a subagent, that of its parent."""

    agent: str
    session: str


class SessionHome(NamedTuple):
    """Where an agent session is at work, and what its hooks told last."""

    process: ProcessId
    turn: str = ""
    model: str = ""
    above: tuple[ProcessId, ...] = ()  # the processes that may be the agent's, as long as only one hook has told of it


class HookTold(NamedTuple):
    """What one call of a hook tells."""

    who: AgentSession
    chain: Sequence[Process]  # the hook's own process and its ancestors
    moment: str  # see `native`
    turn: str = ""
    model: str = ""


class AgentProcesses(msgspec.Struct, frozen=True):
    """The table, as a value. A session has one process; a process has the session that was told of last."""

    homes: Mapping[AgentSession, SessionHome] = {}  # the one that was heard of last is last

    def told(self, hook: HookTold, ended: Callable[[ProcessId], bool]) -> AgentProcesses:
        """The table after a hook's call. `ended`: has the process with this id ended?

        A hook from outside of the session's process tree changes nothing (`belongs`).
        """
        process = agent_process(hook.chain)
        if process is None or not hook.who.session or not self.belongs(hook.who, hook.chain, ended):
            return self
        others = {who: home for who, home in self.homes.items() if who != hook.who}
        if hook.moment == "session_end":
            return AgentProcesses(others)
        known = self.homes.get(hook.who)
        home, above = _id(process), _able(hook.chain)
        if known is not None and known.process in map(_id, hook.chain):
            home, above = known.process, ()  # another program below the agent calls the hook
        elif known is not None and (common := next((one for one in above if one in known.above), None)) is not None:
            home, above = common, ()  # that of the hook before has ended: it was none but a hook's
        turn = hook.turn if hook.turn or hook.moment == "turn" or known is None else known.turn
        model = hook.model or (known.model if known is not None else "")
        surplus = max(0, len(others) + 1 - MOST_SESSIONS)
        kept = dict(islice(others.items(), surplus, None))
        return AgentProcesses({**kept, hook.who: SessionHome(home, turn, model, above)})

    def belongs(self, who: AgentSession, chain: Sequence[Process], ended: Callable[[ProcessId], bool]) -> bool:
        """Is a hook with these ancestors of the process tree that the session is at work in?

        True also where the session is at work nowhere: it begins here, or its process has ended.
        """
        home = self.homes.get(who)
        return home is None or home.process in map(_id, chain) or ended(home.process)

    def session_of(self, chain: Sequence[Process], agent: str = "") -> AgentSession | None:
        """The agent session that a process with these ancestors works for; None: no agent's.

        A server that an agent started says which `agent` it is; then the agent's own process must be that one's. A
        command says nothing, and belongs to the nearest agent above it, up to a terminal at which a person types.
        """
        newest = {home.process: who for who, home in self.homes.items()}
        if agent:
            process = agent_process(chain)
            found = newest.get(_id(process)) if process is not None else None
            return found if found is not None and found.agent == agent else None
        return next((newest[_id(one)] for one in _within_reach(chain) if _id(one) in newest), None)


def agent_process(chain: Sequence[Process]) -> Process | None:
    """The process of the agent that started the first one of `chain`; None where a person did, or nobody knows."""
    return next((one for one in _within_reach(chain) if not _launches(one)), None)


def _able(chain: Sequence[Process]) -> tuple[ProcessId, ...]:
    """The processes that may be that of the agent, the nearest first."""
    return tuple(_id(one) for one in _within_reach(chain) if not _launches(one))


def _within_reach(chain: Sequence[Process]) -> list[Process]:
    """The ancestors of the first process, up to a shell at a terminal."""
    found: list[Process] = []
    for one in chain[1:]:
        if one.pid == 1 or (one.at_terminal and _launches(one)):
            break
        found.append(one)
    return found


def _launches(one: Process) -> bool:
    return os.path.basename(one.exe or one.name) in LAUNCHERS


def _id(one: Process) -> ProcessId:
    return one.pid, one.start
