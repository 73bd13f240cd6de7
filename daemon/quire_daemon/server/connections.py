"""Leases and bursts that are bound to a client's connection; `lease_queue` and `burst_expiry` end them with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from quire_daemon.clock import Clock

LOOK_S: Final = 0.25  # seconds between two checks of the connections

CONNECTION: Final = "connection"
"""Value of `bind` that ends a lease or burst with its caller's connection."""


class Connections(Protocol):
    def reaches(self, identity: bytes) -> bool:
        """True if the client with this identity is still connected."""


class ConnectionBound(dict[int, bytes]):
    def __init__(self, server: Connections, clock: Clock) -> None:
        super().__init__()
        self._server, self._clock = server, clock
        self._looked_s = -1e9

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.pop(number, None)

    def gone(self) -> list[int]:
        """Return the numbers of leases or bursts whose connection has ended; checks once in `LOOK_S` seconds."""
        now = self._clock.mono_s()
        if not self or now < self._looked_s + LOOK_S:
            return []
        self._looked_s = now
        return [number for number, connection in self.items() if not self._server.reaches(connection)]
