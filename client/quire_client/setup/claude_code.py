"""Hooks of Claude Code that the MCP server of its session answers, so that no process is started for them.

Claude Code calls the tool `hook` of the server in place of a command. Where no server is, the call fails and the agent
goes on. So a command stands beside the tool: it starts `quire hook` where no server says that it answers, in a file
named after the process of the agent. When a session begins and ends, no server can be called at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

SERVER: Final = "quire"
"""The name of the MCP server; without a hyphen, which changes what matchers mean."""

TOOL: Final = "hook"
"""The tool of the MCP server that answers hooks. It is in no list of tools: an agent's model has no use for it."""

SERVING: Final = "serving"
"""In the folder of all state folders: a file for each agent process whose hooks a server answers, with the pid of the
server."""

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
"""Event → what the tool is given of it. Claude Code fills in a template; it cannot give the event as a whole. What a
command printed and what a file holds that was read stay where they are."""

OBJECTS: Final = ("tool_input", "tool_response.structuredPatch")
"""The fields that hold no text: they come as JSON within a text."""

SINCE: Final = (2, 1, 118)
"""The first version of Claude Code whose hooks call tools. An older one passes over the whole file with such a hook."""


def hooks(event: str, quire: str, agent: str, timeout_s: int) -> list[dict[str, Any]]:
    """The two hooks of an event: the tool, and the command for where no server answers."""
    template = {name: f"${{{name}}}" for name in FIELDS[event]}
    return [
        {"type": "mcp_tool", "server": SERVER, "tool": TOOL, "input": template, "timeout": timeout_s},
        {"type": "command", "command": guarded(quire, agent), "timeout": timeout_s},
    ]


def guarded(quire: str, agent: str) -> str:
    """The shell command that starts `quire hook AGENT` only where no server answers the hooks of the agent.

    The parent of the shell is the agent. `read` and `kill` are the shell's own: no process is started to find out.
    """
    file = f"${{XDG_STATE_HOME:-$HOME/.local/state}}/quire/{SERVING}/$PPID"
    return f'{_GUARD}"{file}" && kill -0 "$p"; }} 2>/dev/null || exec {shlex.join([quire, "hook", agent])}'


_GUARD: Final = "{ read -r p <"


def unguarded(command: str) -> str:
    """The command that a guard stands before; a command without one as it is."""
    return command.rpartition(" || exec ")[2] if command.startswith(_GUARD) else command


def is_tool(hook: Mapping[str, Any]) -> bool:
    """Does the hook call our tool?"""
    return (hook.get("type"), hook.get("server"), hook.get("tool")) == ("mcp_tool", SERVER, TOOL)


def calls_tools(version: str) -> bool:
    """Do the hooks of this Claude Code call tools? `version` is what `claude --version` prints; "" is taken for a new
    one."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return found is None or tuple(map(int, found.groups())) >= SINCE
