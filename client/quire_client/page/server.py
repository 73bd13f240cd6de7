"""Serves the page with uvicorn on 127.0.0.1, until the process is stopped or idle for half a day."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from typing import Final, Protocol

import anyio
import uvicorn

from quire_client.loopback import MOST_HEAD, Receive, Scope, Send, TimedConnection
from quire_client.page.keys import IDLE_S

LOOK_S: Final = 60
GRACE_S: Final = 1


class PageServer(Protocol):
    @property
    def asked_s(self) -> float: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


async def serve(gate: PageServer, sock: socket.socket, ready: Callable[[], None]) -> None:
    """Serve at the listening socket until the process is stopped; `ready` is called when it answers."""
    config = uvicorn.Config(
        gate,
        http=TimedConnection,
        h11_max_incomplete_event_size=MOST_HEAD,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # any user of this machine may say X-Forwarded-For
        ws="none",
        lifespan="off",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=GRACE_S,
    )
    # A feed that ends with its tab is normal.
    logging.getLogger("uvicorn.error").addFilter(lambda entry: "without completing response" not in entry.getMessage())
    server = uvicorn.Server(config)
    ready()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_idle, gate, server)
        await server.serve(sockets=[sock])
        tasks.cancel_scope.cancel()


async def _end_idle(gate: PageServer, server: uvicorn.Server) -> None:
    while not server.should_exit:
        await anyio.sleep(LOOK_S)
        if time.monotonic() - gate.asked_s > IDLE_S:
            server.should_exit = True
