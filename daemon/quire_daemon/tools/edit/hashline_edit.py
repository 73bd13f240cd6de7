"""The tool `hashline_edit`: the dialect, and its operations that remove or rename a whole file."""

from __future__ import annotations

from typing import Final

from quire_daemon.core import Decision, FileNow, Tool, World
from quire_daemon.dialects import HASHLINE_EDIT, HashlineParams, edits_of
from quire_daemon.tools.edit.basis import current_version
from quire_daemon.tools.edit.delete_move import deletion, movement
from quire_daemon.tools.edit.engine import answering, decide_on
from quire_journal.model import Refusal


def decide(params: HashlineParams, world: World) -> Decision:
    return answering(params, world, lambda now: _decide(params, now, world))


def _decide(params: HashlineParams, now: FileNow, world: World) -> Decision:
    edits_of(params, world.settings.dialects.hashline_edit.allow_replace_text)
    decision = _operate(params, now, world)
    if decision.reply.get("unchanged"):
        message = "Nothing would change: the content is what stands there."
        raise Refusal("no_op", message, "re-read_file", path=now.path, **current_version(now))
    if decision.reply["ok"]:
        changed = decision.reply["changed"]
        decision.reply["first_changed_line"] = changed[0]["start"] if changed else None
    return decision


def _operate(params: HashlineParams, now: FileNow, world: World) -> Decision:
    if params.delete:
        return deletion(params, now, world)
    if params.rename and not params.edits:
        return movement(params, now, world.files[params.rename], world)
    return decide_on(HASHLINE_EDIT, params, now, world)


HASHLINE_TOOL: Final[Tool[HashlineParams]] = Tool(
    name=HASHLINE_EDIT.name,
    params=HashlineParams,
    paths=lambda params: (params.path, params.rename) if params.rename else (params.path,),
    decide=decide,
    writes=True,
    reply=HASHLINE_EDIT.reply,
)
