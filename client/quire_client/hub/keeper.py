"""The keeper of a host's leases at the hub: takes what is wanted, renews it in time, and knows when it is not sure.

A lease counts as held until its time to live, less a margin, has passed since the grant or renewal was *sent*, by the
clock of the holder. So a holder gives up before the store can grant the lease to another, whatever the network does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from quire_client.hub.leases import HubLease, LeaseStore
from quire_client.ship import FarSideUnreachable

TTL_S: Final = 15.0
RENEW_S: Final = 5.0
MARGIN_S: Final = 2.0
"""Seconds by which a holder gives up earlier than the store: for clocks that run at other speeds."""

Standing = Literal["held", "taken", "unconfirmed"]
"""Of a wanted lease: `taken` by another; `unconfirmed` while the store does not answer."""


class Held(NamedTuple):
    """A lease of this host."""

    token: int
    renew_s: float  # when it is to be renewed, by this host's monotonic clock
    until_s: float  # until when it surely is ours


class LeaseKeeper:
    """Each call passes the time of this host's monotonic clock by `now_s`, which is asked before a request is sent."""

    def __init__(self, store: LeaseStore, now_s: Callable[[], float]) -> None:
        self._store, self._now_s = store, now_s
        self._held: dict[str, Held] = {}
        self.newest = 0  # greatest token that was seen
        self.trouble = ""  # why the store cannot be asked; "": it answers

    def keep(self, wanted: Mapping[str, bytes]) -> Mapping[str, Standing]:
        """Hold these leases (key → value, of this holder alone) and no others, as far as the store grants them."""
        self.trouble = ""
        for key in [key for key in self._held if key not in wanted]:
            self._release(key)
        return {key: self._keep(key, value) for key, value in wanted.items()}

    def is_held(self, key: str) -> bool:
        """True if nobody else can have the lease now."""
        held = self._held.get(key)
        return held is not None and self._now_s() < held.until_s

    def token(self, key: str) -> int:
        """The token of a lease that was granted; 0 for none."""
        held = self._held.get(key)
        return held.token if held is not None else 0

    def others(self, wanted: Mapping[str, bytes]) -> Mapping[str, HubLease]:
        """The leases of other holders; none while the store does not answer."""
        try:
            found = self._store.leases()
        except FarSideUnreachable as error:
            self.trouble = str(error)
            return {}
        self.newest = max([self.newest, *(lease.token for lease in found.values())])
        return {key: lease for key, lease in found.items() if lease.token != self.token(key)}

    def _keep(self, key: str, value: bytes) -> Standing:
        held = self._held.get(key)
        sent_s = self._now_s()
        if held is not None and sent_s < held.renew_s:
            return "held"
        try:
            token = self._store.renew(key, value, held.token, TTL_S) if held is not None else None
            if token is None:
                self._held.pop(key, None)
                token = self._store.acquire(key, value, TTL_S) or self._granted_unheard(key, value)
        except FarSideUnreachable as error:
            self.trouble = str(error)
            return "held" if self.is_held(key) else "unconfirmed"
        if token is None:
            return "taken"
        self.newest = max(self.newest, token)
        self._held[key] = Held(token, sent_s + RENEW_S, sent_s + TTL_S - MARGIN_S)
        return "held" if self.is_held(key) else "unconfirmed"

    def _granted_unheard(self, key: str, value: bytes) -> int | None:
        """Renew a lease that was granted to this holder in an answer that got lost: `value` is nobody else's."""
        there = self._store.lease(key)
        return self._store.renew(key, value, there.token, TTL_S) if there and there.value == value else None

    def _release(self, key: str) -> None:
        held = self._held.pop(key)
        try:
            self._store.release(key, held.token)
        except FarSideUnreachable as error:
            self.trouble = str(error)  # it ends by itself
