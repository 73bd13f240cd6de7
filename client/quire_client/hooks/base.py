"""What an agent's hook means, whichever agent it is, and what it may be answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

MOMENTS: Final = ("start", "turn", "before", "after", "read", "end")
"""An agent session or a turn begins; one of its own tools is about to write, has written, has read; something ends."""


class Intent(NamedTuple):
    """One event of an agent, in Quire's words."""

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


class Outcome(NamedTuple):
    """What comes of it."""

    allow: bool = True
    reason: str = ""  # for the agent: why not
    notice: str = ""  # for the agent: what it should know
    warning: str = ""  # for the person: what is wrong with Quire
    environment: Mapping[str, str] = {}  # for the agent's shell, so that git and `quire` say there who runs them


class Agent(NamedTuple):
    """An agent's language."""

    name: str
    understand: Callable[[Mapping[str, Any]], Intent | None]  # None: this event is none of ours
    answer: Callable[[Intent, Outcome], dict[str, Any]]
    greeting: Callable[[str, str], dict[str, Any]]  # (session, folder) → the event with which a session begins
    rereads: bool = True  # what it reads is told, too
    env_file: str = ""  # the variable that names a file of lines for its shell, when a session begins


Fields = Mapping[str, Any]


class Tools(NamedTuple):
    """How an agent calls its own tools, of each kind."""

    edits: tuple[str, ...]
    whole: tuple[str, ...]  # of the edits: those that write whole files
    commands: tuple[str, ...]
    reads: tuple[str, ...]


def with_tool(intent: Intent, kind: str, told: Fields, tools: Tools, has_read: bool) -> Intent | None:
    """What a call of the tool `kind` means; None where it is none of ours, or a read that is not over (`has_read`)."""
    if kind in tools.commands:
        return intent
    paths = one_path(told)
    if kind in tools.edits and paths:
        return intent._replace(paths=paths, whole=kind in tools.whole, replaces=replaced(told))
    if kind in tools.reads and paths and has_read:
        start, end = span(told)
        return intent._replace(moment="read", paths=paths, start_line=start, end_line=end)
    return None


def text(fields: Fields, *names: str) -> str:
    """The first of these fields that holds a text; "" when none does."""
    for name in names:
        found = fields.get(name)
        if isinstance(found, str) and found:
            return found
    return ""


def number(fields: Fields, *names: str) -> int | None:
    """The first of these fields that holds a whole number."""
    for name in names:
        found = fields.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
    return None


def fields(of: Fields, *names: str) -> Fields:
    """The first of these fields that is an object; an empty one when none is."""
    for name in names:
        found = of.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def texts(items: Any, *names: str) -> tuple[str, ...]:
    """That text of each object of a list."""
    if not isinstance(items, Sequence) or isinstance(items, str):
        return ()
    found = (text(item, *names) for item in items if isinstance(item, Mapping))
    return tuple(one for one in found if one)


def span(of: Fields, first: str = "offset", count: str = "limit") -> tuple[int | None, int | None]:
    """(first line, last line) of a read that says where it begins, 1-based, and how many lines it takes."""
    start, lines = number(of, first), number(of, count)
    start = None if start is None or start < 1 else start
    end = None if lines is None or lines < 1 else (start or 1) + lines - 1
    return start, end


PATH_NAMES: Final = (
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "target_notebook",
)
"""How agents call the file that a tool is about."""

OLD_NAMES: Final = ("old_string", "oldString", "old_text", "oldText", "old_str")
"""How they call the text that an edit replaces."""


def one_path(of: Fields) -> tuple[str, ...]:
    """The file that a tool is about, if it names one."""
    path = text(of, *PATH_NAMES)
    return (path,) if path else ()


def replaced(of: Fields) -> tuple[str, ...]:
    """The texts that an edit replaces."""
    one = text(of, *OLD_NAMES)
    return (one,) if one else texts(of.get("edits"), *OLD_NAMES)
