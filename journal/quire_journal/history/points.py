"""Points: names of a place in the log, and the text form of times.

A point is a version (`v12` or `12`), `seq:N`, a time in RFC 3339, a checkpoint's name, or a git commit
(`commit:1a2b3c4`: when HEAD came to it). A point means the state right after a record; a time means the last record not
dated later. Times are ns since 1970 inside, RFC 3339 in UTC outside.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from quire_journal.history.commit_tree import at_commit, commit_of
from quire_journal.history.history import History
from quire_journal.history.typed_times import is_typed_time
from quire_journal.model import Refusal, Seq, did_you_mean, parse_version_token

POINT_FORMS: Final = "a version (v12), seq:N, a time (2026-01-31T12:00:00Z) or a checkpoint's name"

MAX_NAME: Final = 200

_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
MOST_NAMES: Final = 200

_NUMBER: Final = re.compile(r"\d{1,19}", re.ASCII)
_SEQ: Final = re.compile(r"seq:(\d{1,19})", re.ASCII)
_CURSOR_LIKE: Final = re.compile(r"c\d+\.[0-9a-f]+", re.ASCII)
_SECOND: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=None)


def parse_point(point: str, history: History, argument: str) -> Seq:
    """Return the last record of the state that `point` names; 0 for a time before the first record.

    Raises `Refusal` about `argument`: `schema_invalid` for an unknown form, `not_found` for a version, seq or name that
    the journal does not have.
    """
    seq = _parse_seq(point)
    if seq is not None:
        head = history.head()
        if seq > head:
            raise _unknown(f"{point!r} is later than the newest record, seq:{head}.", point)
        return seq
    at_ns = parse_rfc3339(point)
    if at_ns is not None:
        return history.seq_at(at_ns)
    if _CURSOR_LIKE.fullmatch(point):
        seq_said = point[1:].partition(".")[0]
        message = f"{point!r} is a cursor, for `since` and pages of `log`; as a point it is seq:{seq_said}."
        raise Refusal("schema_invalid", message, "name_a_point", argument=argument, point=point)
    if commit := commit_of(point):
        return _at_commit(commit, point, history)
    named = history.checkpoint(point)  # before numbers, as an older version of Quire may have allowed such names
    if named is not None:
        return named
    if _NUMBER.fullmatch(point):
        return parse_point(f"seq:{point}", history, argument)
    if not is_name(point):
        message = f"{point!r} is not a point: it must be {POINT_FORMS}."
        raise Refusal("schema_invalid", message, "name_a_point", argument=argument, point=point)
    raise _unknown(no_checkpoint(point, history), point)


def _at_commit(commit: str, point: str, history: History) -> Seq:
    seq = at_commit(commit, history)
    if seq is None:
        message = f"The journal does not know when HEAD came to commit {commit[:12]}; `diff` and `tree` show its files."
        raise Refusal("not_found", message, "choose_another_point", point=point)
    return seq


def no_checkpoint(name: str, history: History) -> str:
    names = [named.name for named in history.checkpoints()[-MOST_NAMES:]]
    return f"There is no checkpoint {name!r}; a point is {POINT_FORMS}.{did_you_mean(name, names)}"


def is_name(name: str) -> bool:
    """True if a checkpoint can have this name: printable, short, and neither another point, nor a part of a point's
    syntax, nor an option.
    """
    return (
        0 < len(name) <= MAX_NAME
        and name.isprintable()
        and name.strip() == name
        and _parse_seq(name) is None
        and not commit_of(name)
        and not name.startswith("seq:")
        and not is_typed_time(name)
        and not _CURSOR_LIKE.fullmatch(name)
        and not name.startswith("-")
        and "@" not in name
        and ".." not in name
    )


def rfc3339(at_ns: int) -> str:
    """Return a time as RFC 3339 in UTC, exact, so that it leads back to its record."""
    seconds, fraction = divmod(at_ns, _SECOND)
    whole = (_EPOCH_UTC + timedelta(seconds=seconds)).isoformat()  # half of the time of `strftime`
    if not fraction:
        return f"{whole}Z"
    digits = f"{fraction:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{whole}.{digits}Z"


def to_the_second(at_ns: int) -> str:
    """Return a time as RFC 3339 without the fraction."""
    return rfc3339(at_ns - at_ns % _SECOND)


def parse_rfc3339(text: str) -> int | None:
    """Return a time with an offset in ns since 1970; None if malformed. A leap second counts as the second after it;
    digits below ns are dropped.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, _, sign, off_hours, off_minutes = found.groups()[6:]
    leap = second == 60
    try:
        zone = _zone(sign, off_hours, off_minutes)
        moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=zone)
    except ValueError:
        return None
    since = moment - _EPOCH
    seconds = since.days * 86_400 + since.seconds + leap
    return seconds * _SECOND + int((fraction or "0")[:9].ljust(9, "0"))


def time_of(seq: int, history: History) -> str | None:
    """Return the time of record `seq` in RFC 3339, or None."""
    record = history.record(seq)
    return None if record is None else rfc3339(record.at_ns)


def _zone(sign: str | None, hours: str | None, minutes: str | None) -> timezone:
    if sign is None or hours is None or minutes is None:
        return UTC
    if int(minutes) > 59:
        raise ValueError(f"no offset has {minutes} minutes")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)


def _parse_seq(point: str) -> Seq | None:
    found = _SEQ.fullmatch(point)
    return Seq(int(found[1])) if found else parse_version_token(point)


def _unknown(message: str, point: str) -> Refusal:
    return Refusal("not_found", message, "name_a_point", point=point)
