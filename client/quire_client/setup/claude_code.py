"""Hooks of Claude Code that the MCP server of its session answers, so that no process is started for them.

Claude Code calls the tool `hook` of the server in place of a command. Where no server is, the call fails and the agent
goes on. So a command stands beside the tool: it starts `quire hook` where no server says that it answers, in a file
named after the process of the agent. When a session begins and ends, no server can be called at all.
"""

from __future__ import annotations

import shlex
from typing import Final

TOOL: Final = "hook"
"""The tool of the MCP server that answers hooks. It is in no list of tools: an agent's model has no use for it."""

SERVING: Final = "serving"
"""In the folder of all state folders: a file for each agent process whose hooks a server answers, with the pid of the
server."""

FIELDS: Final = (
    "hook_event_name",
    "session_id",
    "agent_id",
    "cwd",
    "transcript_path",
    "prompt_id",
    "prompt",
    "model",
    "tool_name",
    "tool_use_id",
    "tool_input",
    "tool_response",
)
"""What the tool is given of an event. Claude Code fills in a template; it cannot give the event as a whole."""


def template(*without: str) -> dict[str, str]:
    """The input of the tool as it stands in the settings, without some of the fields."""
    return {name: f"${{{name}}}" for name in FIELDS if name not in without}


def guarded(quire: str, agent: str) -> str:
    """The shell command that starts `quire hook AGENT` only where no server answers the hooks of the agent.

    The parent of the shell is the agent. `read` and `kill` are the shell's own: no process is started to find out.
    """
    file = f"${{XDG_STATE_HOME:-$HOME/.local/state}}/quire/{SERVING}/$PPID"
    hook = shlex.join([quire, "hook", agent])
    return f'{{ read -r p <"{file}" && kill -0 "$p"; }} 2>/dev/null || exec {hook}'
