"""MCP as Streamable HTTP on 127.0.0.1 at `/mcp`, for many agent sessions."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Final

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from quire_client.loopback import HOST, MOST_HEAD, NAMES, Gate, TimedConnection
from quire_client.mcp.agents import AgentSessions
from quire_client.mcp.identity import Own
from quire_client.mcp.server import server
from quire_client.mcp.streams import MOST_MESSAGE

PATH: Final = "/mcp"
LOOK_S: Final = 60
GRACE_S: Final = 2


async def serve(
    sessions: AgentSessions, own: Own, sock: socket.socket, token: str, ready: Callable[[str], None]
) -> None:
    """Serve MCP at the listening socket until the process is stopped; `ready` is called with the URL."""
    port = sock.getsockname()[1]
    application = server(sessions, own, shared=True).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_MESSAGE,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in NAMES],
            allowed_origins=[f"http://{name}:{port}" for name in NAMES],
        ),
    )
    config = uvicorn.Config(
        Gate(application, port, token, MOST_MESSAGE),
        http=TimedConnection,
        h11_max_incomplete_event_size=MOST_HEAD,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=GRACE_S,
    )
    # A client that disconnects is no error; the SDK leaves its detection to the server.
    logging.getLogger("uvicorn.error").addFilter(lambda entry: "without completing response" not in entry.getMessage())
    ready(f"http://{HOST}:{port}{PATH}")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_close_idle, sessions)
        await uvicorn.Server(config).serve(sockets=[sock])
        tasks.cancel_scope.cancel()


async def _close_idle(sessions: AgentSessions) -> None:
    while True:
        await anyio.sleep(LOOK_S)
        sessions.close_idle(time.monotonic())
