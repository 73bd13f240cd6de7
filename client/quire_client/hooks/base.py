"""Common form of all agents' hook events, and of the answers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from quire_client.hooks.fields import Fields, one_path, replaced, span, text
from quire_client.hooks.payloads import Payload, written

MOMENTS: Final = ("start", "turn", "before", "after", "read", "end", "session_end")
"""Kinds of events: session start, turn start, before a write, after a write, after a read, turn end, session end."""


IN_BACKGROUND: Final = ("run_in_background", "is_background")
"""Argument names by which agents' shell tools start a command in the background."""


class Intent(NamedTuple):
    """One hook event of an agent, in a form common to all agents."""

    event: str  # the agent's name for the event, which the answer repeats
    moment: str  # see MOMENTS
    session: str = ""
    turn: str = ""
    call: str = ""  # the id of the tool call
    model: str = ""
    folder: str = ""  # base of relative paths
    tool: str = ""
    paths: tuple[str, ...] = ()  # as the agent spells them; none: a command that may write any file
    whole: bool = False  # whole files are written
    replaces: tuple[str, ...] = ()  # the texts that an edit replaces
    ok: bool = True
    start_line: int | None = None
    end_line: int | None = None
    parent: str = ""  # of a subagent: the session that started it
    payloads: tuple[Payload, ...] = ()  # with paths as the agent gives them
    command: str = ""  # the command line of a shell call
    prompt: str = ""  # of a turn
    transcript: str = ""  # the file in which the agent keeps the conversation


class Outcome(NamedTuple):
    """Answer to a hook event, in a form common to all agents."""

    allow: bool = True
    reason: str = ""  # for the agent: why its call is denied
    notice: str = ""  # for the agent: news about its files
    warning: str = ""  # for the user: a fault of Quire
    environment: Mapping[str, str] = {}  # variables for the agent's shell, by which git and `quire` name the agent
    ask: bool = False  # denied unless the user permits it; denied by an agent that cannot ask


class Agent(NamedTuple):
    """Translator of one agent's hook JSON into an `Intent`, and of an `Outcome` into the agent's answer as JSON."""

    name: str
    understand: Callable[[Mapping[str, Any]], Intent | None]  # None: the event does not concern Quire
    answer: Callable[[Intent, Outcome], dict[str, Any]]
    greeting: Callable[[str, str], dict[str, Any]]  # (session, folder) → the event with which a session begins
    rereads: bool = True  # the agent also reports its reads
    env_file: str = ""  # variable with the path of a file of shell lines, at the start of a session


class Tools(NamedTuple):
    edits: tuple[str, ...]
    whole: tuple[str, ...]  # of the edits: those that write whole files
    commands: tuple[str, ...]
    reads: tuple[str, ...]


def with_tool(intent: Intent, kind: str, told: Fields, tools: Tools, has_read: bool) -> Intent | None:
    """Return the event `intent` with the fields of a call of the agent's tool `kind` with arguments `told`; None if the
    tool neither edits, runs a command nor reads. A read counts only with `has_read`.
    """
    if kind in tools.commands:
        command = text(told, "command")
        left = command and any(told.get(name) is True for name in IN_BACKGROUND)
        return intent._replace(command=f"{command} &" if left else command)
    paths = one_path(told)
    if kind in tools.edits and paths:
        payloads = written(paths[0], told)
        return intent._replace(paths=paths, whole=kind in tools.whole, replaces=replaced(told), payloads=payloads)
    if kind in tools.reads and paths and has_read:
        start, end = span(told)
        return intent._replace(moment="read", paths=paths, start_line=start, end_line=end)
    return None
