"""The format on disk: golden bytes for every kind of event and for a record.

`tests/vectors/events.json` holds, by kind, the fields of an example and its bytes in hexadecimal. A test that fails
here says that journals which exist would be read otherwise than they were written: append fields with a default,
or give the event a new tag and an upcaster. Lines are only added to the file, never changed.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from quire_journal.events import BY_KIND, EVENTS, Event, WritesSettled
from quire_journal.ids import BatchId, Seq, WriterId
from quire_journal.records import GENESIS, Record, decode_record, encode_event, encode_record, record_hash, seal

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "events.json").read_text())


def test_every_kind_has_a_golden_vector() -> None:
    assert {*VECTORS["events"]} >= {*BY_KIND}


def test_no_two_events_share_a_kind_and_none_lacks_one() -> None:
    assert len(BY_KIND) == len(EVENTS)
    assert all(kind and event.kind == kind for kind, event in BY_KIND.items())
    assert {*EVENTS} == {*Event.__subclasses__()}


@every("kind", BY_KIND)
def test_an_event_that_is_written_today_has_the_bytes_it_always_had(kind: str) -> None:
    vector = VECTORS["events"][kind][-1]
    event = msgspec.convert(vector["fields"], BY_KIND[kind], strict=False)
    assert bytes(encode_event(event)).hex() == vector["bytes"]


@every("kind", VECTORS["events"])
def test_an_event_that_was_ever_written_is_read_with_the_fields_it_had(kind: str) -> None:
    for vector in VECTORS["events"][kind]:
        record = Record(1, 1, 0, 1, kind, msgspec.Raw(bytes.fromhex(vector["bytes"])), GENESIS)
        event = record.event()
        assert event is not None
        written = msgspec.json.decode(msgspec.json.encode(vector["fields"]))
        assert msgspec.json.decode(msgspec.json.encode(event))[: len(written)] == written


@every("event", EVENTS, ids=lambda event: event.kind)
def test_the_last_vector_of_a_kind_shows_every_field(event: type[Event]) -> None:
    assert len(VECTORS["events"][event.kind][-1]["fields"]) == len(event.__struct_fields__)


def test_a_record_has_the_bytes_and_the_hash_it_always_had() -> None:
    vector = VECTORS["record"]
    record = seal(
        Seq(7),
        1_790_000_000_000_000_000,
        WriterId(3),
        BatchId(6),
        WritesSettled(5),
        bytes(range(32)),
        b"an operation id.",
    )
    stored = encode_record(record)
    assert stored.hex() == vector["bytes"]
    assert record_hash(stored).hex() == vector["sha256"]
    assert decode_record(stored) == record


def test_a_record_with_fields_of_a_later_version_is_read() -> None:
    stored = bytes.fromhex(VECTORS["record"]["bytes"])
    longer = msgspec.msgpack.encode([*msgspec.msgpack.decode(stored), "a field more"])
    assert decode_record(longer) == decode_record(stored)


def test_a_kind_that_this_version_does_not_know_is_carried() -> None:
    record = Record(1, 2, 3, 1, "file_painted", msgspec.Raw(b"\x91\xa3red"), GENESIS)
    assert decode_record(encode_record(record)) == record
    assert record.event() is None


@cache
def events(kind: type[Event]) -> st.SearchStrategy[Event]:
    """Events of one kind, with whatever their fields may hold."""
    hints = get_type_hints(kind)
    return st.builds(kind, *(st.from_type(hints[field]) for field in kind.__struct_fields__))


@given(st.data())
def test_every_event_comes_back_from_its_record(data: st.DataObject) -> None:
    event = data.draw(events(data.draw(st.sampled_from(EVENTS))))
    try:
        record = seal(Seq(1), 1, WriterId(0), BatchId(1), event, GENESIS)
    except (OverflowError, UnicodeEncodeError):
        return  # no such number or text ever gets there
    assert decode_record(encode_record(record)).event() == event
