"""The clock view: where the times of records go back, for a clock may be set back, and the order of the log is by seq.

Between two such places times only rise, so that a search can halve them. A stretch between them answers for the times
from its first record's on, up to the beginning of the next one that begins later; the rows of `times` are the stretches
that answer for any time, by the time with which they begin: no later stretch begins as early. A search is one look into
that table and one by halves, whatever the clock did.
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
"""So far at most a record is dated later than the clock says, to keep it behind the one in front of it.

A clock that is corrected by less seems to stand still; one that is set back by more is followed at once.
"""


LONGEST_NS: Final = 25 * 3600 * 1_000_000_000
"""Nothing that ends by itself ends later: a day, and an hour for a clock that is set back meanwhile."""


def over(expires_ns: int, now_ns: int) -> bool:
    """Has what expires then ended? So has what would go on for longer than it can: its time was given by a clock that
    was ahead, and has been set back since.
    """
    return not now_ns < expires_ns <= now_ns + LONGEST_NS


class SetBack(NamedTuple):
    """A place where the clock was set back."""

    seq: int  # of the first record after that
    at_ns: int  # its time
    before_ns: int  # the time of the record in front of it
    ahead: int  # the first of the records in front of it that are dated later than it


def dated(last_ns: int, now_ns: int) -> int:
    """The time of a record that is made at `now_ns`, behind one that is dated `last_ns`."""
    return last_ns if now_ns < last_ns <= now_ns + SLACK_NS else now_ns


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Note where a record is dated before the one in front of it."""
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
    """The record with which the stretch begins that answers for this time.

    From there on the records that are not later than it stand before all others.
    """
    for _, seq in r.scan("times", b"", _key(at_ns + 1), reverse=True):
        return int.from_bytes(seq, "big")
    return 1


def last_not_after(r: ReadTransaction, at_ns: int, first: int, last: int) -> int:
    """The last of the records first..last, whose times only rise, that is not later than a time; else first - 1."""

    def when(seq: int) -> int:
        stored = r.get("records", u64(seq))
        return at_ns if stored is None else read_record(seq, stored).at_ns

    return first - 1 + bisect_right(range(first, last + 1), at_ns, key=when)


def set_back(r: ReadTransaction) -> Iterator[SetBack]:
    """Where the clock was set back, the newest first."""
    rows = r.scan("set_back", reverse=True)
    for (key, before), older in pairwise(chain(rows, ((b"", b""),))):
        seq, begins = int.from_bytes(key, "big"), int.from_bytes(older[0], "big") or 1
        stored = r.get("records", key)
        if stored is not None:
            at_ns = read_record(seq, stored).at_ns
            ahead = last_not_after(r, at_ns, begins, seq - 1) + 1
            yield SetBack(seq, at_ns, int.from_bytes(before, "big"), ahead)


def _key(at_ns: int) -> bytes:
    """A time as a key. One that no clock has is the nearest that a key can hold."""
    return u64(min(max(at_ns, 0), (1 << 64) - 1))
