"""The place of a team on the servers: a stream for segments and contents, a bucket for leases, one for hosts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from quire_client.ship import NatsConnection, Stream, stream_of, subjects_of

if TYPE_CHECKING:
    from nats.js.api import StreamConfig

MARKER_TTL_S: Final = 1.0
"""The server raises every shorter time of a key to this one, so it is as short as it can be."""


def leases_bucket(team: str) -> str:
    return f"quire-leases-{team}"


def hosts_bucket(team: str) -> str:
    return f"quire-hosts-{team}"


def make_team(connection: NatsConnection, replicas: int) -> None:
    """Make the team's place where it is missing. What is there stays as it is. Raises `FarSideUnreachable`."""
    connection.wait(_make(connection, replicas), 30)


async def _make(connection: NatsConnection, replicas: int) -> None:
    from nats.js.api import KeyValueConfig
    from nats.js.errors import NotFoundError

    js, team = connection.nats.jetstream(timeout=10), connection.address.team
    try:
        await js.stream_info(stream_of(team))
    except NotFoundError:
        await js.add_stream(_stream(team, replicas))
    for bucket, ttl in ((leases_bucket(team), MARKER_TTL_S), (hosts_bucket(team), None)):
        try:
            await js.key_value(bucket)
        except NotFoundError:
            await js.create_key_value(KeyValueConfig(bucket, history=1, replicas=replicas, limit_marker_ttl=ttl))


def _stream(team: str, replicas: int) -> StreamConfig:
    from nats.js.api import RetentionPolicy, StorageType, StoreCompression, StreamConfig

    return StreamConfig(
        name=stream_of(team),
        subjects=list(subjects_of(team)),
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        num_replicas=replicas,
        deny_delete=True,
        deny_purge=True,
        compression=StoreCompression.S2,
    )


class Card(NamedTuple):
    """Whose a journal at the hub is."""

    journal: str
    host: str
    checkout: str  # name of its folder
    repository: str  # as in `repository_of`

    @property
    def label(self) -> str:
        return f"{self.host}:{self.checkout}"


class Cards:
    """The cards of a team's checkouts. All calls raise `FarSideUnreachable`."""

    def __init__(self, connection: NatsConnection) -> None:
        bucket = hosts_bucket(connection.address.team)
        self._stream, self._prefix = Stream(connection, f"KV_{bucket}"), f"$KV.{bucket}."

    def put(self, card: Card) -> None:
        subject = self._prefix + card.journal
        said = json.dumps(card._asdict(), sort_keys=True).encode()
        there = self._stream.last(subject)
        if there is None or there.data != said:
            self._stream.publish(subject, said, there.seq if there is not None else 0)

    def all(self) -> list[Card]:
        """The cards, by host and checkout."""
        found = []
        for subject in self._stream.subjects(f"{self._prefix}>"):
            there = self._stream.last(subject)
            try:
                said = json.loads(there.data) if there is not None else {}
                names = [str(said[name]) for name in Card._fields[1:]]
            except (ValueError, KeyError, TypeError):
                continue
            found.append(Card(subject.removeprefix(self._prefix), *names))
        return sorted(found, key=lambda card: (card.label, card.journal))
