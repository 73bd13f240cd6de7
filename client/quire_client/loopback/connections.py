"""Limits for the duration and number of HTTP connections.

uvicorn waits without limit for a request's head and for a slow reader, and any user of this machine can connect.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_HEAD: int = 16 << 10
"""Maximum number of bytes of an HTTP request line with its headers."""


class TimedConnection(H11Protocol):
    """An HTTP connection that is closed if a request's head takes longer than `head_s` seconds, or the client reads
    nothing for `read_s` seconds. With more than `most` connections, the one idle for longest is closed.
    """

    head_s: ClassVar[float] = 10.0
    read_s: ClassVar[float] = 30.0
    most: ClassVar[int] = 256
    _since = 0.0  # loop time of the last byte of a request
    _head: asyncio.TimerHandle | None = None  # runs while a head is awaited
    _reader: asyncio.TimerHandle | None = None  # runs while the buffer is full

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._await_head()
        others = cast("set[TimedConnection]", self.connections)
        if len(others) > self.most:
            min(others, key=lambda one: (one._busy, one._since)).end()

    def data_received(self, data: bytes) -> None:
        self._since = self.loop.time()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_head()
        elif before is None or before.response_complete:
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reader is None:
            self._reader = self.loop.call_later(self.read_s, self.end)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head()
        self._stop_reader()
        super().connection_lost(exc)

    def end(self) -> None:
        self._stop_head()
        self._stop_reader()
        self.transport.abort()

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and self._reader is None

    def _await_head(self) -> None:
        if self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(self.head_s, self.end)

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
