"""The common form of all agents' hook events, and of the answers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from quire_client.hooks.fields import Fields, one_path, replaced, span, text
from quire_client.hooks.payloads import Payload, written

MOMENTS: Final = ("start", "turn", "before", "after", "read", "end", "session_end")
"""Kinds of events: a session starts, a turn starts, before a write, after a write, after a read, a turn ends, a
session ends.
"""


IN_BACKGROUND: Final = ("run_in_background", "is_background")
"""Argument names by which agents' shell tools start a command in the background."""


class Intent(NamedTuple):
    """One hook event of an agent, in the form that is the same for all agents."""

    event: str  # as the agent calls it; the answer repeats it
    moment: str  # see MOMENTS
    session: str = ""
    turn: str = ""
    call: str = ""  # the id of the tool call
    model: str = ""
    folder: str = ""  # that relative paths start from
    tool: str = ""
    paths: tuple[str, ...] = ()  # as the agent gives them; none: a command that may write anything
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
    """The answer to a hook event, in the form that is the same for all agents."""

    allow: bool = True
    reason: str = ""  # for the agent: why not
    notice: str = ""  # for the agent: what it should know
    warning: str = ""  # for the person: what is wrong with Quire
    environment: Mapping[str, str] = {}  # for the agent's shell, so that git and `quire` say there who runs them
    ask: bool = False  # not allowed unless the person allows it; an agent that cannot ask takes it for a denial


class Agent(NamedTuple):
    """The translator of one agent's hook JSON into an `Intent`, and of an `Outcome` into its answer as JSON."""

    name: str
    understand: Callable[[Mapping[str, Any]], Intent | None]  # None: this event is none of ours
    answer: Callable[[Intent, Outcome], dict[str, Any]]
    greeting: Callable[[str, str], dict[str, Any]]  # (session, folder) → the event with which a session begins
    rereads: bool = True  # what it reads is told, too
    env_file: str = ""  # the variable that names a file of lines for its shell, when a session begins


class Tools(NamedTuple):
    edits: tuple[str, ...]
    whole: tuple[str, ...]  # of the edits: those that write whole files
    commands: tuple[str, ...]
    reads: tuple[str, ...]


def with_tool(intent: Intent, kind: str, told: Fields, tools: Tools, has_read: bool) -> Intent | None:
    """Return `intent` completed by the call of tool `kind` with the arguments `told`.

    Returns None for a tool that is neither edit, command nor read, and for a read that has not happened yet
    (`has_read`).
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
