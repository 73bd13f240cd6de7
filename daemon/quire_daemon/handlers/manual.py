"""`manual`: what an agent is told about a tool before it uses it; for its system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.dialects import DIALECTS
from quire_daemon.handlers.base import Decision, Tool, World
from quire_daemon.manuals import apply_patch, delete_file, move_file, read_file, write_file
from quire_daemon.manuals.filling import filled
from quire_journal.refusals import Refused

MOST_SHOWN: Final = 80
"""Characters of an unknown name that a refusal repeats."""

MANUALS: Final[dict[str, str]] = {name: dialect.manual for name, dialect in DIALECTS.items()} | {
    "apply_patch": apply_patch.MANUAL,
    "read_file": read_file.MANUAL,
    "write_file": write_file.MANUAL,
    "delete_file": delete_file.MANUAL,
    "move_file": move_file.MANUAL,
}
"""Tool → its manual: the dialects, and the tools beside them that agents edit with."""


class ManualParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `manual`."""

    dialect: str | None = None  # a tool; None: all of them


def decide(params: ManualParams, world: World) -> Decision:
    """One manual, or all of them behind a list. Raises `Refused` for a tool that has none."""
    manuals = {name: filled(text, world.settings) for name, text in MANUALS.items()}
    listed = [{"name": name, "about": about(text)} for name, text in manuals.items()]
    if params.dialect is None:
        message = f"The manuals of {len(manuals)} tools."
        return _told(message, _all(manuals, listed), None, listed)
    if params.dialect not in manuals:
        message = f"There is no manual of {params.dialect[:MOST_SHOWN]!r}; there are {', '.join(manuals)}."
        raise Refused("not_found", message, "choose_dialect", argument="dialect", dialects=listed)
    return _told(f"The manual of {params.dialect}.", manuals[params.dialect], params.dialect, listed)


def about(manual: str) -> str:
    """What a tool does in one line, as the heading of its manual says it behind the name."""
    heading, _, _ = manual.partition("\n")
    return heading.partition(": ")[2]


def _all(manuals: dict[str, str], listed: Sequence[dict[str, str]]) -> str:
    rows = "\n".join(f"- `{row['name']}`: {row['about']}" for row in listed)
    return "\n".join([f"# Tools\n\n{rows}\n", *manuals.values()])


def _told(message: str, manual: str, dialect: str | None, listed: Sequence[dict[str, str]]) -> Decision:
    reply: dict[str, Any] = {"ok": True, "message": message, "manual": manual, "dialect": dialect, "dialects": listed}
    return Decision(reply)


MANUAL_TOOL: Final = Tool(name="manual", params=ManualParams, paths=lambda params: (), decide=decide)
