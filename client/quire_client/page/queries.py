"""The tools and arguments that the page may request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from quire_client.calls import Answer
from quire_journal.model import Refusal


def _flag(text: str) -> bool:
    if text not in ("1", "0", "true", "false"):
        raise ValueError(text)
    return text in ("1", "true")


def whole(text: str) -> int:
    """Return the whole number, of at most 18 digits. Raises ValueError."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise ValueError(text)
    return int(text)


Reads = Callable[[str], Any]

_WHOSE: Final[Mapping[str, Reads]] = {"writer": str, "agent_session": str, "turn": str}
_STRETCH: Final[Mapping[str, Reads]] = {"since": str, "until": str}

QUERIES: Final[Mapping[str, Mapping[str, Reads]]] = {
    "status": {},
    "stories": {"path": str, **_WHOSE, "agents": _flag, **_STRETCH, "all": _flag, "limit": whole, "cursor": str},
    "log": {
        "path": str,
        **_WHOSE,
        "agent": str,
        "kind": str,
        **_STRETCH,
        "burst": whole,
        "contains": str,
        "text_changed": str,
        "stat": _flag,
        "limit": whole,
        "order": str,
        "cursor": str,
    },
    "lanes": {**_STRETCH, "buckets": whole, "by": str, "limit": whole},
    "show": {"version": str, "path": str, "start_line": whole},
    "diff": {
        "from": str,
        "to": str,
        "paths": str,
        "context": whole,
        "ignore_space": _flag,
        **_WHOSE,
        "cursor": str,
    },
    "blame": {"path": str, "at": str, "start_line": whole, "end_line": whole, "writer": str},
    "why": {"path": str, "line": whole, "at": str},
    "tree": {"at": str, "path": str, "cursor": whole},
    "review": {"path": str, "writer": str, "turn": str, "since": str, "all": _flag},
    "who": {"present": _flag, "minutes": float, "hours": float, "limit": whole},
    "claims": {"path": str},
    "checkpoint": {"action": str, "name": str},
    "op_status": {"op": str},
}
"""Tools that the page may call and that change no file: for each, its arguments with their parsers."""

SEVERAL: Final = frozenset({"paths", "kind"})
CHANGES: Final = ("undo", "redo", "rollback", "restore")
"""Tools that undo changes: the first request returns a plan, the second executes it by token."""

MARKS: Final = ("accept", "reject")
"""Tools that mark what a review showed: `redo` brings back what a reject took."""

QUERY_S: Final = 5.0
CHANGE_S: Final = 60.0

MOST_REPLY: Final = 8 << 20


def arguments_of(tool: str, given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return a tool's arguments from an address's parameters. Raises Refusal for an unknown tool or argument."""
    known = QUERIES.get(tool)
    if known is None:
        raise Refusal("unknown_tool", f"There is no query {tool[:40]!r}.")
    found: dict[str, Any] = {}
    for name, text in given:
        read = known.get(name)
        if read is None or (name in found and name not in SEVERAL):
            raise Refusal("schema_invalid", f"{tool}: {name[:40]!r} is unknown, or said twice.", argument=name[:40])
        try:
            value = read(text)
        except ValueError:
            message = f"{tool}: {name} cannot be {text[:40]!r}."
            raise Refusal("schema_invalid", message, argument=name) from None
        if name in SEVERAL:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    if tool == "checkpoint" and found.get("action") not in ("list", "show"):
        raise Refusal("schema_invalid", "checkpoint: action is list or show.", argument="action")
    return found


def change_of(tool: str, body: object) -> dict[str, Any]:
    """Return the arguments of a tool that undoes changes (`CHANGES`), or accepts or rejects them (`MARKS`), from a
    request's body.

    Raises Refusal for another tool, unless the body asks for a plan or has a plan's token, and for `MARKS` without
    `upto`.
    """
    if tool not in (*CHANGES, *MARKS):
        raise Refusal("unknown_tool", f"There is no change {tool[:40]!r}.")
    if not isinstance(body, Mapping) or not all(isinstance(name, str) for name in body):
        raise Refusal("schema_invalid", f"{tool}: the body is an object.")
    if tool in MARKS:
        if not isinstance(body.get("upto"), int):
            raise Refusal("schema_invalid", f"{tool}: say by `upto` which review was read.", argument="upto")
        return dict(body)
    planned = body.get("plan") is True and "token" not in body
    carried_out = isinstance(body.get("token"), str) and not body.get("plan")
    if not planned and not carried_out:
        raise Refusal("schema_invalid", f"{tool}: ask for its plan first, then carry it out by the token.")
    return dict(body)


def bounded(answer: Answer, size: int) -> Answer:
    if size <= MOST_REPLY:
        return answer
    message = f"The answer has {size:,} bytes, more than the page takes; ask for less of it."
    return Refusal("file_too_large", message, "narrow_the_choice").reply()
