"""Verdict: who made the writes that were found while a call was under way, told when the call ends. Pure.

What the announcement accounted for is proved already; where a call that writes one file failed, that was somebody else.
The end of the call may tell more than its beginning did. What is left is the call's by probability, where its command
line accounts for the file and no other call could have written it; where several could, they are named as candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quire_daemon.core import AnnouncedCall
from quire_daemon.tools.evidence.accounts import CallAccounts
from quire_daemon.tools.evidence.command_line import accounts_for
from quire_daemon.tools.evidence.effort import END, Effort
from quire_daemon.tools.evidence.explanation import explain, explain_move, same_but_layout
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
    paths_of,
)
from quire_journal.views import NAMED, ONLY_OUTSIDE, OUTSIDE_TYPE, SEVERAL_OPEN, Burst, standing

LATE_NS: Final = 10_000_000_000
"""So long after a write an agent may tell of it that announces nothing."""

MOST_LOOKED_AT: Final = 8
"""Versions of a file among which such a write is looked for."""

MOST_CANDIDATES: Final = 8
"""Calls that an overlap names."""

MOST_BURSTS: Final = 64
"""Bursts that began before a write and are looked through for those that could have made it."""

MOST_WRITES: Final = 4000
"""Writes during one call that are looked at when it ends; the others stay open."""

SCANNED_THEN: Final = "scanned"
"""The word for a write that a comparison found: it may be older than the call, so that only bytes prove it."""

AccountsFor = Callable[[AnnouncedCall, Record], bool]
"""Does the command line of a call account for a write?"""


class CallEnd(NamedTuple):
    """The end of a call."""

    burst: Burst
    call: AnnouncedCall  # with what the end says of it
    now_ns: int
    ok: bool = True  # it did what it was asked to


def verdicts(end: CallEnd, history: History, accounts_for: AccountsFor) -> list[WriteAttributed]:
    """What the end of a call tells of the writes that were found while it was under way.

    `accounts_for` says which writes a command line makes probable.
    """
    rows = list(islice(history.burst_evidence(end.burst.number), MOST_WRITES))
    if not end.ok and len(end.burst.paths) == 1:  # its one file was not written by it, whatever stands there
        return _taken_back(end.burst, [seq for seq, word in rows if word == EXACT])
    return _Verdict(end, history, accounts_for, dict(rows)).told()


def _taken_back(burst: Burst, seqs: Sequence[int]) -> list[WriteAttributed]:
    """These writes look like the call's, which says that it failed."""
    return [WriteAttributed(tuple(seqs), OUTSIDE, OVERLAP, burst.number, (burst.number,))] if seqs else []


def told_afterwards(call: AnnouncedCall, history: History, now_ns: int) -> Iterator[WriteAttributed]:
    """What an agent proves that tells of a call when it is over only: of the writes found of late, those it made."""
    proof = _Proof(call, history)
    for path in call.paths:
        for version in islice(history.versions(path, reverse=True), MOST_LOOKED_AT):
            if version.at_ns < now_ns - LATE_NS:
                break
            record = history.record(version.seq) if version.type == OUTSIDE_TYPE and not version.writer else None
            if record is not None and history.attribution(record) is None and proof.holds(record):
                yield WriteAttributed((version.seq,), call.writer, EXACT)
                break


class _Proof:
    """Holds writes against the payload of a call."""

    def __init__(self, call: AnnouncedCall, history: History) -> None:
        self._accounts, self._history, self._effort = CallAccounts.of(call), history, Effort(END)

    def holds(self, record: Record) -> bool:
        """Are the bytes of this record what the call makes of those before?"""
        event = record.event()
        if isinstance(event, OutsideMoved):
            return self._is_move(event, record.seq)
        if not isinstance(event, OutsideWritten | OutsideDeleted) or not self._accounts.about(event.path):
            return False
        before, known = self._bytes_before(event.path, record.seq)
        found = self._history.bytes_held(event.blob) if isinstance(event, OutsideWritten) else None
        if not known or (found is None and isinstance(event, OutsideWritten)):
            return False

        def bytes_at(path: str) -> Iterator[bytes]:
            versions = self._history.versions(path, upto=record.seq, reverse=True)
            stood = next((one for one in islice(versions, 2) if not one.gone), None)
            held = None if stood is None else self._history.bytes_held(stood.blob)
            if held is not None:
                yield held

        return explain(event.path, before, found, [self._accounts], bytes_at, self._effort).proved

    def _is_move(self, event: OutsideMoved, seq: int) -> bool:
        before, _ = self._bytes_before(event.path, seq)
        found = self._history.bytes_held(event.blob)
        if before is None or found is None:
            return False
        return explain_move(event.path, event.to, before, found, [self._accounts], self._effort) is not None

    def _bytes_before(self, path: str, seq: int) -> tuple[bytes | None, bool]:
        """(the bytes at the path before a record, are they known)."""
        version = standing(self._history.version_at(path, seq - 1))
        held = None if version is None else self._history.bytes_held(version.blob)
        return held, version is None or held is not None


class _Finding(NamedTuple):
    """What is found of a write."""

    writer: int
    evidence: str
    burst: int = 0
    candidates: tuple[int, ...] = ()


class _Verdict:
    """Looks at the writes that were found during one call."""

    def __init__(self, end: CallEnd, history: History, accounts_for: AccountsFor, rows: Mapping[int, str]) -> None:
        self._burst, self._call, self._now_ns = end.burst, end.call, end.now_ns
        self._history, self._accounts_for, self._rows = history, accounts_for, rows
        self._proof = _Proof(end.call, history)
        asked = (ONLY_OUTSIDE, NAMED, SEVERAL_OPEN, *((SCANNED_THEN,) if end.call.payloads else ()))
        records = {seq: history.record(seq) for seq, word in rows.items() if word in asked}
        self._left = {seq: one for seq, one in records.items() if one is not None and history.attribution(one) is None}
        self._written = self._paths([seq for seq, word in rows.items() if word == EXACT])

    def told(self) -> list[WriteAttributed]:
        """The findings, of writes together that have the same."""
        found: dict[_Finding, list[int]] = defaultdict(list)
        own = self._proved()
        self._written |= self._paths(own)
        for seq, record in self._left.items():
            finding = self._exact() if seq in own else self._of(record, own)
            if finding is not None:
                found[finding].append(seq)
            if finding is not None and finding.burst == self._burst.number:
                own.add(seq)
        return [
            WriteAttributed(tuple(seqs), one.writer, one.evidence, one.burst, one.candidates)
            for one, seqs in found.items()
        ]

    def _paths(self, seqs: Sequence[int] | set[int]) -> set[str]:
        """The files of these writes."""
        records = (self._left.get(seq) or self._history.record(seq) for seq in seqs)
        return {path for record in records if record is not None for path in paths_of(record.event())}

    def _exact(self) -> _Finding:
        return _Finding(self._call.writer, EXACT, self._burst.number)

    def _of(self, record: Record, own: set[int]) -> _Finding | None:
        """What is found of a write that the payload of the call does not prove."""
        word, number = self._rows[record.seq], self._burst.number
        if word in (NAMED, SEVERAL_OPEN) and self._is_layout(record, own):
            return _Finding(self._call.writer, DURING, number)
        if word == ONLY_OUTSIDE and self._accounts_for(self._call, record):
            return _Finding(self._call.writer, DURING, number)
        if word == SEVERAL_OPEN:
            return self._contested(record)
        if word == NAMED and path_after(record.event()) not in self._written:
            return _Finding(OUTSIDE, OVERLAP, 0, (number,))
        return None

    # ── by payload ──

    def _proved(self) -> set[int]:
        """The writes that are what the call makes of the bytes before. It writes a file once."""
        found: dict[str, list[int]] = defaultdict(list)
        if self._call.payloads:
            for seq, record in self._left.items():
                path = path_after(record.event())
                if path is not None and path not in self._written and self._proof.holds(record):
                    found[path].append(seq)
        return {seqs[0] for seqs in found.values() if len(seqs) == 1}

    # ── by layout ──

    def _is_layout(self, record: Record, own: set[int]) -> bool:
        """Does the write only set anew what the call wrote, as a formatter within the call does?"""
        event = record.event()
        if not isinstance(event, OutsideWritten):
            return False
        before = standing(self._history.version_at(event.path, record.seq - 1))
        if before is None or (before.seq not in own and self._rows.get(before.seq) != EXACT):
            return False
        was, now = self._history.bytes_held(before.blob), self._history.bytes_held(event.blob)
        return was is not None and now is not None and same_but_layout(was, now)

    # ── by other calls ──

    def _contested(self, record: Record) -> _Finding | None:
        """What is found of a write that other calls could have made, too: nothing, as long as one of them goes on."""
        bursts = islice(self._history.bursts(record.seq), MOST_BURSTS)
        could = [one for one in bursts if self._history.burst_word(one.number, record.batch) == SEVERAL_OPEN]
        if any(one.open_at(self._now_ns) for one in could if one.number != self._burst.number):
            return None
        accounting = [one for one in could if one.paths or self._by_command(one, record)]
        if accounting and not any(one.paths for one in accounting) and len({one.owner for one in accounting}) == 1:
            return _Finding(accounting[0].writer, DURING, accounting[0].number)
        named = [one.number for one in accounting or could][:MOST_CANDIDATES]
        return _Finding(OUTSIDE, OVERLAP, 0, tuple(sorted(named)))

    def _by_command(self, burst: Burst, record: Record) -> bool:
        call = self._call
        if burst.number != self._burst.number:
            call = AnnouncedCall(burst.number, burst.writer, burst.paths, (), burst.command)
        return self._accounts_for(call, record)


def by_its_command(call: AnnouncedCall, record: Record) -> bool:
    """Does the command line account for a write of this file? What git did is told as git's."""
    event = record.event()
    hint: str = getattr(event, "hint", "")
    if not call.command or is_by_git(hint):
        return False
    paths = (path_after(event), event.path if isinstance(event, OutsideMoved) else None)
    return any(path is not None and accounts_for(call.command, path) for path in paths)
