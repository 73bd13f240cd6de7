"""Claude Code: PreToolUse, PostToolUse and their neighbours.

"allow" is never answered: it would pass over the person's own permission rules. A subagent tells the session of its
parent; its own id is added, because what the one has read the other has not.
"""

from __future__ import annotations

from typing import Any, Final

from quire_client.hooks.base import Agent, Fields, Intent, Outcome, Tools, fields, text, with_tool

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
    return with_tool(intent, tool, told, TOOLS, has_read=intent.event == "PostToolUse")


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
