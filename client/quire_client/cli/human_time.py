"""Converts times as users type them into points: `2d`, `yesterday`, `14:30`, `2026-01-31 14:30`.

Days begin in the user's time zone; `2d` is 48 hours.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

from quire_journal.history import AGO, CLOCK, DATE, DAYS, NOW, PART

POINTS: Final = """\
A POINT is a version (v12 or 12), seq:N, a checkpoint, what git knows (HEAD~1, a branch, a commit), before:WORD (in
front of the newest program, command or prompt with that word), or a time: 2026-01-31T12:00:00Z, 2026-01-31,
2026-01-31 14:30 or 14:30 (local), 90m, 1h30m or 2d (ago), today or yesterday (its
beginning)."""

HERE: Final = (
    "On the command line a point can also be HEAD~1, a branch or a commit of git, before:WORD (in front of the newest "
    "program, command or prompt with that word), and a time 2026-01-31, 2026-01-31 14:30 or 14:30 (local), 2d (ago), "
    "today or yesterday."
)

PARTED: Final = """\
The last @ of PATH@POINT parts the two, unless a file is called all of it: `icon@2x.png` is a path, and
`icon@2x.png@v12` is that path at a point."""

_DAY_AND_CLOCK: Final = re.compile(r"(today|yesterday) (\d\d?:\d\d(?::\d\d)?)", re.ASCII)
_ZONE: Final = re.compile(r"(:\d\d) ([+-]\d\d:?\d\d|Z)$", re.ASCII)

_UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_EXACT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


class NoMoment(ValueError):
    """A text has the form of a time but is not a valid one. The message is a sentence."""


def point(text: str, now: datetime, zone: tzinfo | None = None, end: bool = False) -> str:
    """Return a time as RFC 3339 in UTC, and any other text unchanged. `zone` is the user's time zone (default: the
    system's). `end` allows a time of day still to come today. Raises NoMoment for an invalid time.
    """
    try:
        moment = _moment(text, now, zone)
        if moment is not None and moment > now and not end and CLOCK.fullmatch(text):
            day = now.astimezone(zone).date() - timedelta(days=1)
            raise NoMoment(f"{text!r} is still to come today; yesterday's is '{day} {text.zfill(5)}'.")
        return text if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except NoMoment:
        raise
    except (OverflowError, ValueError):  # beyond the calendar's first or last day in another zone
        raise NoMoment(f"{text!r} is at the end of the calendar, where no time can be told.") from None


def _moment(text: str, now: datetime, zone: tzinfo | None) -> datetime | None:
    if _EXACT.fullmatch(text):
        return None  # already RFC 3339, as the daemon takes it
    if text == NOW:
        return now
    if clock := CLOCK.fullmatch(text):
        hour, minute, second = (int(part or 0) for part in clock.groups())
        try:
            shown = time(hour, minute, second)
        except ValueError:
            raise NoMoment(f"{text!r} is no time of day, which is written as 14:30 or 14:30:05.") from None
        return _there(datetime.combine(now.astimezone(zone).date(), shown), zone)
    if text in DAYS:
        day = now.astimezone(zone).date() - timedelta(days=DAYS[text])
        return _there(datetime.combine(day, time()), zone)
    if AGO.fullmatch(text):
        seconds = sum(int(count) * _UNITS[unit[0]] for count, unit in re.findall(PART, text, re.ASCII))
        try:
            return now - timedelta(seconds=seconds)
        except OverflowError:
            raise NoMoment(f"{text!r} is before all time.") from None
    if parted := _DAY_AND_CLOCK.fullmatch(text):
        day = now.astimezone(zone).date() - timedelta(days=DAYS[parted[1]])
        return _moment(f"{day.isoformat()} {parted[2].zfill(5)}", now, zone)
    if DATE.fullmatch(text):
        try:
            said = datetime.fromisoformat(_ZONE.sub(r"\1\2", text.upper().replace(" UTC", "Z")))
        except ValueError:
            forms = "2026-01-31, 2026-01-31T14:30 or 2026-01-31T12:00:00Z"
            raise NoMoment(f"{text!r} is not a time, which is written as {forms}.") from None
        return said if said.tzinfo is not None else _there(said, zone)
    return None


def _there(said: datetime, zone: tzinfo | None) -> datetime:
    return said.astimezone() if zone is None else said.replace(tzinfo=zone)
