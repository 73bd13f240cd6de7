"""Which agent session is at work in which process: folded from the calls of agents' hooks. Pure.

Theory of operation. A hook names its session, and the kernel names the hook's ancestors. The nearest ancestor that is
no launcher (a shell, `uv`, Codex's `node`) is the agent's own process; the agent's MCP server and commands have that
process above them, too, and get the session if they name none. A hook may be started by a short-lived program of the
user's: the agent is then the nearest common ancestor of two hooks of the session. A hook from elsewhere that names the
session of a living process proves nothing.
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
"""Maximum number of agent sessions that are remembered."""


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
    """The table, as a value: one process for each session, and the last reported session of each process."""

    homes: Mapping[AgentSession, SessionHome] = {}  # the one that was heard of last is last

    def told(self, hook: HookTold, ended: Callable[[ProcessId], bool]) -> AgentProcesses:
        """The table after a hook's call; unchanged for a hook from outside the session's process tree (`belongs`).
        `ended`: whether a process has ended.
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
        """True if a hook with these ancestors is of the process tree of the session, or the session has no living
        process.
        """
        home = self.homes.get(who)
        return home is None or home.process in map(_id, chain) or ended(home.process)

    def session_of(self, chain: Sequence[Process], agent: str = "") -> AgentSession | None:
        """The agent session that a process with these ancestors works for, or None.

        A server says which `agent` it serves, whose process must match. A command belongs to the nearest agent above,
        up to a terminal at which a person types.
        """
        newest = {home.process: who for who, home in self.homes.items()}
        if agent:
            process = agent_process(chain)
            found = newest.get(_id(process)) if process is not None else None
            return found if found is not None and found.agent == agent else None
        return next((newest[_id(one)] for one in _within_reach(chain) if _id(one) in newest), None)


def agent_process(chain: Sequence[Process]) -> Process | None:
    """The process of the agent that started the first one of `chain`, or None."""
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
