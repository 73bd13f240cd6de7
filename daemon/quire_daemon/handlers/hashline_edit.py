"""The tool `hashline_edit`: the dialect, and what it does to a file as a whole."""

from __future__ import annotations

from typing import Final

from quire_daemon.dialects.hashline_edit import HASHLINE_EDIT, HashlineParams, edits_of
from quire_daemon.handlers.base import Decision, FileNow, Tool, World
from quire_daemon.handlers.edit import answering, decide_on
from quire_daemon.handlers.files import deletion, movement


def decide(params: HashlineParams, world: World) -> Decision:
    """Edit, remove or rename one file. Raises `Refused`."""
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: HashlineParams, now: FileNow, world: World) -> Decision:
    edits_of(params, world.settings.dialects.hashline_edit.allow_replace_text)
    if params.delete:
        return deletion(params, now, world)
    if params.rename and not params.edits:
        return movement(params, now, world.files[params.rename], world)
    decision = decide_on(HASHLINE_EDIT, params, now, world)
    if changed := decision.reply.get("changed"):
        decision.reply["first_changed_line"] = changed[0]["start"]
    return decision


HASHLINE_TOOL: Final = Tool(
    name=HASHLINE_EDIT.name,
    params=HashlineParams,
    paths=lambda params: (params.target, params.rename) if params.rename else (params.target,),
    decide=decide,
    writes=True,
)
