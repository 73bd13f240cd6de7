"""Finds out which agent and agent session sends an MCP request.

The agent is the client's name unless the command line names another. The session is the one in the request (Codex).
Without it, over stdio, it is taken from the command line or the environment, or invented; over HTTP, it is the header
`Quire-Session`, the handle that the model passes, or the MCP session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

HANDLE: Final = "my_agent_session"

HEADER: Final = "quire-session"
AGENT_HEADER: Final = "quire-agent"
MCP_SESSION_HEADER: Final = "mcp-session-id"

UNNAMED: Final = "mcp"
AGENTS: Final = {
    "codex-mcp-client": "codex",
    "gemini-cli-mcp-client": "gemini",
    "cursor-vscode": "cursor",
}
"""Name of the agent in hooks, by its MCP client name."""

CLAUDE: Final = "CLAUDE_CODE_SESSION_ID"
_NOT_CLAUDE: Final = frozenset({"codex", "gemini", "cursor", "opencode"})

_CODEX: Final = "x-codex-turn-metadata"

_MOST: Final = 64


class Who(NamedTuple):
    """Caller of a request. `handle` is sent in the reply if the client must repeat it in later requests; "" if it need
    not.
    """

    agent: str
    session: str
    handle: str = ""
    guessed: bool = False  # the session of the agent process has priority, if the daemon knows it
    parent: str = ""  # session that started this subagent


class Own(NamedTuple):
    """Caller as the command line and the environment name it; "" for an unknown part."""

    agent: str = ""
    session: str = ""
    guess: str = ""  # invented session, if nothing names one
    environment: Mapping[str, str] = {}


class RequestIds(NamedTuple):
    """Caller as a request's `_meta` names it; "" for an unknown part."""

    session: str = ""
    turn: str = ""
    tool_call: str = ""
    model: str = ""
    parent: str = ""


def alone(own: Own, client_name: str, said: RequestIds) -> Who:
    """Return the caller over stdio, where the server has one client."""
    agent = _agent(own.agent or client_name)
    if own.session or said.session:
        return Who(agent, own.session or said.session, parent="" if own.session else said.parent)
    return Who(agent, _of_environment(own.environment, agent) or own.guess, guessed=True)


def _of_environment(environment: Mapping[str, str], agent: str) -> str:
    stated = environment.get("QUIRE_SESSION", "")
    if stated and environment.get("QUIRE_AGENT", "") in ("", agent):
        return _name(stated)
    return "" if agent in _NOT_CLAUDE else _name(environment.get(CLAUDE, ""))


def among_others(
    own: Own, client_name: str, said: RequestIds, headers: Mapping[str, str], handle: object, new_handle: str
) -> Who:
    """Return the caller over HTTP, where the server has many clients.

    `handle` is the value of the request's handle argument, None without; `new_handle` is used if the request names no
    session.
    """
    agent = _agent(headers.get(AGENT_HEADER, "") or own.agent or client_name)
    stated = _name(headers.get(HEADER, ""))
    if stated:
        return Who(agent, stated)
    if said.session:
        return Who(agent, said.session, parent=said.parent)
    if isinstance(handle, str) and _name(handle):
        return Who(agent, _name(handle), _name(handle))
    shaken = _name(headers.get(MCP_SESSION_HEADER, ""))
    if shaken:
        return Who(agent, f"mcp-{shaken[:12]}")
    return Who(agent, new_handle, new_handle)


def ids_of(meta: Mapping[str, Any]) -> RequestIds:
    """Return the ids that Codex or Claude Code put into `_meta`; for other clients, the trace id of `traceparent` is
    the turn.
    """
    call = next((meta[key] for key in ("claudecode/toolUseId", "toolUseId", "callId") if meta.get(key)), "")
    codex = meta.get(_CODEX)
    if isinstance(codex, Mapping):
        root, thread = _name(codex.get("session_id")), _name(codex.get("thread_id"))
        child = bool(root and thread) and root != thread
        session = f"{root}.{thread}" if child else root or thread
        turn, model = _name(codex.get("turn_id")), _name(codex.get("model"))
        return RequestIds(session, turn, _name(call), model, root if child else "")
    parts = str(meta.get("traceparent") or "").split("-")
    return RequestIds(turn=_name(parts[1]) if len(parts) == 4 else "", tool_call=_name(call))


def _agent(said: str) -> str:
    name = _name(said)
    return AGENTS.get(name, name) or UNNAMED


def _name(text: object) -> str:
    return "".join(c for c in str(text or "") if c.isprintable()).strip()[:_MOST]
