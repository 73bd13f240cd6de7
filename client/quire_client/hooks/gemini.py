"""Gemini CLI: BeforeTool, AfterTool and their neighbours. Its tool calls have no ids."""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Fields, Intent, Outcome, Tools, fields, number, span, text, with_tool

TOOLS: Final = Tools(
    edits=("write_file", "replace", "edit"),
    whole=("write_file",),
    commands=("run_shell_command",),
    reads=("read_file",),
)

MOMENTS: Final = {
    "SessionStart": "start",
    "BeforeAgent": "turn",
    "BeforeTool": "before",
    "AfterTool": "after",
    "AfterAgent": "end",
    "SessionEnd": "end",
}
HEARD: Final = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})


def understand(given: Fields) -> Intent | None:
    """What a hook's JSON means."""
    event = text(given, "hook_event_name")
    if event not in MOMENTS:
        return None
    intent = Intent(event, MOMENTS[event], text(given, "session_id"), folder=text(given, "cwd"))
    if intent.moment not in ("before", "after"):
        return intent
    failed = bool(fields(given, "tool_response").get("error"))
    tool, told = text(given, "tool_name"), fields(given, "tool_input")
    intent = intent._replace(tool=tool, ok=not failed)
    meant = with_tool(intent, tool, told, TOOLS, has_read=event == "AfterTool" and not failed)
    return _with_lines(meant, told) if meant is not None and meant.moment == "read" else meant


def _with_lines(read: Intent, told: Fields) -> Intent:
    """The lines of a read, in its own words."""
    start, end = number(told, "start_line"), number(told, "end_line")
    if start is None and end is None and (offset := number(told, "offset")) is not None:
        start, end = span({**told, "offset": offset + 1})  # it counts them from 0
    return read._replace(start_line=start, end_line=end)


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    """The JSON that the agent understands."""
    if not outcome.allow and intent.event == "BeforeTool":
        return {"decision": "deny", "reason": outcome.reason}
    told: dict[str, Any] = {"systemMessage": outcome.warning} if outcome.warning else {}
    if outcome.notice and intent.event in HEARD:
        told["hookSpecificOutput"] = {"hookEventName": intent.event, "additionalContext": outcome.notice}
    return told


def greeting(session: str, folder: str) -> dict[str, Any]:
    """The event with which a session begins."""
    return {"hook_event_name": "SessionStart", "session_id": session, "cwd": folder}


AGENT: Final = Agent("gemini", understand, answer, greeting)
