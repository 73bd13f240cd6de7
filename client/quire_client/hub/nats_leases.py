"""Leases as keys of a NATS bucket, which the server deletes after their time to live; the token is the key's revision.

`KeyValue.update` of nats-py takes no time to live, so a key renewed by it would never end: keys are published directly.
"""

from __future__ import annotations

from typing import Final

from quire_client.hub.leases import HubLease
from quire_client.hub.team import leases_bucket
from quire_client.ship import NatsConnection, StoredMessage, Stream

_TTL: Final = "Nats-TTL"
_REMOVED: Final = "KV-Operation"
"""Header of a message that says that a key was removed."""


class NatsLeases:
    """A `LeaseStore`. Times to live are whole seconds, at least one."""

    def __init__(self, connection: NatsConnection) -> None:
        bucket = leases_bucket(connection.address.team)
        self._stream, self._prefix = Stream(connection, f"KV_{bucket}"), f"$KV.{bucket}."

    def acquire(self, key: str, value: bytes, ttl_s: float) -> int | None:
        subject = self._prefix + key
        there = self._stream.last(subject)
        if there is not None and not _ended(there):
            return None
        return self._stream.publish(subject, value, there.seq if there is not None else 0, _lasting(ttl_s))

    def renew(self, key: str, value: bytes, token: int, ttl_s: float) -> int | None:
        return self._stream.publish(self._prefix + key, value, token, _lasting(ttl_s))

    def release(self, key: str, token: int) -> None:
        self._stream.publish(self._prefix + key, b"", token, {_REMOVED: "DEL", **_lasting(1)})

    def lease(self, key: str) -> HubLease | None:
        there = self._stream.last(self._prefix + key)
        return HubLease(there.data, there.seq) if there is not None and not _ended(there) else None


def _ended(message: StoredMessage) -> bool:
    return _REMOVED in message.headers


def _lasting(ttl_s: float) -> dict[str, str]:
    return {_TTL: str(max(1, round(ttl_s)))}
