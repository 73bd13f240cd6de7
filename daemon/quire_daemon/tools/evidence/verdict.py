"""Verdict: who made the writes that were found while a call was under way, told when the call ends. Pure.

What the announcement accounted for is proved already. The end of the call may tell more than its beginning did. What is
left is the call's by probability, where its command line accounts for the file and no other call could have written it;
where several could, they are named as candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from quire_daemon.core import AnnouncedCall
from quire_daemon.tools.evidence.command_line import accounts_for
from quire_daemon.tools.evidence.explanation import explain
from quire_journal.history import History, is_by_git
from quire_journal.model import (
    DURING,
    EXACT,
    OUTSIDE,
    OVERLAP,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    Record,
    WriteAttributed,
    path_after,
)
from quire_journal.views import NAMED, ONLY_OUTSIDE, OUTSIDE_TYPE, SEVERAL_OPEN, Burst, standing

LATE_NS: Final = 10_000_000_000
"""So long after a write an agent may tell of it that announces nothing."""

MOST_LOOKED_AT: Final = 8
"""Versions of a file among which such a write is looked for."""

MOST_CANDIDATES: Final = 8
"""Calls that an overlap names."""


def verdicts(
    burst: Burst, call: AnnouncedCall, history: History, accounts_for: Callable[[AnnouncedCall, Record], bool]
) -> Iterator[WriteAttributed]:
    """What the end of a call tells of the writes that were found while it was under way, record by record.

    `call` has what the end of the call says of it. `accounts_for` says which writes it makes probable.
    """
    rows = list(history.burst_evidence(burst.number))
    open_rows = [(seq, word) for seq, word in rows if word in (ONLY_OUTSIDE, NAMED, SEVERAL_OPEN)]
    records = {seq: record for seq, _ in open_rows if (record := history.record(seq)) is not None}
    left = {seq: word for seq, word in open_rows if seq in records and history.attribution(records[seq]) is None}
    proved = [seq for seq in left if _is_proved(records[seq], call, history)]
    did_something = bool(proved) or any(word == EXACT for _, word in rows)
    for seq, word in left.items():
        if seq in proved:
            yield WriteAttributed((seq,), call.writer, EXACT, burst.number)
        elif word == ONLY_OUTSIDE and accounts_for(call, records[seq]):
            yield WriteAttributed((seq,), call.writer, DURING, burst.number)
        elif word == SEVERAL_OPEN:
            yield WriteAttributed((seq,), OUTSIDE, OVERLAP, 0, _candidates(seq, burst, history))
        elif word == NAMED and not did_something:  # else the write was somebody else's
            yield WriteAttributed((seq,), OUTSIDE, OVERLAP, 0, (burst.number,))


def told_afterwards(call: AnnouncedCall, history: History, now_ns: int) -> Iterator[WriteAttributed]:
    """What an agent proves that tells of a call when it is over only: of the writes found of late, those it made."""
    for path in call.paths:
        for version in islice(history.versions(path, reverse=True), MOST_LOOKED_AT):
            if version.at_ns < now_ns - LATE_NS:
                break
            record = history.record(version.seq) if version.type == OUTSIDE_TYPE and not version.writer else None
            if record is not None and history.attribution(record) is None and _is_proved(record, call, history):
                yield WriteAttributed((version.seq,), call.writer, EXACT)
                break


def _is_proved(record: Record, call: AnnouncedCall, history: History) -> bool:
    """Are the bytes of this record what the call makes of those before?"""
    event = record.event()
    if not call.payloads or not isinstance(event, OutsideWritten | OutsideDeleted):
        return False
    before = standing(history.version_at(event.path, record.seq - 1))
    was = None if before is None else history.bytes_held(before.blob)
    found = history.bytes_held(event.blob) if isinstance(event, OutsideWritten) else None
    if (before is not None and was is None) or (found is None and isinstance(event, OutsideWritten)):
        return False
    steps = explain(event.path, was, found, [call])
    return len(steps) == 1 and steps[0].call is not None


def by_its_command(call: AnnouncedCall, record: Record) -> bool:
    """Does the command line account for a write of this file? What git did is told as git's."""
    event = record.event()
    hint: str = getattr(event, "hint", "")
    if not call.command or is_by_git(hint):
        return False
    paths = (path_after(event), event.path if isinstance(event, OutsideMoved) else None)
    return any(path is not None and accounts_for(call.command, path) for path in paths)


def _candidates(seq: int, burst: Burst, history: History) -> tuple[int, ...]:
    """The calls that were under way when the record was made."""
    others = (one for one in history.bursts(seq) if one.outside and (not one.ended or one.ended > seq))
    found = [one.number for one, _ in zip(others, range(MOST_CANDIDATES), strict=False)]
    return tuple(sorted({burst.number, *found}))
