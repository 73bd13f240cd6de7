"""Leases and bursts that last as long as a connection. `lease_queue` says how the end of one is found out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from quire_daemon.clock import Clock

LOOK_S: Final = 0.25  # between two looks at connections

CONNECTION: Final = "connection"
"""How a lease or a burst says (`bind`) that it lasts as long as one."""


class Connections(Protocol):
    """What is asked of the server."""

    def reaches(self, identity: bytes) -> bool:
        """Is the other end of this connection still there?"""


class ConnectionBound(dict[int, bytes]):
    """Numbers of what is bound, and the connection of each."""

    def __init__(self, server: Connections, clock: Clock) -> None:
        super().__init__()
        self._server, self._clock = server, clock
        self._looked_s = -1e9

    def forget(self, numbers: Iterable[int]) -> None:
        """These are bound no more."""
        for number in numbers:
            self.pop(number, None)

    def gone(self) -> list[int]:
        """Those whose connection has ended; nobody is asked sooner than `LOOK_S` after the last time."""
        now = self._clock.mono_s()
        if not self or now < self._looked_s + LOOK_S:
            return []
        self._looked_s = now
        return [number for number, connection in self.items() if not self._server.reaches(connection)]
