"""Claude Code hooks that the session's MCP server answers, without starting a process for each hook.

Claude Code calls the server's tool `hook`. A second, shell hook starts `quire hook` unless a server has created the
file named after the agent's pid, which announces that it answers the hooks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

SERVER: Final = "quire"
"""The MCP server's name. A hyphen would change the meaning of Claude Code's matchers."""

TOOL: Final = "hook"

SERVING: Final = "serving"
"""Subfolder of the state home, with one file per agent process whose hooks an MCP server answers; it contains the
server's pid.
"""

_ALWAYS: Final = ("hook_event_name", "session_id", "agent_id", "cwd", "prompt_id", "model")
_OF_A_TURN: Final = ("transcript_path", "prompt")
_OF_A_CALL: Final = ("tool_name", "tool_use_id", "tool_input")
_OF_A_RESULT: Final = ("originalFile", "structuredPatch", "original_file", "updated_file")

FIELDS: Final = {
    "UserPromptSubmit": (*_ALWAYS, *_OF_A_TURN),
    "PreToolUse": (*_ALWAYS, *_OF_A_CALL),
    "PostToolUse": (*_ALWAYS, *_OF_A_CALL, *(f"tool_response.{name}" for name in _OF_A_RESULT)),
    "PostToolUseFailure": (*_ALWAYS, *_OF_A_CALL),
    "Stop": _ALWAYS,
    "SubagentStop": _ALWAYS,
}
"""Hook event → its fields that Claude Code passes to Quire's MCP tool; command output and file contents are omitted."""

OBJECTS: Final = ("tool_input", "tool_response.structuredPatch")
"""Fields of a hook event that hold JSON objects; Claude Code passes them as strings."""

SINCE: Final = (2, 1, 118)
"""First version of Claude Code whose hooks can call tools; older ones ignore a whole file with such a hook."""


def hooks(event: str, quire: str, agent: str, timeout_s: int) -> list[dict[str, Any]]:
    """Return the two hooks of an event: the MCP tool, and the command for sessions without a server."""
    template = {name: f"${{{name}}}" for name in FIELDS[event]}
    return [
        {"type": "mcp_tool", "server": SERVER, "tool": TOOL, "input": template, "timeout": timeout_s},
        {"type": "command", "command": guarded(quire, agent), "timeout": timeout_s},
    ]


def guarded(quire: str, agent: str) -> str:
    """Return the shell command that runs `quire hook AGENT` only if no server answers the agent's hooks.

    `read` and `kill` are shell builtins, so the check starts no process.
    """
    file = f"${{XDG_STATE_HOME:-$HOME/.local/state}}/quire/{SERVING}/$PPID"
    return f'{_GUARD}"{file}" && kill -0 "$p"; }} 2>/dev/null || exec {shlex.join([quire, "hook", agent])}'


_GUARD: Final = "{ read -r p <"


def unguarded(command: str) -> str:
    return command.rpartition(" || exec ")[2] if command.startswith(_GUARD) else command


def is_tool(hook: Mapping[str, Any]) -> bool:
    return (hook.get("type"), hook.get("server"), hook.get("tool")) == ("mcp_tool", SERVER, TOOL)


def calls_tools(version: str) -> bool:
    """Return True if hooks of this version of Claude Code can call tools; "" counts as a new version."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return found is None or tuple(map(int, found.groups())) >= SINCE
