"""Hooks of Gemini CLI: BeforeTool, AfterTool and others. Its tool calls have no ids.

A prompt begins with the output of the session's first hooks, which is removed. Edits are taken from AfterTool, as
Gemini matches their arguments loosely.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Intent, Outcome, Tools, with_tool
from quire_client.hooks.fields import Fields, fields, number, span, text, text_or_none
from quire_client.hooks.payloads import changed

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
    "SessionEnd": "session_end",
}
HEARD: Final = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})
_CONTEXT_ENDS: Final = "</hook_context>"


def understand(given: Fields) -> Intent | None:
    event = text(given, "hook_event_name")
    if event not in MOMENTS:
        return None
    intent = Intent(event, MOMENTS[event], text(given, "session_id"), folder=text(given, "cwd"))
    if intent.moment == "turn":
        prompt = text(given, "prompt").rpartition(_CONTEXT_ENDS)[2].lstrip()
        return intent._replace(prompt=prompt, transcript=text(given, "transcript_path"))
    if intent.moment not in ("before", "after"):
        return intent
    response = fields(given, "tool_response")
    failed = bool(response.get("error"))
    tool, told = text(given, "tool_name"), fields(given, "tool_input")
    intent = intent._replace(tool=tool, ok=not failed)
    meant = with_tool(intent, tool, told, TOOLS, has_read=event == "AfterTool" and not failed)
    if meant is None or not meant.paths:
        return meant
    if meant.moment == "read":
        return _with_lines(meant, told)
    return _with_result(meant, fields(response, "returnDisplay"))


def _with_result(edit: Intent, shown: Fields) -> Intent:
    before, after = text_or_none(shown, "originalContent"), text_or_none(shown, "newContent")
    if before is None or after is None:
        return edit
    return edit._replace(payloads=(*edit.payloads, *changed(edit.paths[0], before, after)))


def _with_lines(read: Intent, told: Fields) -> Intent:
    start, end = number(told, "start_line"), number(told, "end_line")
    if start is None and end is None and (offset := number(told, "offset")) is not None:
        start, end = span({**told, "offset": offset + 1})  # Gemini counts lines from 0
    return read._replace(start_line=start, end_line=end)


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    if not outcome.allow and intent.event == "BeforeTool":
        return {"decision": "deny", "reason": outcome.reason}
    told: dict[str, Any] = {"systemMessage": outcome.warning} if outcome.warning else {}
    if outcome.notice and intent.event in HEARD:
        told["hookSpecificOutput"] = {"hookEventName": intent.event, "additionalContext": outcome.notice}
    return told


def greeting(session: str, folder: str) -> dict[str, Any]:
    return {"hook_event_name": "SessionStart", "session_id": session, "cwd": folder}


AGENT: Final = Agent("gemini", understand, answer, greeting)
