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
import pytest
from hypothesis import given, strategies as st

from letters import texts
from quire_journal.model.events import BY_KIND, EVENTS, Event, LeaseExpired, WritesSettled
from quire_journal.model.ids import BatchId, Seq, WriterId
from quire_journal.model.records import (
    GENESIS,
    JournalDamaged,
    Record,
    decode_record,
    encode_event,
    encode_record,
    link,
    read_record,
    record_hash,
    seal,
)

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "vectors" / "events.json").read_text())


def test_every_kind_has_a_golden_vector() -> None:
    assert {*VECTORS["events"]} >= {*BY_KIND}


def test_no_two_events_share_a_kind_and_none_lacks_one() -> None:
    assert len(BY_KIND) == len(EVENTS)
    assert all(kind and event.kind == kind for kind, event in BY_KIND.items())


@pytest.mark.parametrize("kind", BY_KIND)
def test_an_event_that_is_written_today_has_the_bytes_it_always_had(kind: str) -> None:
    vector = VECTORS["events"][kind][-1]
    event = msgspec.convert(vector["fields"], BY_KIND[kind], strict=False)
    assert bytes(encode_event(event)).hex() == vector["bytes"]


@pytest.mark.parametrize("kind", VECTORS["events"])
def test_an_event_that_was_ever_written_is_read_with_the_fields_it_had(kind: str) -> None:
    for vector in VECTORS["events"][kind]:
        record = Record(1, 1, 0, 1, kind, msgspec.Raw(bytes.fromhex(vector["bytes"])), GENESIS)
        event = record.event()
        assert event is not None
        written = msgspec.json.decode(msgspec.json.encode(vector["fields"]))
        assert msgspec.json.decode(msgspec.json.encode(event))[: len(written)] == written


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_the_last_vector_of_a_kind_shows_every_field(event: type[Event]) -> None:
    assert len(VECTORS["events"][event.kind][-1]["fields"]) == len(event.__struct_fields__)


def test_a_record_has_the_bytes_and_the_hash_it_always_had() -> None:
    at_ns, prev, op = 1_790_000_000_000_000_000, bytes(range(32)), b"an operation id."
    record = seal(Seq(7), at_ns, WriterId(3), BatchId(6), WritesSettled(5), prev, op)
    older = Record(7, at_ns, 3, 6, "writes_settled", encode_event(WritesSettled(5)), prev, op)
    for vector, made in (("record", older), ("record of format 4", record)):
        stored = encode_record(made)
        assert stored.hex() == VECTORS[vector]["bytes"]
        assert record_hash(stored).hex() == VECTORS[vector]["sha256"]
        assert decode_record(stored) == made


def test_the_kinds_that_have_numbers_keep_them() -> None:
    kinds = VECTORS["kinds of format 4"]
    for number, kind in enumerate(kinds):
        record = Record(3, 2, 0, 1, kind, msgspec.Raw(b"\x90"), bytes(16))
        assert msgspec.msgpack.decode(encode_record(record))[4] == number
        assert decode_record(encode_record(record)) == record
    with pytest.raises(msgspec.ValidationError, match="no kind with the number"):
        decode_record(msgspec.msgpack.encode([3, 2, 0, -2, len(kinds), [], bytes(16)]))


@pytest.mark.parametrize("batch", [1, 2, 300, 301])
def test_a_record_of_either_shape_is_read_as_it_was_and_written_as_it_was(batch: int) -> None:
    for prev in (bytes(16), bytes(32)):
        record = Record(301, 2, 3, batch, "writes_settled", msgspec.Raw(b"\x91\x05"), prev)
        assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize("vector", ["record", "record of format 4"])
def test_a_record_with_fields_of_a_later_version_is_read(vector: str) -> None:
    stored = bytes.fromhex(VECTORS[vector]["bytes"])
    longer = msgspec.msgpack.encode([*msgspec.msgpack.decode(stored), "a field more"])
    assert decode_record(longer) == decode_record(stored)


def test_text_that_is_no_utf8_is_a_damaged_record() -> None:
    event = encode_event(LeaseExpired(1, "a.txt"))
    broken = msgspec.Raw(bytes(event).replace(b"a.txt", b"\xff.txt"))
    stored = encode_record(Record(1, 1, WriterId(0), BatchId(1), "a kind", broken, link(GENESIS)))
    with pytest.raises(JournalDamaged, match="record 1 cannot be decoded"):
        read_record(1, stored.replace(b"a kind", b"\xff kind"))
    with pytest.raises(JournalDamaged, match="record 1 cannot be decoded"):
        msgspec.structs.replace(read_record(1, stored), kind=LeaseExpired.kind).event()


def test_a_kind_that_this_version_does_not_know_is_carried() -> None:
    for prev in (GENESIS, link(GENESIS)):
        record = Record(1, 2, 3, 1, "file_painted", msgspec.Raw(b"\x91\xa3red"), prev)
        assert decode_record(encode_record(record)) == record
        assert record.event() is None


@cache
def events(kind: type[Event]) -> st.SearchStrategy[Event]:
    """Events of one kind, with whatever their fields may hold."""
    hints = get_type_hints(kind)
    return st.builds(kind, *(values(hints[field]) for field in kind.__struct_fields__))


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of one type."""
    if hint == tuple[str, ...]:
        return st.lists(texts()).map(tuple)
    return texts() if hint is str else st.from_type(hint)


@given(st.data())
def test_every_event_comes_back_from_its_record(data: st.DataObject) -> None:
    event = data.draw(events(data.draw(st.sampled_from(EVENTS))))
    try:
        record = seal(Seq(1), 1, WriterId(0), BatchId(1), event, GENESIS)
    except (OverflowError, UnicodeEncodeError):
        return  # no such number or text ever gets there
    assert decode_record(encode_record(record)).event() == event
