"""Points: every form leads to its record, and nothing else is taken for one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from scribe import SECOND, Scribe

from quire_journal.history.points import MAX_NAME, is_name, parse_point, parse_rfc3339, rfc3339, time_of
from quire_journal.model.events import CheckpointNamed
from quire_journal.model.refusals import Refusal

YEAR_9999_NS = 253_402_300_799 * SECOND


def scribe_with_records() -> Scribe:
    """Five records, a second apart, the third of which names `here` the second."""
    scribe = Scribe().introduce()
    scribe.note(CheckpointNamed("here", 2), writer=1)
    scribe.write("a", b"1\n")
    scribe.write("a", b"2\n")
    return scribe


@pytest.mark.parametrize(
    ("point", "seq"),
    [
        ("v4", 4),
        ("seq:3", 3),
        ("seq:0", 0),
        ("here", 2),
        ("1970-01-01T00:00:04Z", 4),
        ("1970-01-01T00:00:04.999999999Z", 4),
        ("1970-01-01T01:00:03+01:00", 3),
        ("1969-07-20T20:17:40Z", 0),
        ("2030-01-01t00:00:00z", 5),
    ],
)
def test_each_form_of_a_point_leads_to_its_record(point: str, seq: int) -> None:
    with scribe_with_records().history() as history:
        assert parse_point(point, history, "at") == seq


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ("v6", "not_found"),
        ("seq:99", "not_found"),
        ("nowhere", "not_found"),
        ("", "schema_invalid"),
        ("seq:x", "schema_invalid"),
        ("2026-01-31", "schema_invalid"),
        ("2026-01-31T12:00:00", "schema_invalid"),
        ("2026-13-31T12:00:00Z", "schema_invalid"),
        (" here", "schema_invalid"),
        ("a\nb", "schema_invalid"),
        ("n" * 201, "schema_invalid"),
    ],
)
def test_what_leads_nowhere_is_refused_with_the_forms_that_do(point: str, code: str) -> None:
    with scribe_with_records().history() as history, pytest.raises(Refusal) as refused:
        parse_point(point, history, "at")
    assert refused.value.code == code


def test_a_refusal_names_the_argument_and_what_was_given_for_it() -> None:
    with scribe_with_records().history() as history:
        for point, code in (("c3.18bf", "schema_invalid"), ("a..b", "schema_invalid"), ("seq:99", "not_found")):
            with pytest.raises(Refusal) as refused:
                parse_point(point, history, "since")
            details = refused.value.reply()
            named = details.get("argument"), details["point"]
            assert named == ("since" if code == "schema_invalid" else None, point)
            assert (details["error"], details["suggested_action"]) == (code, "name_a_point")


def test_the_time_of_a_record_is_told_and_of_one_that_is_not_there_none() -> None:
    with scribe_with_records().history() as history:
        assert (time_of(2, history), time_of(99, history)) == ("1970-01-01T00:00:02Z", None)


def test_a_name_that_was_typed_wrong_is_told_with_the_nearest() -> None:
    with scribe_with_records().history() as history, pytest.raises(Refusal) as refused:
        parse_point("hree", history, "at")
    assert refused.value.message.endswith("Did you mean here?")


def test_a_checkpoint_with_a_name_of_an_earlier_version_is_still_a_point() -> None:
    scribe = scribe_with_records()
    scribe.note(CheckpointNamed("today", 3), writer=1)
    with scribe.history() as history:
        assert parse_point("today", history, "at") == 3
        with pytest.raises(Refusal, match="'yesterday' is not a point"):
            parse_point("yesterday", history, "at")


def test_a_cursor_is_told_as_one_with_the_point_that_it_stands_for() -> None:
    with scribe_with_records().history() as history, pytest.raises(Refusal) as refused:
        parse_point("c4.18ea1deadc1ec410", history, "at")
    assert (refused.value.code, refused.value.message.endswith("as a point it is seq:4.")) == ("schema_invalid", True)


@pytest.mark.parametrize(
    "name",
    [
        "v12",
        "seq:1",
        "seq:",
        "2026-01-31T12:00:00Z",
        "2026-01-31",
        "2d",
        "1h30m",
        "2 days ago",
        "14:30",
        "today",
        "now",
        "",
        "\a",
        " x",
    ],
)
def test_a_name_that_means_something_else_is_no_name(name: str) -> None:
    assert not is_name(name)


@pytest.mark.parametrize(
    "name", ["before the merge", "v1.2", "wip", "é", "version 12", "v", "todays", "3rd", "2d-old", "n" * MAX_NAME]
)
def test_ordinary_names_are_names(name: str) -> None:
    assert is_name(name)


@given(st.integers(min_value=0, max_value=YEAR_9999_NS))
def test_a_time_that_is_shown_leads_back_to_the_nanosecond(at_ns: int) -> None:
    assert parse_rfc3339(rfc3339(at_ns)) == at_ns


@pytest.mark.parametrize(
    ("at_ns", "shown"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_500_000_000, "1970-01-01T00:00:01.500Z"),
        (1_000_001_000, "1970-01-01T00:00:01.000001Z"),
        (1_000_000_001, "1970-01-01T00:00:01.000000001Z"),
    ],
)
def test_a_time_is_shown_as_short_as_it_is_exact(at_ns: int, shown: str) -> None:
    assert rfc3339(at_ns) == shown


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))
def test_times_agree_with_the_standard_library(moment: datetime) -> None:
    at_ns = parse_rfc3339(moment.isoformat())
    assert at_ns is not None
    assert datetime.fromisoformat(rfc3339(at_ns)) == moment


@pytest.mark.parametrize(
    ("text", "at_ns"),
    [
        ("2016-12-31T23:59:60Z", 1_483_228_800 * SECOND),
        ("1970-01-01 00:00:01.1234567899Z", 1_123_456_789),
        ("1970-01-01T00:00:00-00:30", 1800 * SECOND),
        ("1970-01-01T00:00:00+24:00", None),
        ("1970-01-01T00:00:00+00:60", None),
        ("1970-01-01T24:00:00Z", None),
        ("١٩٧٠-01-01T00:00:00Z", None),
    ],
)
def test_edges_of_the_standard(text: str, at_ns: int | None) -> None:
    assert parse_rfc3339(text) == at_ns
