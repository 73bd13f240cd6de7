"""Hooks of opencode: callbacks of the plugin that `quire setup opencode` installs.

The plugin sends `{event, tool, sessionID, parentID, callID, args, directory}`; after a call also `diff` and `error`;
for a message `prompt` and `model`. The plugin throws the answer's `reason`, and appends its `context` to the tool's
output. Edits are taken from `diff`, as opencode matches `args` loosely.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Intent, Outcome, Tools, with_tool
from quire_client.hooks.fields import Fields, fields, text
from quire_client.hooks.patches import of_call
from quire_client.hooks.payloads import diffed

TOOLS: Final = Tools(edits=("write", "edit", "multiedit"), whole=("write",), commands=("bash",), reads=("read",))
PATCHES: Final = ("patch", "apply_patch")

MOMENTS: Final = {
    "tool.execute.before": "before",
    "tool.execute.after": "after",
    "session.created": "start",
    "chat.message": "turn",
    "session.idle": "end",
    "session.deleted": "session_end",
}


def understand(given: Fields) -> Intent | None:
    event = text(given, "event")
    if event not in MOMENTS:
        return None
    intent = Intent(
        event,
        MOMENTS[event],
        text(given, "sessionID"),
        text(given, "messageID"),
        text(given, "callID"),
        text(given, "model"),
        text(given, "directory"),
        parent=text(given, "parentID"),
        prompt=text(given, "prompt"),
    )
    return _of_tool(intent, given) if intent.moment in ("before", "after") else intent


def _of_tool(intent: Intent, given: Fields) -> Intent | None:
    tool, told = text(given, "tool"), fields(given, "args")
    intent = intent._replace(tool=tool, ok="error" not in given)
    if tool in PATCHES:
        return of_call(intent, text(told, "patchText", "patch"))
    meant = with_tool(intent, tool, told, TOOLS, has_read=intent.moment == "after" and intent.ok)
    diff = text(given, "diff")
    if meant is None or not diff or not meant.replaces:
        return meant
    return meant._replace(payloads=(*meant.payloads, *diffed(meant.paths[0], diff)))


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    if not outcome.allow and intent.moment == "before":
        return {"decision": "deny", "reason": outcome.reason}
    told = {"context": outcome.notice, "message": outcome.warning}
    return {name: said for name, said in told.items() if said}


def greeting(session: str, folder: str) -> dict[str, Any]:
    return {"event": "session.created", "sessionID": session, "directory": folder}


AGENT: Final = Agent("opencode", understand, answer, greeting)
