"""Safety of a team's copy: risks that its NATS servers lose acknowledged records.

A NATS client cannot see whether a server syncs; the server's HTTP monitoring says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from quire_client.ship import HubAddress, NatsConnection, Stream, stream_of

ANSWER_S: Final = 2.0
MOST_BYTES: Final = 1 << 20

LOSSES: Final = (
    ((2, 10, 23), "a server that is killed can lose a stream"),
    ((2, 12, 3), "a pause of a server, or a change of its peers, can lose acknowledged messages"),
    ((2, 14, 0), "a damaged snapshot deletes a stream (nats-server#7556)"),
)
"""Versions of the server before which acknowledged messages are known to be lost (Jepsen, NATS 2.12.1, 2025-12-08)."""


class Condition(NamedTuple):
    """Server version, replicas and size of a team's stream."""

    version: str  # of the server
    replicas: int
    messages: int
    bytes: int


class ServerState(NamedTuple):
    """State of a server, as its monitoring port reports it."""

    url: str
    version: str = ""
    syncs: bool = False  # before it acknowledges
    trouble: str = ""  # why the state is unknown


def condition(connection: NatsConnection) -> Condition:
    """Return version, replicas and size of the team's stream. Raises `FarSideUnreachable`."""
    info = Stream(connection, stream_of(connection.address.team)).info()
    state, config = info.get("state") or {}, info.get("config") or {}
    server = connection.nats.connected_server_version
    version = f"{server.major}.{server.minor}.{server.patch}"
    return Condition(version, int(config.get("num_replicas") or 1), int(state["messages"]), int(state["bytes"]))


def server_states(address: HubAddress) -> list[ServerState]:
    """Return the state of each server, from its monitoring port."""
    return [_asked(url) for url in address.monitors]


def _asked(url: str) -> ServerState:
    try:
        with urlopen(f"{url}/varz", timeout=ANSWER_S) as reply:  # http or https, see `HubAddress.parse`
            told: dict[str, Any] = json.loads(reply.read(MOST_BYTES))
        config = (told.get("jetstream") or {}).get("config") or {}
        return ServerState(url, str(told["version"]), bool(config.get("sync_always")))
    except URLError as error:
        return ServerState(url, trouble=str(error.reason))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return ServerState(url, trouble=str(error) or type(error).__name__)


def warnings(found: Condition, servers: Sequence[ServerState]) -> list[str]:
    """Return sentences about the risks of losing acknowledged records."""
    return [*_of_stream(found), *(sentence for server in servers for sentence in _of_server(server))]


def _of_stream(found: Condition) -> Iterator[str]:
    if found.replicas < 3:
        what = f"The team's stream has {found.replicas} replica{'' if found.replicas == 1 else 's'}"
        yield f"{what}; with fewer than three, the loss of a disk loses the copy."
    yield from _of_version("The server", found.version)


def _of_server(server: ServerState) -> Iterator[str]:
    if server.trouble:
        yield (
            f"Whether the server syncs before it acknowledges cannot be seen: its monitoring at {server.url} does not "
            f"answer ({server.trouble}). `quire hub join … --monitor URL` says where it is."
        )
        return
    if not server.syncs:
        yield (
            f"The server at {server.url} acknowledges before it syncs: a power cut loses up to two minutes of it. "
            "Set sync_interval: always in its jetstream block."
        )
    yield from _of_version(f"The server at {server.url}", server.version)


def _of_version(server: str, version: str) -> Iterator[str]:
    for fixed, what in LOSSES:
        if numbers(version) < fixed:
            yield f"{server} is {version}; before {'.'.join(map(str, fixed))} {what}."
            return


def numbers(version: str) -> tuple[int, ...]:
    """Return the version as numbers, without a suffix after a hyphen."""
    return tuple(int(part) for part in version.split("-")[0].lstrip("v").split(".")[:3] if part.isdecimal())
