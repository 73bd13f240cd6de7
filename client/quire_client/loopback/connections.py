"""Time and number limits of HTTP connections.

uvicorn waits for a request's head without limit, and any user of this machine can connect. So a head has a time limit,
and above the most connections an idle one is closed.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_HEAD: int = 16 << 10
"""Bytes of a head with its headers."""


class TimedConnection(H11Protocol):
    """A connection that sends its request within `head_s`, or is closed."""

    head_s: ClassVar[float] = 10.0
    """Seconds from the connection, or a later request's first byte, to the end of the head."""

    most: ClassVar[int] = 256
    """Most connections. An agent session has one open stream, and one or two connections for calls."""

    _head: asyncio.TimerHandle | None = None  # runs while a head is awaited

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        others = cast("set[TimedConnection]", self.connections)
        if len(others) > self.most:
            asking = (one for one in others if one._head is not None)
            min(asking, key=lambda one: one._head.when() if one._head else 0.0).end()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop()
        elif before is None or before.response_complete:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close the connection at once."""
        self._stop()
        self.transport.abort()

    def _await_head(self) -> None:
        if self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(self.head_s, self.end)

    def _stop(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
