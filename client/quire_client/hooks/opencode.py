"""opencode: its plugin callbacks as the plugin that `quire setup opencode` writes passes them on.

It sends `{event, tool, sessionID, callID, args, directory}`; it throws what is answered as `reason`, and appends
`context` to what the tool said.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Fields, Intent, Outcome, Tools, fields, text, with_tool
from quire_client.hooks.codex import in_patch

TOOLS: Final = Tools(edits=("write", "edit", "multiedit"), whole=("write",), commands=("bash",), reads=("read",))
PATCHES: Final = ("patch", "apply_patch")

MOMENTS: Final = {
    "tool.execute.before": "before",
    "tool.execute.after": "after",
    "session.created": "start",
    "chat.message": "turn",
    "session.idle": "end",
    "session.deleted": "end",
}


def understand(given: Fields) -> Intent | None:
    """What the plugin's JSON means."""
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
    )
    return _of_tool(intent, given) if intent.moment in ("before", "after") else intent


def _of_tool(intent: Intent, given: Fields) -> Intent | None:
    tool, told = text(given, "tool"), fields(given, "args")
    intent = intent._replace(tool=tool)
    if tool in PATCHES:
        paths, replaces = in_patch(text(told, "patchText", "patch"))
        return intent._replace(paths=paths, replaces=replaces) if paths else None
    return with_tool(intent, tool, told, TOOLS, has_read=intent.moment == "after")


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    """The JSON that the plugin understands."""
    if not outcome.allow and intent.moment == "before":
        return {"decision": "deny", "reason": outcome.reason}
    told = {"context": outcome.notice, "message": outcome.warning}
    return {name: said for name, said in told.items() if said}


def greeting(session: str, folder: str) -> dict[str, Any]:
    """The event with which a session begins."""
    return {"event": "session.created", "sessionID": session, "directory": folder}


AGENT: Final = Agent("opencode", understand, answer, greeting)
