"""Attributes outside writes during a call to their writers, at the call's end. Pure.

Writes that match the announcement are proved already, unless a call for one file failed. Another write is probably the
call's if its command line explains the write and no other call could have made it; otherwise all calls that could are
candidates (an overlap).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from quire_daemon.core import AnnouncedCall
from quire_daemon.tools.evidence.changes import looks_generated, sets_layout
from quire_daemon.tools.evidence.command_line import claims
from quire_daemon.tools.evidence.copies import copied_from
from quire_daemon.tools.evidence.effects import Append, Effect, Overwrite, ScriptEdit
from quire_daemon.tools.evidence.effort import END, Effort, EffortSpentError
from quire_daemon.tools.evidence.proof import Proof
from quire_daemon.tools.evidence.targets import ANY, BELOW, NAMED as NAMED_FILE, Claim
from quire_journal.history import History, is_by_git
from quire_journal.model import (
    DURING,
    EXACT,
    OUTSIDE,
    OVERLAP,
    PROVED,
    READ,
    TRACED,
    WATCHED,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    Record,
    WatchLost,
    WorkspaceOpened,
    WorkspaceScanned,
    WriteAttributed,
    cached_property,
    path_after,
    paths_of,
)
from quire_journal.views import NAMED, ONLY_OUTSIDE, OUTSIDE_TYPE, SEVERAL_OPEN, Burst, standing

LATE_NS: Final = 10_000_000_000
"""Maximum time in nanoseconds after a write in which an agent without announcements may report it."""

MOST_LOOKED_AT: Final = 8

MOST_SINCE: Final = 1000
"""Maximum number of records since a command's begin that are searched for writes to files of other calls."""

NEAR: Final = 8
"""Number of records before and after a write that count as simultaneous."""

MOST_CANDIDATES: Final = 8

MOST_BURSTS: Final = 200

MOST_WRITES: Final = 4000
"""Maximum number of writes during one call that are examined; further writes are not attributed."""

FAILED: Final = "failed"

BY_ITSELF: Final = "itself"
BY_FORMATTER: Final = "formatter"
"""Write by the agent's own formatter after its announced edit."""

SCANNED_THEN: Final = "scanned"
"""Evidence of a write found by a scan of the tree, which may be older than the call."""

MOST_BACK: Final = 50
"""Maximum number of versions of a file in which restored bytes are searched."""

ClaimsOf = Callable[[AnnouncedCall, Record], Sequence[Claim]]


class CallEnd(NamedTuple):
    burst: Burst
    call: AnnouncedCall  # the call as its end reports it
    now_ns: int
    ok: bool = True  # the call succeeded
    announced: Mapping[int, AnnouncedCall] = {}  # known open calls
    until_ns: int = 0  # later writes do not belong to it; 0: no limit
    is_reported: bool = True  # False: the call may have been declined


def verdicts(end: CallEnd, history: History, claims_of: ClaimsOf) -> list[WriteAttributed]:
    """Return the attributions (writer, evidence) of the writes during a call, at its end."""
    rows = list(islice(history.burst_evidence(end.burst.number), MOST_WRITES))
    if not end.ok and len(end.burst.paths) == 1:  # a failed call did not write its only file
        return _taken_back(end.burst, [seq for seq, word in rows if word == EXACT])
    return _Verdict(end, history, claims_of, dict(rows)).told()


def _taken_back(burst: Burst, seqs: Sequence[int]) -> list[WriteAttributed]:
    return [WriteAttributed(tuple(seqs), OUTSIDE, OVERLAP, burst.number, (burst.number,))] if seqs else []


def told_afterwards(call: AnnouncedCall, history: History, now_ns: int) -> Iterator[WriteAttributed]:
    """Yield the proved attributions of recent writes to a call that its agent reports only afterwards."""
    proof = Proof(call, history)
    for path in call.paths:
        for version in islice(history.versions(path, reverse=True), MOST_LOOKED_AT):
            if version.at_ns < now_ns - LATE_NS:
                break
            record = history.record(version.seq) if version.type == OUTSIDE_TYPE and not version.writer else None
            if record is not None and history.attribution(record) is None and proof.holds(record):
                yield WriteAttributed((version.seq,), call.writer, EXACT)
                break


class _Finding(NamedTuple):
    writer: int
    evidence: str
    burst: int = 0
    candidates: tuple[int, ...] = ()


def _overlap(calls: Sequence[Burst]) -> _Finding:
    named = sorted(one.number for one in calls)[-MOST_CANDIDATES:]
    return _Finding(OUTSIDE, OVERLAP, 0, tuple(named))


class _Verdict:
    def __init__(self, end: CallEnd, history: History, claims_of: ClaimsOf, rows: Mapping[int, str]) -> None:
        self._burst, self._call, self._now_ns, self._announced = end.burst, end.call, end.now_ns, end.announced
        self._is_reported = end.is_reported
        self._history, self._claims_of, self._rows = history, claims_of, rows
        self._effort, self._layouts, self._back = Effort(END), dict[int, bool](), dict[int, bool]()
        self._writes: dict[int, Mapping[str, int]] = {}
        self._around_last: tuple[int, tuple[bytes | None, bytes | None]] = (0, (None, None))
        self._fitting_last: tuple[int, dict[int, list[Claim]]] = (0, {})
        self._proof, self._proofs = Proof(end.call, history), dict[int, Proof]()
        asked = (ONLY_OUTSIDE, NAMED, SEVERAL_OPEN, SCANNED_THEN)
        found = {seq: history.record(seq) for seq, word in rows.items() if word in asked} | self._named_by_others()
        records = [one for one in found.values() if one is not None and not 0 < end.until_ns < one.at_ns]
        self._left = {one.seq: one for one in records if history.attribution(one) is None}

    def _named_by_others(self) -> dict[int, Record | None]:
        if self._burst.paths:
            return {}
        since = islice(self._history.records(after=self._burst.number), MOST_SINCE)
        writes = ((record, record.event()) for record in since if record.seq not in self._rows)
        return {record.seq: record for record, event in writes if getattr(event, "evidence", "") in (WATCHED, READ)}

    def told(self) -> list[WriteAttributed]:
        """Return the attributions; writes with the same finding share one."""
        found: dict[_Finding, list[int]] = defaultdict(list)
        own = self._proved()
        self._writes[self._burst.number] = {
            **self._written_by(self._burst),
            **{path: seq for seq in own for path in paths_of(self._left[seq].event())},
        }
        for seq, record in self._left.items():
            finding = self._exact() if seq in own else self._of(record)
            if finding is not None:
                found[finding].append(seq)
        return [
            WriteAttributed(tuple(seqs), one.writer, one.evidence, one.burst, one.candidates)
            for one, seqs in found.items()
        ]

    def _exact(self) -> _Finding:
        return _Finding(self._call.writer, EXACT, self._burst.number)

    def _of(self, record: Record) -> _Finding | None:
        if self._rows.get(record.seq) == SCANNED_THEN and record.seq not in self._away:
            return None
        shells = self._shells(record)
        named = {one.number: (one, self._may_have(one, record, shells)) for one in self._around if one.paths}
        could = [(one, how) for one, how in named.values() if how]
        if any(one.open_at(self._now_ns) for one, _ in could if one.number != self._burst.number):
            return None  # decided at that call's end
        if setting := [one for one, how in could if how == BY_FORMATTER]:
            if self._are_formatters(shells, record):
                return _overlap([*setting, *shells])
            return self._by_commands(setting)
        if could:
            return _overlap([*(one for one, _ in could), *shells])
        if replacing := [one for one in shells if self._is_one_of_several(record, one)]:
            ended = not any(one.open_at(self._now_ns) for one in replacing if one.number != self._burst.number)
            return _overlap(shells) if ended else None
        if shells and not (self._is_reported or isinstance(record.event(), OutsideWritten)):
            return _overlap(shells)  # no count of written bytes speaks for a removal
        if shells:
            return self._by_commands(shells)
        is_named = record.seq in self._rows and bool(self._burst.paths)
        is_written = (path_after(record.event()) or "") in self._written_by(self._burst)
        return _overlap([self._burst]) if is_named and not is_written else None  # the payload says otherwise

    @cached_property
    def _away(self) -> range:
        """Return the seqs of records about writes while the daemon was not running during this call. The tree was
        recorded at the announcement, so these writes are younger.
        """
        first = stop = 0
        for record in islice(self._history.records(after=self._burst.number), MOST_SINCE):
            match record.event():
                case WorkspaceOpened():
                    first = record.seq
                case WorkspaceScanned(reason="start") if first:
                    stop = record.seq
                    break
                case WorkspaceScanned() | WatchLost():
                    break
        else:
            stop = self._history.head() + 1 if first else 0  # the look at the start goes on
        return range(first, stop)

    def _by_commands(self, shells: Sequence[Burst]) -> _Finding | None:
        if len({one.owner for one in shells}) > 1:
            return _overlap(shells)
        if not shells:
            return None
        one = next((one for one in shells if one.number == self._burst.number), shells[0])
        return _Finding(one.writer, DURING, one.number)

    def _is_one_of_several(self, record: Record, burst: Burst) -> bool:
        """True if the file had other contents during the command, which sets its content only once: then the command
        made only one of them.
        """
        claim = next((one for one in self._fitting(burst, record) if isinstance(one.effect, Overwrite)), None)
        path = path_after(record.event())
        if claim is None or path is None:
            return False
        own = self._bytes_around(record)[1] or b""
        for version in islice(self._history.versions(path, after=burst.number), MOST_LOOKED_AT):
            other = self._history.record(version.seq) if version.seq != record.seq else None
            if other is None or version.type != OUTSIDE_TYPE or version.evidence in PROVED:
                continue
            if claim in self._fitting(burst, other):
                first, later = sorted((own, self._bytes_around(other)[1] or b""), key=len)
                if not later.startswith(first):
                    return True
        return False

    @cached_property
    def _around(self) -> list[Burst]:
        """Return the calls whose time overlaps that of this call, itself included."""
        newest = [one for one in islice(self._history.bursts(), MOST_BURSTS) if not 0 < one.ended < self._burst.number]
        known = {one.number: one for one in (*self._history.open_bursts(), *newest, self._burst) if one.outside}
        return [one for _, one in sorted(known.items())]

    def _may_have(self, burst: Burst, record: Record, shells: Sequence[Burst]) -> str:
        word = self._history.burst_word(burst.number, record.batch)
        if word not in (NAMED, SEVERAL_OPEN, SCANNED_THEN) or burst.why == FAILED or is_by_git(_hint(record)):
            return ""
        wrote = self._written_by(burst).get(path_after(record.event()) or "")
        if wrote:
            sets = wrote < record.seq and self._sets_layout(record) and self._is_alone(record, burst)
            sets = sets and not self._came_back(record)
            return BY_FORMATTER if sets else ""
        proof = self._proof_of(burst)
        return BY_ITSELF if not proof.is_about(record) or proof.holds(record) else ""

    def _written_by(self, burst: Burst) -> Mapping[str, int]:
        if burst.number not in self._writes:
            rows = islice(self._history.burst_evidence(burst.number), MOST_WRITES)
            own = [seq for seq, word in rows if word == EXACT]
            records = [self._left.get(seq) or self._history.record(seq) for seq in own]
            found = {path: one.seq for one in records if one is not None for path in paths_of(one.event())}
            self._writes[burst.number] = found
        return self._writes[burst.number]

    def _are_formatters(self, shells: Sequence[Burst], record: Record) -> bool:
        return any(claim.layout == "only" for shell in shells for claim in self._claimed(shell, record))

    def _proof_of(self, burst: Burst) -> Proof:
        if burst.number == self._burst.number and self._call.payloads:
            return self._proof
        if burst.number not in self._proofs:
            unknown = AnnouncedCall(burst.number, burst.writer)
            self._proofs[burst.number] = Proof(self._announced.get(burst.number, unknown), self._history)
        return self._proofs[burst.number]

    def _is_alone(self, record: Record, burst: Burst) -> bool:
        """True if no other file changed only its layout at about the same time: a formatter of the whole tree changes
        several files.
        """
        near = self._history.records(after=record.seq - NEAR, upto=record.seq + NEAR)
        others = [one for one in near if path_after(one.event()) not in burst.paths]
        return not any(
            isinstance(one.event(), OutsideWritten)
            and self._history.attribution(one) is None
            and self._sets_layout(one)
            for one in others
        )

    def _shells(self, record: Record) -> list[Burst]:
        found: dict[int, list[tuple[int, Burst]]] = defaultdict(list)
        for burst in self._around:
            fitting = self._fitting(burst, record)
            if fitting:
                # A formatter is a likelier author of a layout change than a program that names the file.
                firmness = max(one.firmness + 8 * (one.layout == "only") for one in fitting)
                found[firmness].append((max(one.home for one in fitting), burst))
        return self._likeliest(found[max(found)], record) if found else []

    def _likeliest(self, rivals: Sequence[tuple[int, Burst]], record: Record) -> list[Burst]:
        if len(rivals) > 1:
            made_by = self._made_by(record)
            rivals = [one for one in rivals if one[1].command == made_by] or rivals
        most = max(home for home, _ in rivals)
        return [burst for home, burst in rivals if home == most]

    def _made_by(self, record: Record) -> str:
        path = path_after(record.event())
        versions = () if path is None else self._history.versions(path, upto=record.seq - 1, reverse=True)
        for version in islice(versions, MOST_LOOKED_AT):
            written = self._history.record(version.seq) if version.evidence in (DURING, TRACED) else None
            told = None if written is None else self._history.attribution(written)
            burst = None if told is None else self._history.burst(told.burst)
            if burst is not None and burst.command:
                return burst.command
        return ""

    def _fitting(self, burst: Burst, record: Record) -> list[Claim]:
        if self._fitting_last[0] != record.seq:
            self._fitting_last = record.seq, {}
        of_bursts = self._fitting_last[1]
        if burst.number not in of_bursts:
            of_bursts[burst.number] = self._that_fit(burst, record)
        return of_bursts[burst.number]

    def _that_fit(self, burst: Burst, record: Record) -> list[Claim]:
        claims = self._claimed(burst, record)
        if len({one.effect for one in claims}) > 1:  # together they can make more changes than each alone
            claims = [one._replace(effect=None) for one in claims]
        return [one for one in claims if self._fits(one, record)]

    def _claimed(self, burst: Burst, record: Record) -> Sequence[Claim]:
        if burst.paths or burst.number > record.seq or 0 < burst.ended < record.seq or record.at_ns >= burst.expires_ns:
            return ()
        if burst.number == self._burst.number:
            return self._claims_of(self._call, record) or self._copied(self._call.command, record)
        if burst.form != self._burst.form and not burst.command:
            return (Claim(NAMED_FILE),)  # declared by its owner
        call = AnnouncedCall(burst.number, burst.writer, (), (), burst.command)
        return self._claims_of(call, record) or self._copied(burst.command, record)

    def _copied(self, command: str, record: Record) -> Sequence[Claim]:
        event = record.event()
        if not command or not isinstance(event, OutsideWritten) or is_by_git(event.hint):
            return ()
        if standing(self._history.version_at(event.path, record.seq - 1)) is not None:
            return ()
        for path in copied_from(command, event.path):
            source = standing(self._history.version_at(path, record.seq - 1))
            if source is not None and source.blob and source.blob == event.blob:
                return (Claim(BELOW, "never"),)
        return ()

    def _fits(self, claim: Claim, record: Record) -> bool:
        if claim.layout != "maybe" and self._sets_layout(record) != (claim.layout == "only"):
            return False
        if claim.effect is not None and not self._can_make(claim.effect, record):
            return False
        if not isinstance(claim.effect, Append | ScriptEdit) and self._came_back(record):
            return False
        return claim.firmness != ANY or self._is_generated(record) or self._sets_layout(record)

    def _can_make(self, effect: Effect, record: Record) -> bool:
        """True if a program with this effect may have made the change. Unknown bytes count as possible, except for a
        removal.
        """
        before, after = self._bytes_around(record)
        if before is None or after is None:
            return not isinstance(record.event(), OutsideDeleted)
        with suppress(EffortSpentError):
            return effect.can_make(before, after, self._effort)
        return True

    def _came_back(self, record: Record) -> bool:
        """True if the file had these bytes before: who restores bytes is not their author. A change of mode restores
        nothing.
        """
        if record.seq not in self._back:
            path, blob = path_after(record.event()), getattr(record.event(), "blob", b"")
            known = path is not None and blob and not isinstance(record.event(), OutsideModeChanged)
            versions = self._history.versions(path or "", upto=record.seq - 1, reverse=True) if known else ()
            stood = (version.blob for version in islice(versions, MOST_BACK) if not version.gone)
            self._back[record.seq] = blob in stood
        return self._back[record.seq]

    def _sets_layout(self, record: Record) -> bool:
        if record.seq not in self._layouts:
            before, after = self._bytes_around(record)
            known = before is not None and after is not None
            with suppress(EffortSpentError):
                self._layouts[record.seq] = known and sets_layout(before or b"", after or b"", self._effort)
        return self._layouts.setdefault(record.seq, False)

    def _bytes_around(self, record: Record) -> tuple[bytes | None, bytes | None]:
        if self._around_last[0] != record.seq:  # cached, as unpacking is expensive and repeated
            self._around_last = record.seq, self._read_around(record)
        return self._around_last[1]

    def _read_around(self, record: Record) -> tuple[bytes | None, bytes | None]:
        event = record.event()
        path, after = path_after(event), getattr(event, "blob", b"")
        before = None if path is None else standing(self._history.version_at(path, record.seq - 1))
        held = None if before is None else self._history.bytes_held(before.blob)
        return held, self._history.bytes_held(after) if after else None

    def _is_generated(self, record: Record) -> bool:
        path = path_after(record.event())
        before = None if path is None else standing(self._history.version_at(path, record.seq - 1))
        if path is None or before is None:
            return path is not None and isinstance(record.event(), OutsideWritten)
        first = next(self._history.versions(path), None)
        if first is not None and first.evidence in (DURING, TRACED):
            return True
        return any(looks_generated(path, data) for data in self._bytes_around(record) if data is not None)

    # ── by payload ──

    def _proved(self) -> set[int]:
        """Return the seqs of the writes that match the call's payload. A call writes a file once, so two matches for a
        file prove nothing.
        """
        found: dict[str, list[int]] = defaultdict(list)
        written = self._written_by(self._burst)
        if self._call.payloads:
            for seq, record in self._left.items():
                path = path_after(record.event())
                if path is not None and path not in written and self._proof.holds(record):
                    found[path].append(seq)
        return {seqs[0] for seqs in found.values() if len(seqs) == 1}


def _hint(record: Record) -> str:
    hint: str = getattr(record.event(), "hint", "")
    return hint


def by_its_command(call: AnnouncedCall, record: Record) -> Sequence[Claim]:
    """Return how strongly the command line of `call` claims the record's file; () for a file that git wrote, as git
    brings back what others made, unless `git mv` or `git rm` moved or removed the file.
    """
    event = record.event()
    if not call.command or (is_by_git(_hint(record)) and not isinstance(event, OutsideMoved | OutsideDeleted)):
        return ()
    paths = (path_after(event), event.path if isinstance(event, OutsideMoved) else None)
    return [one for path in paths if path is not None for one in claims(call.command, path)]
