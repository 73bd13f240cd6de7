"""Table of the process in which each agent session runs, computed from the calls of agents' hooks. Pure.

Theory of operation. A hook names its session; the kernel gives the hook's ancestors. The nearest ancestor that is not a
launcher (a shell, `uv`, Codex's `node`) is the agent's own process. The agent's MCP server and commands have the same
ancestor and get the session if they name none. If a short-lived program starts hooks, the agent is the nearest ancestor
that two hooks of the session share. A hook outside the process tree of a living session cannot claim that session.
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
"""Short-lived programs between an agent and its children."""

MOST_SESSIONS: Final = 256


class AgentSession(NamedTuple):
    """An agent session; for a subagent, the session of its parent."""

    agent: str
    session: str


class SessionHome(NamedTuple):
    """Process in which an agent session runs, with turn and model of its last hook."""

    process: ProcessId
    turn: str = ""
    model: str = ""
    above: tuple[ProcessId, ...] = ()  # candidates for the agent's process, until a second hook decides


class HookTold(NamedTuple):
    who: AgentSession
    chain: Sequence[Process]  # the hook's own process and its ancestors
    moment: str  # `moment` of the tool `native`
    turn: str = ""
    model: str = ""


class AgentProcesses(msgspec.Struct, frozen=True):
    """Immutable table: one process for each session."""

    homes: Mapping[AgentSession, SessionHome] = {}  # in order of the last hook call

    def told(self, hook: HookTold, ended: Callable[[ProcessId], bool]) -> AgentProcesses:
        """Return the table after a hook's call; the same if the hook is outside the session's process tree
        (`belongs`).
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
            home, above = known.process, ()  # another child of the agent called the hook
        elif known is not None and (common := next((one for one in above if one in known.above), None)) is not None:
            home, above = common, ()  # the known process was a short-lived parent of a hook, and has ended
        turn = hook.turn if hook.turn or hook.moment == "turn" or known is None else known.turn
        model = hook.model or (known.model if known is not None else "")
        surplus = max(0, len(others) + 1 - MOST_SESSIONS)
        kept = dict(islice(others.items(), surplus, None))
        return AgentProcesses({**kept, hook.who: SessionHome(home, turn, model, above)})

    def belongs(self, who: AgentSession, chain: Sequence[Process], ended: Callable[[ProcessId], bool]) -> bool:
        """Return True if the session's process is among these ancestors, has ended, or is unknown."""
        home = self.homes.get(who)
        return home is None or home.process in map(_id, chain) or ended(home.process)

    def session_of(self, chain: Sequence[Process], agent: str = "") -> AgentSession | None:
        """Return the agent session to which a process belongs, by its ancestors `chain`; None if unknown. With `agent`
        (of an MCP server), the nearest process that is not a launcher must run a session of that agent. Without it, the
        nearest process with a session decides, up to an interactive shell.
        """
        newest = {home.process: who for who, home in self.homes.items()}
        if agent:
            process = agent_process(chain)
            found = newest.get(_id(process)) if process is not None else None
            return found if found is not None and found.agent == agent else None
        return next((newest[_id(one)] for one in _within_reach(chain) if _id(one) in newest), None)


def agent_process(chain: Sequence[Process]) -> Process | None:
    """Return the nearest ancestor of `chain[0]` that is not a launcher; None if an interactive shell or process 1 comes
    first.
    """
    return next((one for one in _within_reach(chain) if not _launches(one)), None)


def _able(chain: Sequence[Process]) -> tuple[ProcessId, ...]:
    return tuple(_id(one) for one in _within_reach(chain) if not _launches(one))


def _within_reach(chain: Sequence[Process]) -> list[Process]:
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
