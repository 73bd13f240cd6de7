"""Hooks of Claude Code: PreToolUse, PostToolUse and others.

The answer is never "allow", which would bypass the user's permission rules. Edits are taken from PostToolUse, whose
result can differ from the arguments (curly quotes, line ends). `bashEditDiff` is ignored, as it includes saves by the
user.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Intent, Outcome, Tools, with_tool
from quire_client.hooks.fields import Fields, fields, text, text_or_none
from quire_client.hooks.payloads import Payload, cell, changed, patched

TOOLS: Final = Tools(
    edits=("Edit", "MultiEdit", "Write", "NotebookEdit"),
    whole=("Write",),
    commands=("Bash", "PowerShell"),
    reads=("Read",),
)

MOMENTS: Final = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "Stop": "end",
    "SubagentStop": "end",
    "SessionEnd": "session_end",
}
HEARD: Final = frozenset({"SessionStart", "PreToolUse", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})


def understand(given: Fields) -> Intent | None:
    event = text(given, "hook_event_name")
    if event not in MOMENTS:
        return None
    session, subagent = text(given, "session_id"), text(given, "agent_id")
    intent = Intent(
        event,
        MOMENTS[event],
        ".".join(part for part in (session, subagent) if part),
        text(given, "turn_id", "prompt_id"),
        text(given, "tool_use_id"),
        text(given, "model"),
        text(given, "cwd"),
        parent=session if subagent else "",
    )
    if intent.moment == "turn":
        return intent._replace(prompt=text(given, "prompt"), transcript=text(given, "transcript_path"))
    if subagent and event == "SubagentStop":
        return intent._replace(moment="session_end")
    return _of_tool(intent, given) if intent.moment in ("before", "after") else intent


def _of_tool(intent: Intent, given: Fields) -> Intent | None:
    tool, told = text(given, "tool_name"), fields(given, "tool_input")
    intent = intent._replace(tool=tool, ok=intent.event != "PostToolUseFailure")
    meant = with_tool(intent, tool, told, TOOLS, has_read=intent.event == "PostToolUse")
    if meant is None or meant.moment == "read" or not meant.paths:
        return meant
    path = meant.paths[0]
    announced = (cell(path, told),) if tool == "NotebookEdit" else meant.payloads
    return meant._replace(payloads=(*announced, *_came_of_it(path, fields(given, "tool_response"))))


def _came_of_it(path: str, told: Fields) -> tuple[Payload, ...]:
    before, after = text_or_none(told, "original_file"), text_or_none(told, "updated_file")
    if before is not None and after is not None:  # of a notebook
        return changed(path, before, after)
    return patched(path, text_or_none(told, "originalFile"), told.get("structuredPatch"))


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {"systemMessage": outcome.warning} if outcome.warning else {}
    specific: dict[str, Any] = {"hookEventName": intent.event}
    if not outcome.allow and intent.event == "PreToolUse":
        decision = "ask" if outcome.ask else "deny"
        specific |= {"permissionDecision": decision, "permissionDecisionReason": outcome.reason}
    elif outcome.notice and intent.event in HEARD:
        specific["additionalContext"] = outcome.notice
    return {**told, "hookSpecificOutput": specific} if len(specific) > 1 else told


def greeting(session: str, folder: str) -> dict[str, Any]:
    return {"hook_event_name": "SessionStart", "session_id": session, "cwd": folder}


AGENT: Final = Agent("claude-code", understand, answer, greeting, env_file="CLAUDE_ENV_FILE")
