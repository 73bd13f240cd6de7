"""Hooks of Cursor: generic tool events, and the older specific events (`beforeShellExecution`, `afterFileEdit`, …)."""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Intent, Outcome, Tools, with_tool
from quire_client.hooks.fields import Fields, fields, text
from quire_client.hooks.payloads import removed

TOOLS: Final = Tools(
    edits=("write", "delete", "edit", "multiedit", "strreplace", "search_replace", "editnotebook", "applypatch"),
    whole=("write", "delete"),
    commands=("shell", "bash", "terminal"),
    reads=("read", "read_file"),
)

MOMENTS: Final = {
    "sessionStart": "start",
    "beforeSubmitPrompt": "turn",
    "preToolUse": "before",
    "postToolUse": "after",
    "postToolUseFailure": "after",
    "beforeShellExecution": "before",
    "afterShellExecution": "after",
    "afterFileEdit": "after",
    "beforeReadFile": "read",
    "stop": "end",
    "subagentStop": "end",
    "sessionEnd": "session_end",
}
_OF_ONE_KIND: Final = {
    "beforeShellExecution": "Shell",
    "afterShellExecution": "Shell",
    "afterFileEdit": "Edit",
    "beforeReadFile": "Read",
}


def understand(given: Fields) -> Intent | None:
    event = text(given, "hook_event_name")
    if event not in MOMENTS:
        return None
    intent = Intent(
        event,
        MOMENTS[event],
        text(given, "conversation_id", "session_id"),
        text(given, "generation_id"),
        text(given, "tool_use_id"),
        text(given, "model"),
        text(given, "cwd") or _first(given.get("workspace_roots")),
    )
    if intent.moment == "turn":
        return intent._replace(prompt=text(given, "prompt"), transcript=text(given, "transcript_path"))
    if intent.moment not in ("before", "after", "read"):
        return intent
    tool = _OF_ONE_KIND.get(event) or text(given, "tool_name")
    told = given if event in _OF_ONE_KIND else fields(given, "tool_input")
    intent = intent._replace(tool=tool, ok=event != "postToolUseFailure")
    meant = with_tool(intent, tool.lower(), told, TOOLS, has_read=event in ("postToolUse", "beforeReadFile"))
    if meant is not None and tool.lower() == "delete":
        return meant._replace(payloads=tuple(map(removed, meant.paths)))
    return meant


def _first(roots: Any) -> str:
    return roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    if not outcome.allow and intent.moment == "before":
        permission = "ask" if outcome.ask else "deny"
        return {"permission": permission, "user_message": _first_line(outcome.reason), "agent_message": outcome.reason}
    told: dict[str, Any] = {"user_message": outcome.warning} if outcome.warning else {}
    if outcome.environment and intent.event == "sessionStart":
        told["env"] = dict(outcome.environment)
    if outcome.notice and intent.event in ("postToolUse", "sessionStart"):
        told["additional_context"] = outcome.notice
    return told


def _first_line(reason: str) -> str:
    return reason.partition("\n")[0]


def greeting(session: str, folder: str) -> dict[str, Any]:
    return {"hook_event_name": "sessionStart", "conversation_id": session, "workspace_roots": [folder]}


AGENT: Final = Agent("cursor", understand, answer, greeting)
