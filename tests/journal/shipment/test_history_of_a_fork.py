"""The history of another host, from its segments: who wrote, also where the name lies before a fork."""

from __future__ import annotations

from scribe import Scribe

from quire_client.hub.history import HostHistory, newest_work
from quire_client.ship.address import FarSide
from quire_client.ship.memory import MemoryObjects
from quire_journal.shipment.segment import FORMAT, Segment, encode_segment


def put(far: FarSide, scribe: Scribe, journal: str, parent: str, number: int, first: int) -> None:
    with scribe.store.reading() as r:
        records = tuple(stored for key, stored in r.scan("records") if int.from_bytes(key, "big") >= first)
    far.segments.put(
        journal, number, encode_segment(Segment(FORMAT, journal, parent, number, b"", first, records, (), (), ""))
    )


def test_a_writer_is_named_who_was_introduced_before_the_fork() -> None:
    far, scribe = FarSide.of(MemoryObjects()), Scribe().introduce()
    put(far, scribe, "j", "", 1, 1)
    first = scribe.seq + 1
    scribe.write("a.txt", b"a\n", writer=1)
    put(far, scribe, "j.f00d", "j", 2, first)
    (work,) = newest_work([HostHistory(far, "j.f00d", None)], 5)
    assert work["writer"]["agent"] == "ann"
