"""History: queries to one state of the journal, for callers that know neither tables nor stores."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from itertools import islice, takewhile
from typing import Any, Final, TypeVar
from weakref import proxy

import msgspec

from quire_journal.history.path_cache import MOST_GIT_NAMES, PathNames
from quire_journal.model import (
    OUTSIDE,
    SETUP,
    BatchUndone,
    Event,
    PathId,
    Record,
    Seq,
    WriteAttributed,
    WriterId,
    WriterIntroduced,
    caller_name,
    path_after,
    read_record,
    writer_name,
)
from quire_journal.storage import ReadTransaction, blobs, last_number, u32, u64
from quire_journal.text import Text
from quire_journal.views import (
    BELONGING,
    OUTSIDE_TYPE,
    OUTSIDE_WRITES,
    AnchorTrace,
    Burst,
    Checkpoint,
    EditCheckpoint,
    Gone,
    KnownCaller,
    Lease,
    LostStretch,
    SetBack,
    Shown as Shown,
    Version,
    anchors,
    batches,
    bursts,
    callers,
    checkpoints,
    clock,
    files,
    leases,
    lost_bytes,
    paths,
    reads,
    stale_reads,
    uncaptured,
    writers,
)
from quire_journal.views.indexes import contents, term_index

T = TypeVar("T")

_OUTSIDE_KINDS: Final = frozenset(event.kind for event in OUTSIDE_WRITES)

SHA256_DIGITS: Final = 64

_NEAR_VERSIONS: Final = 40
_NEAR_BYTES: Final = 64 << 20


class History:
    """Queries to one state of the journal; make an instance for a query, then drop it. A method without a docstring is
    described at the view's function that it calls.

    `text_of` returns the text of a blob, as from a cache; `recent` holds uncommitted reads; `names` is a cache for
    several instances.
    """

    def __init__(
        self,
        reading: ReadTransaction,
        text_of: Callable[[bytes], Text] | None = None,
        recent: Mapping[tuple[bytes, str], Shown] | None = None,
        names: PathNames | None = None,
    ) -> None:
        self._reading = reading
        self._text_of = text_of
        self._recent: Mapping[tuple[bytes, str], Shown] = {} if recent is None else recent
        self._names = PathNames() if names is None else names
        self._undoings: dict[int, BatchUndone | None] = {}
        self._lost: Sequence[LostStretch] | None = None
        self._made: dict[object, Any] = {}

    def once(self, make: Callable[[History], T]) -> T:
        """Return `make(self)`, kept from the first call on, such as an object that searches the log once. The result
        must not outlive this instance.
        """
        if make not in self._made:
            self._made[make] = make(proxy(self))  # a circle would keep the transaction until a collection
        made: T = self._made[make]
        return made

    # ── records ──

    def head(self) -> Seq:
        """Return the seq of the newest record; 0 for an empty log."""
        return Seq(last_number(self._reading, "records"))

    def record(self, seq: int) -> Record | None:
        stored = self._reading.get("records", u64(seq)) if 0 < seq < 1 << 64 else None
        return None if stored is None else read_record(seq, stored)

    def event(self, seq: int) -> Event | None:
        """Return the event of record `seq`; None also if its kind is unknown."""
        record = self.record(seq)
        return None if record is None else record.event()

    def records(self, after: int = 0, upto: int | None = None, reverse: bool = False) -> Iterator[Record]:
        """Yield the records with after < seq <= upto, oldest first or `reverse`."""
        stop = None if upto is None else u64(max(upto, 0) + 1)
        for key, stored in self._reading.scan("records", u64(max(after, 0) + 1), stop, reverse):
            yield read_record(int.from_bytes(key, "big"), stored)

    def seq_at(self, at_ns: int) -> Seq:
        """Return the last record not dated after a time; 0 if all are. Of a time passed twice, as the clock was set
        back, the later passage counts.
        """

        first = clock.first_to_look_at(self._reading, at_ns)
        return Seq(clock.last_not_after(self._reading, at_ns, first, self.head()))

    def set_back(self) -> Iterator[SetBack]:
        return clock.set_back(self._reading)

    # ── paths ──

    def path_id(self, path: str) -> PathId | None:
        return paths.path_id(self._reading, path)

    def path(self, number: int) -> str | None:
        return paths.path_of(self._reading, number)

    def with_bytes(self, blobs: Collection[bytes], before: int) -> Iterator[tuple[str, Version]]:
        """Yield (path, version) of the versions before record `before` with one of these blobs, newest first."""
        for seq in contents.find(self._reading, blobs, before):
            event = self.event(seq)
            path = path_after(event)
            version = self.version(path, seq) if path is not None and getattr(event, "blob", b"") in blobs else None
            if path is not None and version is not None and version.blob in blobs:
                yield path, version

    def path_list(self, after: int = 0) -> Iterator[tuple[int, str]]:
        """Yield (number, path) of every path with a number above `after`."""
        for key, name in self._reading.scan("paths", u32(after + 1)):
            yield int.from_bytes(key, "big"), name.decode("utf-8", "surrogateescape")

    def names(self) -> Sequence[str]:
        """Return every path in the log: path number N at index N - 1. Cached."""
        return self._names.all(self._reading)

    def read_names(self, most: int) -> bool:
        """Read all path names into the cache, ahead of queries for many paths. False, with nothing read, for more than
        `most`.
        """
        if self._reading.count("paths") > most:
            return False
        self._names.all(self._reading)
        return True

    def path_numbers(
        self, question: str, fits: Callable[[str], object], part: str = "", most: int | None = None
    ) -> Sequence[int]:
        """Return the numbers of the paths for which `fits` returns a true value; see `PathNames.matching`."""
        return self._names.matching(self._reading, question, fits, part, most)

    def holds_files(self, folder: str, at: int, besides: Container[str] = ()) -> bool:
        """True if a path below `folder` that is not in `besides` existed after record `at`."""
        below = (path for path in self._names.below(self._reading, folder) if path not in besides)
        return any((found := self.version_at(path, at)) is not None and not found.gone for path in below)

    # ── versions ──

    def file(self, path: str) -> Version | None:
        """Return the newest version of `path`, with `gone` for a removed path; None if the journal
        never saw the path.
        """
        number = self.path_id(path)
        return None if number is None else files.head(self._reading, number)

    def version(self, path: str, seq: int) -> Version | None:
        number = self.path_id(path)
        return None if number is None else files.version(self._reading, number, seq)

    def version_by(self, path: str, record: Record, event: Event | None) -> Version | None:
        number = self.path_id(path)
        if number is None:
            return None
        newest = files.head(self._reading, number)  # cached for the next query
        if newest is not None and newest.seq == record.seq:
            return newest
        return files.version_by(self._reading, number, record, event)

    def version_at(self, path: str, seq: int) -> Version | None:
        """Return the newest version of `path` up to record `seq`, or None."""
        number = self.path_id(path)
        newest = None if number is None else files.head(self._reading, number)
        if number is None or newest is None or newest.seq <= seq:
            return newest  # the common case: unchanged
        return next(files.versions(self._reading, number, 0, seq, reverse=True), None)

    def versions(
        self, path: str, after: int = 0, upto: int | None = None, reverse: bool = False, displaced: bool = False
    ) -> Iterator[Version]:
        number = self.path_id(path)
        if number is None:
            return
        if after > 0 and not displaced:  # mostly there is nothing after the newest
            newest = files.head(self._reading, number)
            if newest is None or newest.seq <= after:
                return
        yield from files.versions(self._reading, number, after, upto, reverse, displaced)

    def paths(self) -> Iterator[tuple[str, Version]]:
        """Yield (path, newest version) of every path."""
        for key, name in list(self._reading.scan("paths")):
            head = files.head_once(self._reading, int.from_bytes(key, "big"))
            if head is not None:
                yield name.decode("utf-8", "surrogateescape"), head

    def changed_after(self, seq: int) -> Iterator[str]:
        """Yield every path whose newest version is after record `seq`."""
        names = self.names()
        return (names[number - 1] for number in files.changed_after(self._reading, seq))

    def touching(
        self, numbers: Sequence[int], after: int = 0, upto: int | None = None, reverse: bool = False
    ) -> Iterator[int]:
        """Yield the records with after < seq <= upto that made a version of these paths, once each, in order. Looks up
        every path before the first.
        """
        stop = u64((self.head() if upto is None else max(upto, 0)) + 1)
        start = u64(max(after, 0) + 1)

        def of_path(number: int) -> Iterator[int]:
            prefix = u32(number)
            for key, _ in self._reading.scan("versions", prefix + start, prefix + stop, reverse):
                yield int.from_bytes(key[4:], "big")

        last = 0
        for seq in heapq.merge(*map(of_path, numbers), reverse=reverse):
            if seq != last:
                yield seq
                last = seq

    def changed_since(self, path: str, seq: int, caller: bytes) -> list[Version]:
        """Return versions of `path` after `seq` by other callers than `caller` (b"": by all), oldest first."""
        later = list(self.versions(path, after=seq))
        return [version for version in later if not caller or self.caller_of(version.writer) != caller]

    def continuity(self, path: str, type: str) -> str:
        """Return `clean` if all versions of the path have this writer type, except a first version found on disk; else
        `mixed`.
        """
        number = self.path_id(path)
        if number is None:
            return "clean"
        counts = files.made_by(self._reading, number)
        others = {*counts} - {type}
        if others == {OUTSIDE_TYPE} and counts[OUTSIDE_TYPE] == 1:
            return "clean" if self._begins_outside(number) else "mixed"
        return "mixed" if others else "clean"

    def _begins_outside(self, number: PathId) -> bool:
        begun = self._names.begun_outside
        if number not in begun and files.begins_outside(self._reading, number):
            begun.add(number)
        return number in begun

    # ── bytes ──

    def git_name(self, blob: bytes, digits: int) -> str:
        """Return git's hash of these bytes in hex: sha1 for 40 digits, sha256 for 64. Raises `blobs.NotHeld`,
        `JournalDamaged`.
        """
        known = self._names.git_names
        name = known.get((blob, digits))
        if name is None:
            data = self.bytes_of(blob)
            algorithm = sha256 if digits == SHA256_DIGITS else sha1
            name = algorithm(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
            if len(known) >= MOST_GIT_NAMES:
                known.clear()
            known[blob, digits] = name
        return name

    def bytes_of(self, blob: bytes) -> bytes:
        """Return the bytes of a blob. Raises `blobs.NotHeld` (never captured, dropped, purged) or `JournalDamaged`."""
        return blobs.get(self._reading, blob)

    def bytes_held(self, blob: bytes) -> bytes | None:
        """Return the bytes of a blob, or None if not held. Raises `JournalDamaged`."""
        try:
            return self.bytes_of(blob)
        except blobs.NotHeld:
            return None

    def text_of(self, blob: bytes) -> Text:
        """Return the text of a blob. Raises `blobs.NotHeld`, `JournalDamaged`."""
        return Text.of(self.bytes_of(blob)) if self._text_of is None else self._text_of(blob)

    def text_held(self, blob: bytes) -> Text | None:
        """Return the text of a blob, or None if not held. Raises `JournalDamaged`."""
        try:
            return self.text_of(blob)
        except blobs.NotHeld:
            return None

    def bytes_near(self, blob: bytes, near: blobs.BlobCache) -> bytes:
        """Return the bytes of a blob, address unverified, with a cache of similar blobs; see `bytes_in_turn`."""
        return blobs.unpack(self._reading, blobs.number_of(self._reading, blob), near)

    def bytes_in_turn(self, wanted: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of many blobs, in order; for similar versions far faster than `bytes_of`. Raises
        `blobs.NotHeld`, `JournalDamaged`.

        Verifies each zstd frame's checksum, not the blob's address: the caller verifies the last blob.
        """
        limit, near = 0, blobs.BlobCache(0)
        for blob in wanted:
            data = self.bytes_near(blob, near)
            yield data
            needed = min(len(data) * _NEAR_VERSIONS, _NEAR_BYTES)
            if needed > limit:  # no larger than needed: reused memory is fast
                limit = min(needed * 2, _NEAR_BYTES)
                near = blobs.BlobCache(limit)

    def holds(self, blob: bytes) -> bool:
        return blobs.holds(self._reading, blob)

    def gone(self, blob: bytes) -> Gone | None:
        return lost_bytes.gone(self._reading, blob)

    def has_gone(self) -> bool:
        return lost_bytes.any_gone(self._reading)

    def purged(self, blob: bytes) -> bool:
        """True if these bytes were purged; they must not be stored again."""
        gone = self.gone(blob)
        return gone is not None and gone.why == lost_bytes.PURGED

    def uncaptured(self, at: int | None = None) -> Iterator[tuple[str, str]]:
        """Yield (path, why) of the files whose bytes are not in the journal, now or after record `at`."""
        return uncaptured.uncaptured(self._reading) if at is None else uncaptured.uncaptured_at(self._reading, at)

    def uncaptured_count(self) -> int:
        return uncaptured.count(self._reading)

    def first_scan(self) -> int | None:
        return uncaptured.first_scan(self._reading)

    def salvage(self) -> Record | None:
        return self.record(lost_bytes.last_salvage(self._reading))

    def lost(self) -> Sequence[LostStretch]:
        if self._lost is None:
            self._lost = lost_bytes.stretches(self._reading)
        return self._lost

    # ── who ──

    def writer(self, writer: int) -> WriterIntroduced | None:
        return writers.writer_of(self._reading, writer)

    def is_setup(self, writer: int) -> bool:
        """True if the writer is `quire setup`, which writes the configuration of agents."""
        who = self.writer(writer)
        return who is not None and who.agent == SETUP

    def writer_json(self, writer: int, type: str = "") -> dict[str, Any]:
        """Return a writer for a reply: `{id, type, agent, agent_session, turn, tool_call, model, uid, pid}`, perhaps
        `parent`.
        """
        who = self.writer(writer)
        if who is None:
            who = WriterIntroduced(writer)
            type = type or (OUTSIDE_TYPE if writer == OUTSIDE else "")
        return {
            "id": writer_name(writer),
            "type": type,
            "agent": who.agent,
            "agent_session": who.agent_session,
            "turn": who.turn,
            "tool_call": who.tool_call,
            "model": who.model,
            "uid": who.uid if who.uid >= 0 else None,
            "pid": who.pid or None,
            **({"parent": who.parent} if who.parent else {}),
        }

    def named(self, writer: int) -> str:
        """Return a writer's name in a sentence: `ben/s1`, `the user`, `outside`."""
        who = self.writer(writer)
        return writer_name(writer) if who is None else caller_name(who.agent, who.agent_session)

    def writer_id(self, who: WriterIntroduced) -> WriterId | None:
        return writers.writer_id(self._reading, who)

    def next_writer_id(self) -> WriterId:
        return writers.next_writer_id(self._reading)

    def caller_of(self, writer: int) -> bytes:
        return writers.caller_of(self._reading, writer)

    def caller(self, key: bytes) -> KnownCaller:
        return callers.caller(self._reading, key)

    def callers(self) -> Iterator[bytes]:
        return callers.newest_first(self._reading)

    def count_callers(self) -> int:
        return callers.how_many(self._reading)

    def attribution(self, record: Record) -> WriteAttributed | None:
        if record.writer != OUTSIDE or record.kind not in _OUTSIDE_KINDS:
            return None
        path = path_after(record.event())
        number = None if path is None else self.path_id(path)
        told = 0 if number is None else files.attributed_by(self._reading, number, record.seq)
        event = self.event(told) if told else None
        return event if isinstance(event, WriteAttributed) else None

    def author(self, record: Record) -> int:
        """Return the writer of a record; of an outside write the attributed writer, else `OUTSIDE`."""
        found = self.attribution(record)
        return record.writer if found is None else found.writer

    def only_candidate(self, seq: int) -> bytes:
        """Return the key of the only caller whose bursts could have made an outside write; b"" for no caller or
        several.
        """
        record = self.record(seq)
        attribution = None if record is None else self.attribution(record)
        found = () if attribution is None else attribution.candidates
        owners = {burst.owner for burst in map(self.burst, found) if burst is not None}
        return owners.pop() if len(owners) == 1 else b""

    # ── what a caller was shown ──

    def shown(self, caller: bytes, path: str) -> Shown | None:
        """Return the version and lines of `path` that the caller was last shown, with uncommitted reads; None if
        nothing.
        """
        number = self.path_id(path)
        stored = None if number is None else reads.shown(self._reading, caller, number)
        recent = self._recent.get((caller, path))
        if recent is None or stored is None:
            return recent or stored
        if recent.at_ns and recent.at_ns < stored.at_ns:
            return stored
        return msgspec.structs.replace(recent, first=stored.since)

    def stale_reads(self, caller: bytes) -> Iterator[str]:
        return stale_reads.stale_reads(self._reading, caller)

    def anchor(self, path: str, prefix: str) -> AnchorTrace | None:
        """Return where `path` last had a line with this hash, which is gone; see `anchors.trace`."""
        return anchors.trace(self._reading, path, prefix)

    # ── batches, and what undid them ──

    def batch(self, batch: int) -> Sequence[Record]:
        found: dict[int, Record] = {}
        for record in self.records(after=batch - 1):
            if record.batch != batch:
                break
            found[record.seq] = record
        for seq in self.batch_writes(batch):  # records of other writers may be in between
            late = None if seq in found else self.record(seq)
            if late is not None:
                found[seq] = late
        return [found[seq] for seq in sorted(found)]

    def batch_state(self, batch: int) -> str:
        return batches.state(self._reading, batch)

    def batch_writes(self, batch: int) -> list[int]:
        return batches.writes(self._reading, batch)

    def last_batches(self, caller: bytes, limit: int = 1) -> list[int]:
        """Return the newest batches by a caller, newest first, including undone batches."""
        return [batch for batch, _ in islice(batches.newest_of(self._reading, caller), limit)]

    def probable_batches(self, caller: bytes, limit: int) -> list[int]:
        """Return the newest batches of outside writes that are probably a caller's, newest first."""
        return [batch for batch, _ in islice(batches.newest_of(self._reading, caller, probable=True), limit)]

    def unsettled(self) -> list[int]:
        return batches.unsettled(self._reading)

    def op(self, op: bytes) -> int | None:
        return batches.batch_of_op(self._reading, op)

    def kept_reply(self, caller: bytes, key: str) -> tuple[bytes, bytes, int, int] | None:
        """Return (sha256 of the arguments, msgpack of the reply, at_ns, batch) for an idempotency key, or None."""
        kept = batches.kept_reply(self._reading, caller, key)
        return None if kept is None else (kept.arguments, kept.reply, kept.at_ns, kept.batch)

    def undone_by(self, batch: int) -> int | None:
        return batches.undone_by(self._reading, batch)

    def undoers(self, batch: int) -> list[int]:
        return batches.undoers(self._reading, batch)

    def undoers_within(self, first: int, last: int) -> dict[int, list[int]]:
        return batches.undoers_within(self._reading, first, last)

    def undoing(self, batch: int) -> BatchUndone | None:
        """Return the event that says what a batch undid or restored; None for other batches."""
        if batch not in self._undoings:
            last = max(self.batch_writes(batch), default=batch)
            behind = takewhile(lambda record: record.batch == batch, self.records(after=last))
            events = (record.event() for record in behind if record.kind == BatchUndone.kind)
            self._undoings[batch] = next((event for event in events if isinstance(event, BatchUndone)), None)
        return self._undoings[batch]

    # ── searches ──

    def with_terms(
        self, wanted: Sequence[term_index.Alternatives], after: int, upto: int, reverse: bool = False
    ) -> Iterator[tuple[int, Sequence[int]]]:
        return term_index.find(self._reading, wanted, after, upto, reverse)

    def tally(
        self,
        kinds: Sequence[term_index.Alternatives],
        lanes: Sequence[Sequence[term_index.Alternatives]],
        bounds: Sequence[int],
    ) -> list[list[dict[int, int]]]:
        return term_index.tally(self._reading, kinds, lanes, bounds)

    def term_filter(self, wanted: Sequence[term_index.Alternatives]) -> term_index.Filter:
        return term_index.Filter(self._reading, wanted)

    # ── checkpoints, bursts, leases ──

    def checkpoint(self, name: str) -> Seq | None:
        named = checkpoints.checkpoint(self._reading, name)
        return None if named is None else Seq(named.cursor)

    def checkpoints(self) -> list[Checkpoint]:
        """Return every named checkpoint, by cursor and name."""
        return sorted(checkpoints.checkpoints(self._reading), key=lambda named: (named.cursor, named.name))

    def edit_checkpoint(self, path: str) -> EditCheckpoint | None:
        number = self.path_id(path)
        return None if number is None else checkpoints.edit_checkpoint(self._reading, number)

    def burst(self, number: int) -> Burst | None:
        return bursts.burst(self._reading, number)

    def bursts(self, before: int | None = None) -> Iterator[Burst]:
        return bursts.bursts(self._reading, before)

    def open_bursts(self) -> list[Burst]:
        return list(bursts.open_bursts(self._reading))

    def burst_batches(self, number: int) -> list[int]:
        """Return the batches that belong to a burst, oldest first."""
        return [batch for batch, why in bursts.batches_of(self._reading, number) if why in BELONGING]

    def burst_evidence(self, number: int) -> Iterator[tuple[int, str]]:
        return bursts.batches_of(self._reading, number)

    def in_burst(self, number: int, batch: int) -> bool:
        return bursts.belongs(self._reading, number, batch)

    def burst_word(self, number: int, batch: int) -> str:
        return bursts.evidence_of(self._reading, number, batch)

    def lease(self, number: int) -> Lease | None:
        return leases.lease(self._reading, number)

    def leases(self) -> list[Lease]:
        return list(leases.leases(self._reading))
