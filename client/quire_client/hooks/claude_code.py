"""Claude Code: PreToolUse, PostToolUse and their neighbours.

"allow" is never answered: it would pass over the person's own permission rules. A subagent tells the session of its
parent; its own id is added, because what the one has read the other has not.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Fields, Intent, Outcome, fields, one_path, replaced, span, text

EDITS: Final = ("Edit", "MultiEdit", "Write", "NotebookEdit")
COMMANDS: Final = ("Bash", "PowerShell")
READS: Final = ("Read",)

MOMENTS: Final = {
    "SessionStart": "start",
    "UserPromptSubmit": "turn",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "Stop": "end",
    "SubagentStop": "end",
    "SessionEnd": "end",
}
HEARD: Final = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})
"""The events whose answer may hold context for the model."""


def understand(given: Fields) -> Intent | None:
    """What a hook's JSON means."""
    event = text(given, "hook_event_name")
    if event not in MOMENTS:
        return None
    session = ".".join(part for part in (text(given, "session_id"), text(given, "agent_id")) if part)
    intent = Intent(
        event,
        MOMENTS[event],
        session,
        text(given, "turn_id", "prompt_id"),
        text(given, "tool_use_id"),
        text(given, "model"),
        text(given, "cwd"),
    )
    return _of_tool(intent, given) if intent.moment in ("before", "after") else intent


def _of_tool(intent: Intent, given: Fields) -> Intent | None:
    tool, told = text(given, "tool_name"), fields(given, "tool_input")
    intent = intent._replace(tool=tool, ok=intent.event != "PostToolUseFailure")
    if tool in COMMANDS:
        return intent
    paths = one_path(told)
    if tool in EDITS and paths:
        return intent._replace(paths=paths, whole=tool == "Write", replaces=replaced(told))
    if tool in READS and paths and intent.event == "PostToolUse":
        start, end = span(told)
        return intent._replace(moment="read", paths=paths, start_line=start, end_line=end)
    return None


def answer(intent: Intent, outcome: Outcome) -> dict[str, Any]:
    """The JSON that the agent understands."""
    told: dict[str, Any] = {"systemMessage": outcome.warning} if outcome.warning else {}
    specific: dict[str, Any] = {"hookEventName": intent.event}
    if not outcome.allow and intent.event == "PreToolUse":
        specific |= {"permissionDecision": "deny", "permissionDecisionReason": outcome.reason}
    elif outcome.notice and intent.event in HEARD:
        specific["additionalContext"] = outcome.notice
    return {**told, "hookSpecificOutput": specific} if len(specific) > 1 else told


def greeting(session: str, folder: str) -> dict[str, Any]:
    """The event with which a session begins."""
    return {"hook_event_name": "SessionStart", "session_id": session, "cwd": folder}


AGENT: Final = Agent("claude-code", understand, answer, greeting, env_file="CLAUDE_ENV_FILE")
