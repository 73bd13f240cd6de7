"""Keeper of a host's leases at the hub: takes the wanted leases, renews them in time, and knows which are certain.

A lease counts as held until its time to live, less a margin, has passed since the grant or renewal was *sent*, by the
clock of the holder. So a holder gives up before the store can grant the lease to another, whatever the network does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from quire_client.hub.leases import LeaseStore
from quire_client.ship import FarSideUnreachable

TTL_S: Final = 15.0
RENEW_S: Final = 5.0
MARGIN_S: Final = 2.0
"""Seconds by which a holder gives up earlier than the store, as clocks differ in speed."""


class Kept(NamedTuple):
    """State of a wanted lease at the store."""

    standing: Literal["held", "taken", "unconfirmed"]  # `taken` by another; `unconfirmed`: the store does not answer
    for_s: float = 0.0  # seconds for which nobody else can get it
    token: int = 0


class _Held(NamedTuple):
    token: int
    renew_s: float  # time of renewal, by this host's monotonic clock
    until_s: float  # time until which the lease is certainly ours


class Times(NamedTuple):
    """Times of a lease in seconds: time to live at the store, time until renewal, and margin by which the holder gives
    up earlier.
    """

    ttl_s: float = TTL_S
    renew_s: float = RENEW_S
    margin_s: float = MARGIN_S


class LeaseKeeper:
    """Holds the leases of one holder. No other holder uses the same lease values. `now_s`: monotonic clock of this
    host.
    """

    def __init__(self, store: LeaseStore, now_s: Callable[[], float], times: Times = Times()) -> None:  # noqa: B008
        self._store, self._now_s, self._times = store, now_s, times
        self._held: dict[str, _Held] = {}

    def keep(self, wanted: Mapping[str, bytes]) -> Mapping[str, Kept]:
        """Acquire or renew these leases (key → value), release all others, and return the state of each."""
        for key in [key for key in self._held if key not in wanted]:
            self._release(key)
        return {key: self._keep(key, value) for key, value in wanted.items()}

    def kept(self, key: str) -> Kept:
        """Return the current state of a lease, held or unconfirmed, without asking the store."""
        held = self._held.get(key)
        for_s = held.until_s - self._now_s() if held is not None else 0.0
        return Kept("held", for_s, held.token) if held is not None and for_s > 0 else Kept("unconfirmed")

    def _keep(self, key: str, value: bytes) -> Kept:
        held, sent_s, times = self._held.get(key), self._now_s(), self._times
        if held is not None and sent_s < held.renew_s:
            return self.kept(key)
        try:
            token = self._granted(key, value)
        except FarSideUnreachable:
            return self.kept(key)
        if token is None:
            self._held.pop(key, None)
            return Kept("taken")
        self._held[key] = _Held(token, sent_s + times.renew_s, sent_s + times.ttl_s - times.margin_s)
        return self.kept(key)

    def _granted(self, key: str, value: bytes) -> int | None:
        """Acquire or renew the lease; return its token, or None if another holder has it. The value identifies our
        lease, even if the reply to a grant was lost, or the store lost grants and issued a token again.
        """
        there = self._store.lease(key)
        if there is None:
            return self._store.acquire(key, value, self._times.ttl_s)
        return self._store.renew(key, value, there.token, self._times.ttl_s) if there.value == value else None

    def _release(self, key: str) -> None:
        held = self._held.pop(key)
        with suppress(FarSideUnreachable):  # the lease expires anyway
            self._store.release(key, held.token)
