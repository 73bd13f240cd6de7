"""Answers hooks in a long-lived process: the agent's MCP server, or the helper of its plugin.

Such a process creates a file named after the agent's pid, by which the hook command knows that it has nothing to do.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quire_client.hooks.base import Intent
from quire_client.hooks.relay import Connected, Surroundings, answer_to, connection, running
from quire_client.hooks.table import agent
from quire_client.setup import OBJECTS, SERVING

if TYPE_CHECKING:
    from quire_client.transport import Quick
    from quire_journal.workspaces import Place

MOST_LINES: Final = 64

# ── what is asked ────────────────────────────────────────────────────────────


def event_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hook event that the agent passes as arguments of the MCP tool for events. An argument's name is the
    path of the event's field, such as `tool_input` or `a.b`.
    """
    event: dict[str, Any] = {}
    for name, value in arguments.items():
        if value == "":
            continue
        if name in OBJECTS and isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                continue
        whole, _, part = name.partition(".")
        if part and isinstance(event.setdefault(whole, {}), dict):
            event[whole][part] = value
        elif not part:
            event[whole] = value
    return event


class Answerer:
    """Answers the hook events of one agent process over open connections to daemons. Thread-safe."""

    def __init__(
        self, name: str, where: Surroundings, connect: Connected | None = None, running: Connected | None = None
    ) -> None:
        self._speaks = agent(name)
        self._where = where
        self._lines = Lines(connect or connection)
        self._running = running
        self._sessions: dict[str, Intent] = {}  # open sessions, each with its last event

    def answer(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON answer to an event. An internal error becomes a warning and never stops the agent."""
        try:
            intent = self._speaks.understand(event_of(arguments))
            if intent is None:
                return {}
            self._sessions[intent.session] = intent
            answer = answer_to(self._speaks, intent, self._where, self._lines)
        except Exception as error:
            if os.environ.get("QUIRE_TRACEBACK"):
                raise
            return {"systemMessage": f"Quire could not answer a hook: {type(error).__name__}: {error}"}
        if intent.moment == "session_end":
            self._lines.drop(intent.session)
            self._sessions.pop(intent.session, None)
        return answer

    def part(self) -> None:
        """Tell the running daemons, after the agent has ended, that its open sessions have ended."""
        for last in self._sessions.values():
            end = Intent(last.event, "session_end", last.session, folder=last.folder, parent=last.parent)
            with contextlib.suppress(Exception):  # the agent has ended: nobody can be warned
                answer_to(self._speaks, end, self._where, self._running or running)

    def close(self) -> None:
        self._lines.close()


class Lines:
    def __init__(self, connect: Connected = connection) -> None:
        self._connect = connect
        self._free: OrderedDict[tuple[Place, str], list[Quick]] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def __call__(self, place: Place, caller: Mapping[str, str], until: float) -> Iterator[Quick]:
        key = place, caller.get("agent_session", "")
        line = self._kept(key, caller, until) or self._connect(place, caller, until)
        try:
            yield line
        except BaseException:
            line.close()
            raise
        self._keep(key, line)

    def _kept(self, key: tuple[Place, str], caller: Mapping[str, str], until: float) -> Quick | None:
        while True:
            with self._lock:
                free = self._free.get(key)
                line = free.pop() if free else None
            if line is None or line.renew(caller, until):
                return line
            line.close()

    def _keep(self, key: tuple[Place, str], line: Quick) -> None:
        given_up: list[Quick] = []
        with self._lock:
            if self._closed:
                given_up = [line]
            else:
                self._free.setdefault(key, []).append(line)
                self._free.move_to_end(key)
                if len(self._free) > MOST_LINES:
                    given_up = self._free.popitem(last=False)[1]
        for one in given_up:
            one.close()

    def drop(self, session: str) -> None:
        with self._lock:
            given_up = [line for key in [*self._free] if key[1] == session for line in self._free.pop(key)]
        for line in given_up:
            line.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            given_up = [line for lines in self._free.values() for line in lines]
            self._free.clear()
        for line in given_up:
            line.close()


# ── whether somebody answers ─────────────────────────────────────────────────


def marker(process: int) -> Path:
    """Return the path of the file that announces a resident process for the agent with this pid."""
    from quire_journal.workspaces import state_home

    return state_home() / SERVING / str(process)


@contextlib.contextmanager
def serving(process: int) -> Iterator[None]:
    """Announce, within the context, that this process answers the hooks of the agent with pid `process`."""
    from quire_journal.workspaces import WorkspaceRefused, make_private_folder

    file = marker(process)
    said = False
    with contextlib.suppress(OSError, WorkspaceRefused):
        make_private_folder(file.parent)
        _forget_ended(file.parent)
        new = file.with_name(f"{process}.{os.getpid()}")
        new.write_text(f"{os.getpid()}\n", "ascii")
        new.replace(file)
        said = True
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if said and file.read_text("ascii") == f"{os.getpid()}\n":  # another resident process may have replaced it
                file.unlink()


def _forget_ended(folder: Path) -> None:
    for file in folder.iterdir():
        with contextlib.suppress(OSError, ValueError):
            try:
                os.kill(int(file.read_text("ascii")), 0)
            except ProcessLookupError:
                file.unlink()
