"""Leases across hosts: interface of a store that grants each key to one holder at a time, and a store in memory.

The store's clock alone decides when a lease ends; no two clocks are compared. Each grant and renewal has a token that
is greater than all before it, so a late holder can be told from the present one (a fencing token: M. Kleppmann, "How to
do distributed locking", 2016).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol


class HubLease(NamedTuple):
    """A lease in force."""

    value: bytes  # identifies the holder
    token: int


class LeaseStore(Protocol):
    """Store of leases by key. Any call may raise `FarSideUnreachable`, although the store has performed it."""

    def acquire(self, key: str, value: bytes, ttl_s: float) -> int | None:
        """Take a free lease for `ttl_s` seconds; return its token, or None if somebody holds the lease."""

    def renew(self, key: str, value: bytes, token: int, ttl_s: float) -> int | None:
        """Prolong a lease to `ttl_s` seconds from now if `token` is its newest; return a new token, or None if the
        lease is lost.
        """

    def release(self, key: str, token: int) -> None:
        """Release a lease if `token` is its newest."""

    def lease(self, key: str) -> HubLease | None:
        """Return the lease in force; None if nobody holds it."""


class MemoryLeases:
    """A `LeaseStore` for tests."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        """`now_s`: the store's clock, in seconds."""
        self._now_s = now_s
        self._held: dict[str, tuple[HubLease, float]] = {}  # with its end
        self._token = 0
        self._lock = threading.Lock()

    def acquire(self, key: str, value: bytes, ttl_s: float) -> int | None:
        with self._lock:
            return None if self._newest(key) else self._hold(key, value, ttl_s)

    def renew(self, key: str, value: bytes, token: int, ttl_s: float) -> int | None:
        with self._lock:
            return self._hold(key, value, ttl_s) if self._newest(key) == token else None

    def release(self, key: str, token: int) -> None:
        with self._lock:
            if self._newest(key) == token:
                del self._held[key]

    def lease(self, key: str) -> HubLease | None:
        with self._lock:
            return self._held[key][0] if self._newest(key) else None

    def _newest(self, key: str) -> int:
        lease, until_s = self._held.get(key, (HubLease(b"", 0), 0.0))
        return lease.token if self._now_s() < until_s else 0

    def _hold(self, key: str, value: bytes, ttl_s: float) -> int:
        self._token += 1
        self._held[key] = HubLease(value, self._token), self._now_s() + ttl_s
        return self._token
