"""Rows about the hub: shipping through JetStream beside a plain publisher of the same segments."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from processes import used_s
from rows_edit import editor, functions, served
from rows_many import LINES
from table import Line, Scale, bounded

from nats_server import NatsNode, free_ports, new_team
from quire_client.hub import at_hub
from quire_client.ship import DaemonOutbox, FarSide, HubAddress, NatsConnection, Shipper
from quire_client.ship.memory import MemoryObjects
from quire_client.ship.shipper import Parcel, Shipment

ROUNDS = 5


class Kept:
    """An outbox whose segments were sealed before."""

    def __init__(self, parcels: Sequence[Parcel]) -> None:
        self._parcels, self._at = parcels, 0

    def last(self) -> Shipment:
        return Shipment("", 0, b"")

    def next(self) -> Parcel | None:
        return self._parcels[self._at] if self._at < len(self._parcels) else None

    def shipped(self, parcel: Parcel) -> None:
        self._at += 1

    def found(self, data: bytes) -> None:
        raise AssertionError("the team is new")

    def restart(self) -> None:
        raise AssertionError("nothing was lost")


class _Keeping(DaemonOutbox):
    """The daemon's outbox, of which each segment is kept."""

    parcels: list[Parcel]

    def next(self) -> Parcel | None:
        parcel = super().next()
        if parcel is not None:
            self.parcels.append(parcel)
        return parcel


def hub(scale: Scale) -> Iterator[Line]:
    """Ship sealed segments with their contents through JetStream; each by turns with a publisher that waits for each
    acknowledgment and looks at nothing.
    """
    parcels = _sealed(scale)
    took: dict[bool, list[float]] = {True: [], False: []}
    used = {True: 0.0, False: 0.0}  # s of processor, of this process and the server
    with tempfile.TemporaryDirectory() as folder:
        node = NatsNode(Path(folder), free_ports(1)[0])
        node.start()
        try:
            for _ in range(ROUNDS):
                for ours, s, cpu in _by_turns(parcels, node):
                    took[ours].append(s)
                    used[ours] += cpu
        finally:
            node.kill()
    ratio = statistics.median(a / b for a, b in zip(took[True], took[False], strict=True))
    size = sum(len(one.data) + sum(map(len, one.contents.values())) for one in parcels)
    contents = sum(len(one.contents) for one in parcels)
    note = f"{len(parcels)} segments, {contents} contents, {size / 1e6:.1f} MB, median of {len(took[True])} pairs"
    note += f"; of the sums {sum(took[True]) / sum(took[False]):.2f}"
    note += f"; {_each(used[True], contents)} and {_each(used[False], contents)} ms of processor a content"
    yield bounded("shipping through JetStream, by a plain publisher of the same", ratio, "×", 1.3, note)


def _by_turns(parcels: Sequence[Parcel], node: NatsNode) -> Iterator[tuple[bool, float, float]]:
    """Yield for each parcel whether it was shipped (or else published), the seconds and the processor's seconds."""
    assert node.process is not None
    ship_to, publish_to = (HubAddress.parse(new_team(node.host)) for _ in range(2))
    with at_hub(ship_to) as (_, far), at_hub(publish_to) as (connection, _):
        shipper = Shipper(Kept(parcels), far)
        for number, parcel in enumerate(parcels):
            for ours in (True, False) if number % 2 else (False, True):
                used, begun = _used_s(node.process.pid), time.perf_counter()
                shipper.ship() if ours else _publish(parcel, connection)
                yield ours, time.perf_counter() - begun, _used_s(node.process.pid) - used


def _used_s(server: int) -> float:
    return used_s(server) + used_s(os.getpid())


def _each(seconds: float, contents: int) -> str:
    return f"{seconds * 1000 / (contents * ROUNDS):.2f}"


def _sealed(scale: Scale) -> list[Parcel]:
    with served(scale, {"a.txt": functions(LINES)}) as (_, client):
        once = editor(client, "a.txt")
        for _ in range(scale.rounds * 5):
            once()
        _Keeping.parcels = []
        shipper = Shipper(_Keeping(lambda arguments: client.outbox(**arguments)), FarSide.of(MemoryObjects()))
        while shipper.ship():
            pass
    return _Keeping.parcels


def _publish(parcel: Parcel, connection: NatsConnection) -> None:
    prefix = f"quire.{connection.address.team}."
    publish = connection.nats.jetstream().publish

    async def all_of_it() -> None:
        for name, content in parcel.contents.items():
            await publish(f"{prefix}blobs.{name[:2]}.{name}", content)
        await publish(f"{prefix}segments.{parcel.journal}.{parcel.number:012}", parcel.data)

    connection.wait(all_of_it(), 600)
