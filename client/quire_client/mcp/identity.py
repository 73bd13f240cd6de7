"""Who calls: the agent and the agent session that a request of MCP belongs to. Pure.

The agent is the client's own name unless the command line says another. Over stdio there is one client, so the session
is that of the process. Over HTTP many share the server: what tells them apart is, in this order, the header
`Quire-Session` (for configurations), the handle that the model passes back as an argument, and the session of the
handshake era. The stateless era has no session; there the server makes a handle up and puts it into the reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

HANDLE: Final = "my_agent_session"
"""The argument, and the field of a reply, that carries the handle. (`agent_session` chooses whose work to undo.)"""

HEADER: Final = "quire-session"
AGENT_HEADER: Final = "quire-agent"
MCP_SESSION_HEADER: Final = "mcp-session-id"

UNNAMED: Final = "mcp"
"""The agent whose client does not say its name."""

_MOST: Final = 64
"""Characters of a name; the daemon cuts them off as well."""


class Who(NamedTuple):
    """The caller. `handle` is what the reply has to tell it, "" when it knows."""

    agent: str
    session: str
    handle: str = ""


class Own(NamedTuple):
    """What the command line and the environment say of the caller; "" where they say nothing."""

    agent: str = ""
    session: str = ""


def alone(own: Own, client_name: str) -> Who:
    """The only client of a server over stdio."""
    return Who(_name(own.agent or client_name) or UNNAMED, own.session)


def among_others(own: Own, client_name: str, headers: Mapping[str, str], handle: object, new_handle: str) -> Who:
    """One of the clients of a server over HTTP. `handle` is the argument that it passed, if any."""
    agent = _name(headers.get(AGENT_HEADER, "") or own.agent or client_name) or UNNAMED
    stated = _name(headers.get(HEADER, ""))
    if stated:
        return Who(agent, stated)
    if isinstance(handle, str) and _name(handle):
        return Who(agent, _name(handle), _name(handle))
    shaken = _name(headers.get(MCP_SESSION_HEADER, ""))
    if shaken:
        return Who(agent, f"mcp-{shaken[:12]}")
    return Who(agent, new_handle, new_handle)


def turn_of(meta: Mapping[str, Any]) -> tuple[str, str]:
    """(turn, tool call) as the request's `_meta` tells them: the trace's id, and the agent's id of the call."""
    parts = str(meta.get("traceparent") or "").split("-")
    turn = parts[1] if len(parts) == 4 else ""
    call = next((str(meta[key]) for key in ("claudecode/toolUseId", "toolUseId") if meta.get(key)), "")
    return _name(turn), _name(call)


def _name(text: str) -> str:
    """Printable, on one line, and not too long: it comes from outside, and others will read it."""
    return "".join(c for c in text if c.isprintable()).strip()[:_MOST]
