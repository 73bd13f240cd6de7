"""Storage of a team on the NATS servers: a stream for segments and blobs, a bucket for leases, one for cards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from quire_client.ship import FarSide, HubAddress, JetStreamObjects, NatsConnection, Stream, stream_of, subjects_of

if TYPE_CHECKING:
    from nats.js.api import StreamConfig


@contextmanager
def at_hub(address: HubAddress) -> Iterator[tuple[NatsConnection, FarSide]]:
    """Context manager that yields a connection to NATS, and the team's stores over it. Raises `FarSideUnreachable`."""
    connection = NatsConnection(address)
    with closing(FarSide.of(JetStreamObjects(connection))) as far:
        yield connection, far


def leases_bucket(team: str) -> str:
    return f"quire-leases-{team}"


def hosts_bucket(team: str) -> str:
    return f"quire-hosts-{team}"


def make_team(connection: NatsConnection, replicas: int, now_ms: int) -> None:
    """Create the missing parts of the team's storage; existing parts stay unchanged. Raises `FarSideUnreachable`.

    `now_ms` is the first sequence of a new lease bucket, so that its tokens are greater than those of a lost one.
    """
    connection.wait(_make(connection, replicas, now_ms), 30)


async def _make(connection: NatsConnection, replicas: int, now_ms: int) -> None:
    from nats.js.errors import NotFoundError

    js, team = connection.nats.jetstream(timeout=10), connection.address.team
    buckets = _bucket(leases_bucket(team), replicas, now_ms), _bucket(hosts_bucket(team), replicas)
    for config in (_stream(team, replicas), *buckets):
        try:
            await js.stream_info(str(config.name))
        except NotFoundError:
            await js.add_stream(config)


def _stream(team: str, replicas: int) -> StreamConfig:
    from nats.js.api import RetentionPolicy, StorageType, StreamConfig

    return StreamConfig(
        name=stream_of(team),
        subjects=list(subjects_of(team)),
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        num_replicas=replicas,
        deny_delete=True,
        deny_purge=True,
        allow_direct=True,
    )


def _bucket(name: str, replicas: int, first: int | None = None) -> StreamConfig:
    """Return the configuration of a bucket: a stream in NATS's layout of key-value buckets, with times to live.

    The server writes no marker for an expired key: a marker delayed until after a renewal would end the new lease.
    """
    from nats.js.api import DiscardPolicy, StorageType, StreamConfig

    return StreamConfig(
        name=f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=StorageType.FILE,
        num_replicas=replicas,
        max_msgs_per_subject=1,
        discard=DiscardPolicy.NEW,
        deny_delete=True,
        allow_rollup_hdrs=True,
        allow_msg_ttl=True,
        first_seq=first,
    )


class Card(NamedTuple):
    """Owner of a journal at the hub."""

    journal: str
    host: str
    checkout: str  # name of its folder
    repository: str  # as in `repository_of`
    keys: str  # verifier keys of its signed heads, one a line

    @property
    def label(self) -> str:
        return f"{self.host}:{self.checkout}"


class Cards:
    """Cards (owners) of the team's journals. All calls raise `FarSideUnreachable`."""

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
        """Return the cards, sorted by host and checkout."""
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
