"""Rows about the hub: shipping through JetStream beside a plain publisher of the same segments."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rows_edit import editor, functions, served
from rows_many import LINES
from table import Line, Scale, bounded

from nats_server import NatsNode, free_ports, new_team
from quire_client.hub import at_hub
from quire_client.ship import DaemonOutbox, FarSide, HubAddress, NatsConnection, Shipper
from quire_client.ship.memory import MemoryObjects
from quire_client.ship.shipper import Parcel, Shipment

PAIRS = 5


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
    """Ship sealed segments with their contents through JetStream, by turns with a publisher that waits for each
    acknowledgment and looks at nothing.
    """
    parcels = _sealed(scale)
    took: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        node = NatsNode(Path(folder), free_ports(1)[0])
        node.start()
        try:
            for pair in range(PAIRS):
                for ours in (True, False) if pair % 2 else (False, True):
                    with at_hub(HubAddress.parse(new_team(node.host))) as (connection, far):
                        begun = time.perf_counter()
                        _ship(parcels, far) if ours else _publish(parcels, connection)
                        took[ours].append(time.perf_counter() - begun)
        finally:
            node.kill()
    ratio = statistics.median(a / b for a, b in zip(took[True], took[False], strict=True))
    size = sum(len(one.data) + sum(map(len, one.contents.values())) for one in parcels)
    contents = sum(len(one.contents) for one in parcels)
    note = f"{len(parcels)} segments, {contents} contents, {size / 1e6:.1f} MB; {statistics.median(took[True]):.2f} s"
    yield bounded("shipping through JetStream, by a plain publisher of the same", ratio, "×", 1.3, note)


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


def _ship(parcels: Sequence[Parcel], far: FarSide) -> None:
    shipper = Shipper(Kept(parcels), far)
    while shipper.ship():
        pass


def _publish(parcels: Sequence[Parcel], connection: NatsConnection) -> None:
    prefix = f"quire.{connection.address.team}."
    publish = connection.nats.jetstream().publish

    async def all_of_it() -> None:
        for parcel in parcels:
            for name, content in parcel.contents.items():
                await publish(f"{prefix}blobs.{name[:2]}.{name}", content)
            await publish(f"{prefix}segments.{parcel.journal}.{parcel.number:012}", parcel.data)

    connection.wait(all_of_it(), 600)
