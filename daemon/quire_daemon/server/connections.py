"""Leases and bursts that last as long as a connection. `lease_queue` ends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from quire_daemon.clock import Clock

LOOK_S: Final = 0.25  # between two looks at connections

CONNECTION: Final = "connection"
"""The value of `bind` for a lease or burst that lasts as long as a connection."""


class Connections(Protocol):
    """The part of the server used here."""

    def reaches(self, identity: bytes) -> bool:
        """True if the peer is still there."""


class ConnectionBound(dict[int, bytes]):
    """Numbers of leases or bursts, each with its connection."""

    def __init__(self, server: Connections, clock: Clock) -> None:
        super().__init__()
        self._server, self._clock = server, clock
        self._looked_s = -1e9

    def forget(self, numbers: Iterable[int]) -> None:
        """Remove these numbers."""
        for number in numbers:
            self.pop(number, None)

    def gone(self) -> list[int]:
        """Numbers whose connection has ended, checked at most every `LOOK_S`."""
        now = self._clock.mono_s()
        if not self or now < self._looked_s + LOOK_S:
            return []
        self._looked_s = now
        return [number for number, connection in self.items() if not self._server.reaches(connection)]
