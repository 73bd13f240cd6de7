"""`manual`: what an agent is told about a tool before it uses it; for its system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.dialects import DIALECTS
from quire_daemon.dialects.manuals import apply_patch, delete_file, filled, move_file, read_file, write_file, writing
from quire_journal.model import Refusal, did_you_mean

MOST_SHOWN: Final = 80
"""Characters of an unknown name that a refusal repeats."""

MANUALS: Final[dict[str, str]] = {name: dialect.manual for name, dialect in DIALECTS.items()} | {
    "apply_patch": apply_patch.APPLY_PATCH_MANUAL,
    "read_file": read_file.READ_FILE_MANUAL,
    "write_file": write_file.WRITE_FILE_MANUAL,
    "delete_file": delete_file.DELETE_FILE_MANUAL,
    "move_file": move_file.MOVE_FILE_MANUAL,
}
"""Tool → its manual: the dialects, and the tools beside them that agents edit with."""


class ManualParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `manual`."""

    dialect: str | None = None  # a tool, or `writing` for what all that write have in common; None: all of them


def decide(params: ManualParams, world: World) -> Decision:
    """One manual, or all of them behind a list. Raises `Refusal` for a tool that has none."""
    return Decision(answer(params.dialect, world.settings))


def answer(dialect: str | None, settings: Settings) -> dict[str, Any]:
    """The reply. A single manual says what holds for all writing tools, too; of all of them it stands before them."""
    manuals = {name: filled(text, settings) for name, text in MANUALS.items()}
    listed = [{"name": name, "about": about(text)} for name, text in manuals.items()]
    if dialect is None:
        return _told(f"The manuals of {len(manuals)} tools.", _all(manuals, listed), None, listed)
    if dialect == writing.NAME:
        return _told("What every writing tool takes.", writing.WRITING_MANUAL, dialect, listed)
    if dialect not in manuals:
        names = [*manuals, writing.NAME]
        nearest = did_you_mean(dialect, names)
        message = f"There is no manual of {dialect[:MOST_SHOWN]!r}; there are {', '.join(names)}.{nearest}"
        raise Refusal("not_found", message, "choose_dialect", argument="dialect", dialects=listed)
    return _told(f"The manual of {dialect}.", writing.below(manuals[dialect], dialect), dialect, listed)


def about(manual: str) -> str:
    """What a tool does in one line, as the heading of its manual says it behind the name."""
    heading, _, _ = manual.partition("\n")
    return heading.partition(": ")[2]


def _all(manuals: dict[str, str], listed: Sequence[dict[str, str]]) -> str:
    common = {"name": writing.NAME, "about": about(writing.WRITING_MANUAL)}
    rows = "\n".join(f"- `{row['name']}`: {row['about']}" for row in [common, *listed])
    return "\n".join([f"# Tools\n\n{rows}\n", writing.WRITING_MANUAL, *manuals.values()])


def _told(message: str, manual: str, dialect: str | None, listed: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {"ok": True, "message": message, "manual": manual, "dialect": dialect, "dialects": listed}


MANUAL_TOOL: Final[Tool[ManualParams]] = Tool(name="manual", params=ManualParams, paths=no_paths, decide=decide)
