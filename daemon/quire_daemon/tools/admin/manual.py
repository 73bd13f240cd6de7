"""`manual`: instructions for agents about a tool, for their system prompts."""

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

EDITING: Final = (*DIALECTS, "apply_patch", "read_file", "write_file", "delete_file", "move_file")

WRITING: Final = "writing"


_CHANGED: Final = "{{changed}}"


class ManualParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dialect: str | None = None  # a tool, or `writing` for the common part; None: all manuals


def decide(params: ManualParams, world: World) -> Decision:
    """Return one manual, or all after a list of them. Raises `Refusal` for a tool without a manual."""
    return Decision(answer(params.dialect, world.settings))


def answer(dialect: str | None, settings: Settings) -> dict[str, Any]:
    """Return the reply of `manual` for one tool, or for all (None). The part common to all tools follows a single
    manual, and precedes the complete set.
    """
    listed = [{"name": name, "about": page(name).about} for name in EDITING]
    if dialect is None:
        return _reply(f"The manuals of {len(EDITING)} tools.", _all(settings, listed), None, listed)
    if dialect == WRITING:
        return _reply("What every writing tool takes.", _writing(), dialect, listed)
    if dialect not in EDITING:
        names = [*EDITING, WRITING]
        nearest = did_you_mean(dialect, names)
        message = f"There is no manual of {dialect[:MOST_SHOWN]!r}; there are {', '.join(names)}.{nearest}"
        raise Refusal("not_found", message, "choose_dialect", argument="dialect", dialects=listed)
    return _reply(f"The manual of {dialect}.", _alone(dialect, settings), dialect, listed)


def _all(settings: Settings, listed: Sequence[dict[str, str]]) -> str:
    common = {"name": WRITING, "about": page(WRITING).about}
    rows = "\n".join(f"- `{row['name']}`: {row['about']}" for row in [common, *listed])
    return "\n".join([f"# Tools\n\n{rows}\n", _writing(), *(filled(page(name).text, settings) for name in EDITING)])


def _writing() -> str:
    tools: dict[str, list[str]] = {}
    for name in EDITING:
        tools.setdefault(page(name).changed, []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {changed} |\n" for changed, names in tools.items() if changed]
    table = "| Tool | When another writer changed the file since |\n|---|---|\n" + "".join(rows)
    return page(WRITING).text.replace(_CHANGED, f"\n{table}\n")


def _alone(tool: str, settings: Settings) -> str:
    manual, changed = filled(page(tool).text, settings), page(tool).changed
    if not changed:
        return manual
    common = (
        page(WRITING)
        .text.partition("\n\n")[2]
        .replace(_CHANGED, f"- Another writer changed the file since: {changed}.\n")
    )
    return f"{manual}\n## What every writing tool takes\n\n{common}"


def _reply(message: str, manual: str, dialect: str | None, listed: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {"ok": True, "message": message, "manual": manual, "dialect": dialect, "dialects": listed}


MANUAL_TOOL: Final[Tool[ManualParams]] = Tool(
    name="manual", params=ManualParams, paths=no_paths, decide=decide, reply=ManualReply
)
