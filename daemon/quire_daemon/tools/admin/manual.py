"""`manual`: what an agent is told about a tool before it uses it; for its system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import Decision, Tool, World, no_paths
from quire_daemon.core.replies import ManualReply
from quire_daemon.dialects import DIALECTS
from quire_daemon.manuals import page
from quire_daemon.tools.admin.placeholders import filled
from quire_journal.model import Refusal, did_you_mean

MOST_SHOWN: Final = 80
"""Characters of an unknown name that a refusal repeats."""

EDITING: Final = (*DIALECTS, "apply_patch", "read_file", "write_file", "delete_file", "move_file")
"""The tools that have a manual: the dialects, and those beside them that agents edit with."""

WRITING: Final = "writing"
"""The manual of what all writing tools have in common."""


_CHANGED: Final = "{{changed}}"


class ManualParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `manual`."""

    dialect: str | None = None  # a tool, or `writing` for what all that write have in common; None: all of them


def decide(params: ManualParams, world: World) -> Decision:
    """One manual, or all of them behind a list. Raises `Refusal` for a tool that has none."""
    return Decision(answer(params.dialect, world.settings))


def answer(dialect: str | None, settings: Settings) -> dict[str, Any]:
    """The reply. A single manual says what holds for all writing tools, too; of all of them it stands before them."""
    listed = [{"name": name, "about": page(name).about} for name in EDITING]
    if dialect is None:
        return _told(f"The manuals of {len(EDITING)} tools.", _all(settings, listed), None, listed)
    if dialect == WRITING:
        return _told("What every writing tool takes.", _writing(), dialect, listed)
    if dialect not in EDITING:
        names = [*EDITING, WRITING]
        nearest = did_you_mean(dialect, names)
        message = f"There is no manual of {dialect[:MOST_SHOWN]!r}; there are {', '.join(names)}.{nearest}"
        raise Refusal("not_found", message, "choose_dialect", argument="dialect", dialects=listed)
    return _told(f"The manual of {dialect}.", _alone(dialect, settings), dialect, listed)


def _all(settings: Settings, listed: Sequence[dict[str, str]]) -> str:
    common = {"name": WRITING, "about": page(WRITING).about}
    rows = "\n".join(f"- `{row['name']}`: {row['about']}" for row in [common, *listed])
    return "\n".join([f"# Tools\n\n{rows}\n", _writing(), *(filled(page(name).text, settings) for name in EDITING)])


def _writing() -> str:
    """What all writing tools have in common, with a table of what a change by others means to each."""
    tools: dict[str, list[str]] = {}
    for name in EDITING:
        tools.setdefault(page(name).changed, []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {changed} |\n" for changed, names in tools.items() if changed]
    table = "| Tool | When another writer changed the file since |\n|---|---|\n" + "".join(rows)
    return page(WRITING).text.replace(_CHANGED, f"\n{table}\n")


def _alone(tool: str, settings: Settings) -> str:
    """The manual of `tool`, and below it what holds for all writing tools; of one that does not write, as it is."""
    manual, changed = filled(page(tool).text, settings), page(tool).changed
    if not changed:
        return manual
    common = (
        page(WRITING)
        .text.partition("\n\n")[2]
        .replace(_CHANGED, f"- Another writer changed the file since: {changed}.\n")
    )
    return f"{manual}\n## What every writing tool takes\n\n{common}"


def _told(message: str, manual: str, dialect: str | None, listed: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {"ok": True, "message": message, "manual": manual, "dialect": dialect, "dialects": listed}


MANUAL_TOOL: Final[Tool[ManualParams]] = Tool(
    name="manual", params=ManualParams, paths=no_paths, decide=decide, reply=ManualReply
)
