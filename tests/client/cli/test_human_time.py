"""Times as people type them: which moment each means, and what is none."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from quire_client.cli.human_time import NoMoment, point

NOW = datetime(2026, 3, 29, 12, 0, tzinfo=UTC)  # at two in the morning of this day clocks there were put forward
THERE = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("now", "2026-03-29T12:00:00.000000Z"),
        ("45s", "2026-03-29T11:59:15.000000Z"),
        ("90m", "2026-03-29T10:30:00.000000Z"),
        ("1h30m", "2026-03-29T10:30:00.000000Z"),
        ("2d", "2026-03-27T12:00:00.000000Z"),
        ("1w", "2026-03-22T12:00:00.000000Z"),
        ("2 days ago", "2026-03-27T12:00:00.000000Z"),
        ("1 hour 5 minutes ago", "2026-03-29T10:55:00.000000Z"),
        ("today", "2026-03-28T23:00:00.000000Z"),
        ("yesterday", "2026-03-27T23:00:00.000000Z"),
        ("13:30", "2026-03-29T11:30:00.000000Z"),
        ("9:05:07", "2026-03-29T07:05:07.000000Z"),
        ("2026-03-28", "2026-03-27T23:00:00.000000Z"),
        ("2026-03-28T14:30", "2026-03-28T13:30:00.000000Z"),
        ("2026-03-29 14:30:05", "2026-03-29T12:30:05.000000Z"),
        ("yesterday 14:30", "2026-03-28T13:30:00.000000Z"),
        ("today 9:05", "2026-03-29T07:05:00.000000Z"),
        ("2026-03-29 14:30:05 +0200", "2026-03-29T12:30:05.000000Z"),
        ("2026-03-29 14:30:05 +02:00", "2026-03-29T12:30:05.000000Z"),
        ("2026-03-29 14:30:05 UTC", "2026-03-29T14:30:05.000000Z"),
        ("2026-03-29T14:30Z", "2026-03-29T14:30:00.000000Z"),
        ("2026-03-29T14:30+05:30", "2026-03-29T09:00:00.000000Z"),
    ],
)
def test_a_time_is_sent_in_utc(text: str, means: str) -> None:
    assert point(text, NOW, THERE) == means


def test_a_time_of_day_that_is_still_to_come_is_an_end_alone() -> None:
    assert point("23:00", NOW, THERE, end=True) == "2026-03-29T21:00:00.000000Z"
    with pytest.raises(NoMoment, match="still to come today; yesterday's is '2026-03-28 23:00'"):
        point("23:00", NOW, THERE)


NO_TIMES = ["v12", "seq:3", "lunch", "2", "2x", "d", "2d-old", "12abc", "3rd", "todays", "2026-01-31-release", "1:2"]


@pytest.mark.parametrize("text", [*NO_TIMES, ""])
def test_what_is_no_time_is_left_as_it_is(text: str) -> None:
    assert point(text, NOW, THERE) == text


def test_an_exact_time_keeps_all_its_digits() -> None:
    for exact in ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456789Z", "2026-01-31t12:00:00+01:00"):
        assert point(exact, NOW, THERE) == exact


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-45",
        "25:00",
        "10:60",
        "2026-01-31T25:00",
        "2026-01-31Tlunch",
        "999999999w",
        "0001-01-01",
        "0001-01-01T00:00+05:00",
        "9999-12-31T23:59-05:00",
    ],
)
def test_an_invalid_time_is_reported_as_invalid(text: str) -> None:
    with pytest.raises(NoMoment, match=f"^'{re.escape(text)}' is "):
        point(text, NOW, THERE)


def test_without_a_zone_days_are_those_of_the_system() -> None:
    began = datetime.fromisoformat(point("today", NOW))
    assert began.astimezone().strftime("%H:%M:%S") == "00:00:00"
    assert began <= NOW


def test_the_ends_of_the_calendar_are_no_times_where_the_system_says_the_zone() -> None:
    with pytest.raises(NoMoment, match="end of the calendar"):
        point("0001-01-01", NOW)
