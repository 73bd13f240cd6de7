"""Clock view: the records at which times go backwards, because a clock was set back.

Between two such records times only rise. Table `times` maps the time of such a record to its seq, unless a later such
record has an earlier time. The last entry not later than a time gives the record from which on a search for that time
can bisect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple

from quire_journal.model import Event, Record, read_record
from quire_journal.storage import ReadTransaction, WriteTransaction, u64

TABLES = ("times", "set_back")

SLACK_NS: Final = 1_000_000_000
"""Maximum backward step of the clock, in ns, that is hidden by dating a record like its predecessor."""


LONGEST_NS: Final = 25 * 3600 * 1_000_000_000
"""Maximum lifetime of anything that expires, in ns: a day, plus an hour for a clock that is set back."""


def over(expires_ns: int, now_ns: int) -> bool:
    """True if the time `expires_ns` has passed, or is so far ahead that a wrong clock set it."""
    return not now_ns < expires_ns <= now_ns + LONGEST_NS


class SetBack(NamedTuple):
    seq: int  # seq of the first record after the clock was set back
    at_ns: int  # its time
    before_ns: int  # the time of the record before it
    ahead: int  # seq of the first earlier record that is dated later


def dated(last_ns: int, now_ns: int) -> int:
    """Return the time of a record made at `now_ns` after a record dated `last_ns`: `now_ns`, or `last_ns` if the clock
    was set back by at most `SLACK_NS`.
    """
    return last_ns if now_ns < last_ns <= now_ns + SLACK_NS else now_ns


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add a record that is dated before its predecessor."""
    before = w.known.get("dated")
    w.known["dated"] = (record.seq, record.at_ns)
    if before is None or before[0] != record.seq - 1:
        stored = w.get("records", u64(record.seq - 1)) if record.seq > 1 else None
        before = None if stored is None else (record.seq - 1, read_record(record.seq - 1, stored).at_ns)
    if before is None or before[1] <= record.at_ns:
        return
    for key, _ in list(w.scan("times", _key(record.at_ns))):
        w.delete("times", key)
    w.put("times", _key(record.at_ns), u64(record.seq))
    w.put("set_back", u64(record.seq), _key(before[1]))


def first_to_look_at(r: ReadTransaction, at_ns: int) -> int:
    """Return the first record for a search for the time `at_ns`: from this record on, records not later than `at_ns`
    precede all others.
    """
    for _, seq in r.scan("times", b"", _key(at_ns + 1), reverse=True):
        return int.from_bytes(seq, "big")
    return 1


def last_not_after(r: ReadTransaction, at_ns: int, first: int, last: int) -> int:
    """Return the last record of first..last (with rising times) that is not later than `at_ns`, else first - 1."""

    def when(seq: int) -> int:
        stored = r.get("records", u64(seq))
        return at_ns if stored is None else read_record(seq, stored).at_ns

    return first - 1 + bisect_right(range(first, last + 1), at_ns, key=when)


def set_back(r: ReadTransaction) -> Iterator[SetBack]:
    """Yield the places where the clock was set back, newest first."""
    rows = r.scan("set_back", reverse=True)
    for (key, before), older in pairwise(chain(rows, ((b"", b""),))):
        seq, begins = int.from_bytes(key, "big"), int.from_bytes(older[0], "big") or 1
        stored = r.get("records", key)
        if stored is not None:
            at_ns = read_record(seq, stored).at_ns
            ahead = last_not_after(r, at_ns, begins, seq - 1) + 1
            yield SetBack(seq, at_ns, int.from_bytes(before, "big"), ahead)


def _key(at_ns: int) -> bytes:
    return u64(min(max(at_ns, 0), (1 << 64) - 1))
