"""Upcasting: bodies of old versions of a kind reach the shape of today, or stay unknown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quire_journal.model.events import BY_KIND
from quire_journal.model.records import Record
from quire_journal.model.upcast import UPCASTERS, Upcaster, lift, make_tag, parse_tag

PAINT: dict[tuple[str, int], Upcaster] = {
    ("file_painted", 1): lambda fields: [*fields, "matt"],
    ("file_painted", 2): lambda fields: [fields[0], {"colour": fields[1], "finish": fields[2]}],
}


def body(*fields: Any) -> bytes:
    return msgspec.msgpack.encode(fields)


@pytest.mark.parametrize(("tag", "fields"), [("file_painted", ("a", "red")), ("file_painted@2", ("a", "red", "matt"))])
def test_every_old_version_goes_through_all_the_steps_to_the_current_one(tag: str, fields: tuple[str, ...]) -> None:
    lifted = lift(tag, body(*fields), {"file_painted@3"}, PAINT)
    assert lifted == ("file_painted@3", body("a", {"colour": "red", "finish": "matt"}))


@pytest.mark.parametrize(
    "tag", ["file_painted@4", "file_painted@99999", "file_painted@x", "file_painted@", "@", "file"]
)
def test_a_kind_from_the_future_or_from_nowhere_stays_unknown(tag: str) -> None:
    assert lift(tag, body("a"), {"file_painted@3"}, PAINT) is None


def test_a_chain_of_steps_that_does_not_reach_the_current_shape_stays_unknown() -> None:
    assert lift("file_painted", body("a", "red"), {"file_painted@9"}, PAINT) is None


def test_a_body_that_is_no_array_is_damage() -> None:
    with pytest.raises(msgspec.MsgspecError):
        lift("file_painted", b"\xc1", {"file_painted@3"}, PAINT)


@pytest.mark.parametrize("version", [1, 2, 17])
def test_a_tag_says_kind_and_version(version: int) -> None:
    assert parse_tag(make_tag("file_painted", version)) == ("file_painted", version)
    assert make_tag("file_painted", 1) == "file_painted"


def test_every_upcaster_leads_to_a_kind_that_this_version_knows() -> None:
    assert all(lift(make_tag(*key), body(), BY_KIND, {key: lambda fields: fields, **UPCASTERS}) for key in UPCASTERS)


def test_a_record_of_a_kind_that_nothing_leads_to_has_no_event() -> None:
    assert Record(1, 1, 0, 1, "file_painted@7", msgspec.Raw(body("a")), bytes(32)).event() is None
