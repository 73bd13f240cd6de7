"""Presence of callers for `who`, in memory: their connections, last calls and last files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from quire_daemon.clock import Clock
from quire_daemon.core import Present, Who
from quire_daemon.ops import ProcessId, ProcessTree, pid_start
from quire_daemon.server import Connections
from quire_journal.model import SETUP, WriterIntroduced

MOST_CALLERS: Final = 1000
MOST_FILES: Final = 8

TURN_NS: Final = 900_000_000_000
"""Nanoseconds without a call after which a turn counts as ended: an agent that is interrupted tells no end."""

MOST_LINES: Final = 64


class _Caller(msgspec.Struct):
    called_ns: int = 0
    process: WriterIntroduced | None = None  # process of the last call
    lines: dict[bytes, None] = msgspec.field(default_factory=dict)  # its connections, the newest last
    hooks: bool = False  # True after a call by an agent's hook
    agent: ProcessId | None = None  # the agent's own process, where it is known
    ended: bool = False  # the agent session has ended
    in_turn: bool = False  # as its hooks tell
    files: dict[str, int] = msgspec.field(default_factory=dict)  # path → when, the newest last


class Presence:
    """The callers since the daemon's start, in order of their last call."""

    def __init__(self, connections: Connections, clock: Clock, tree: ProcessTree) -> None:
        self._connections, self._clock, self._tree = connections, clock, tree
        self._callers: dict[bytes, _Caller] = {}
        self._keys: dict[bytes, bytes] = {}  # connection → the caller that used it last

    def called(
        self,
        who: Who,
        connection: bytes,
        process: WriterIntroduced,
        by_hook: bool = False,
        agent: ProcessId | None = None,
    ) -> None:
        """Record a call of `who`. `by_hook`: an agent's hook made it; `agent`: process of the caller's session. Calls
        of `quire setup` are ignored.
        """
        if who.agent == SETUP:
            return
        caller = self._callers.pop(who.key, None) or _Caller()
        self._callers[who.key] = caller
        caller.called_ns, caller.process = self._clock.now_ns(), process
        caller.hooks, caller.agent, caller.ended = caller.hooks or by_hook, agent or caller.agent, False
        self._hang_up(connection)
        caller.lines[connection] = None
        self._keys[connection] = who.key
        if len(caller.lines) > MOST_LINES:
            self._hang_up(next(iter(caller.lines)))
        if len(self._callers) > MOST_CALLERS:
            self._drop_lines(self._callers.pop(next(iter(self._callers))))

    def ended(self, who: Who) -> None:
        caller = self._callers.get(who.key)
        if caller is not None:
            caller.ended = True
            self._drop_lines(caller)

    def at_moment(self, who: Who, moment: str) -> None:
        """Record whether the caller is in a turn: yes if the moment that an agent's hook reports is "turn" or "before",
        unchanged if "after", else no.
        """
        caller = self._callers.get(who.key)
        if caller is not None and moment != "after":
            caller.in_turn = moment in ("turn", "before")

    def named(self, who: Who, paths: Iterable[str]) -> None:
        caller = self._callers.get(who.key)
        if caller is None:
            return
        for path in paths:
            caller.files.pop(path, None)
            caller.files[path] = self._clock.now_ns()
            if len(caller.files) > MOST_FILES:
                del caller.files[next(iter(caller.files))]

    def _hang_up(self, connection: bytes) -> None:
        caller = self._callers.get(self._keys.pop(connection, b""))
        if caller is not None:
            caller.lines.pop(connection, None)

    def _drop_lines(self, caller: _Caller) -> None:
        for connection in caller.lines:
            del self._keys[connection]
        caller.lines.clear()

    def now(self) -> Mapping[bytes, Present]:
        """Return caller key → presence of every caller, after a test which connections still exist."""
        return {key: self._present(caller) for key, caller in self._callers.items()}

    def _present(self, caller: _Caller) -> Present:
        for line in list(caller.lines):
            if not self._connections.reaches(line):
                self._hang_up(line)
        process = caller.process
        alive = None
        if process is not None and process.pid and process.pid_start and not caller.hooks:
            alive = pid_start(process.pid) == process.pid_start
        if caller.agent is not None:
            alive = not self._tree.has_ended(caller.agent)
        gone = caller.ended or (caller.agent is not None and not alive)
        files = tuple(reversed(caller.files.items()))
        in_turn = caller.in_turn and self._clock.now_ns() - caller.called_ns < TURN_NS
        return Present(caller.called_ns, len(caller.lines), alive, files, caller.hooks, gone, in_turn)
