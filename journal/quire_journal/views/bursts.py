"""Bursts view: units of work (a tool call, a formatter, a git operation), and the batches that belong to them.

A burst is open until a record ends it or its time, compared with the times of records, is over. While it is open:
* each batch of its caller belongs to it (evidence `own`), also in nested bursts;
* outside writes may belong to a burst begun with `outside`: as `only_outside_burst` if no other was open and the
  watcher or a call saw the write, else `several_open` or `scanned`. Time proves nothing: such writes count as unclear;
* a burst that names files only takes outside writes to those, with priority (evidence `named`).

A `WriteAttributed` adds a write with other evidence, such as `exact`. A `WrittenApart` takes a batch out of runs that
did not start the process from which it came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from quire_journal.model import (
    DISPLACED,
    DURING,
    PROVED,
    READ,
    SCANNED,
    WATCHED,
    BurstBegun,
    BurstEnded,
    Event,
    Record,
    WriteAttributed,
    WrittenApart,
    paths_of,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u64
from quire_journal.views.files import OUTSIDE_WRITES, TOOL_WRITES
from quire_journal.views.writers import caller_of

TABLES = ("bursts", "open_bursts", "burst_batches")
KINDS: Final = (*TOOL_WRITES, *OUTSIDE_WRITES, BurstBegun, BurstEnded, WriteAttributed, WrittenApart)

OWN: Final = "own"
ONLY_OUTSIDE: Final = "only_outside_burst"
NAMED: Final = "named"
SEVERAL_OPEN: Final = "several_open"

BELONGING: Final = (OWN, *PROVED)
"""Evidence by which a batch belongs to a burst, and is undone with it."""

PROBABLE: Final = (DURING,)

RUN: Final = "run"
"""Form of a burst by `quire run`."""

UNREPORTED: Final = "unreported"
"""Reason of the end of an agent's call whose turn ended without a report of the call."""

PROCESS: Final = "process"
"""Value of `bind` for a burst that ends with its writer's process."""

_SEEN_WHEN_IT_HAPPENED: Final = frozenset({WATCHED, READ, DISPLACED})


class Burst(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Time in which one call, run or announced piece of work writes. It ends by a record (`ended`),
    or at `expires_ns`.
    """

    number: int  # seq of its first record
    owner: bytes  # the caller's key
    writer: int  # writer id of the owner at the beginning
    label: str
    form: str
    began_ns: int
    expires_ns: int
    outside: bool = False
    bind: str = "session"
    ended: int = 0  # seq of the record that ended it
    ended_ns: int = 0
    why: str = ""  # why the burst ended
    last: int = 0  # newest record that belongs to the burst
    batches: int = 0  # number of batches that belong to the burst
    unclear: int = 0  # number of batches that may belong to the burst
    paths: tuple[str, ...] = ()  # files whose outside writes belong to the burst; empty: all
    command: str = ""  # command line of a shell call
    apart: tuple[int, ...] = ()  # of a run: its caller's runs that were open and did not start it

    def open_at(self, now_ns: int) -> bool:
        """True if at this time no record has ended the burst and its time is not over, so that
        writes may belong to it.
        """
        return not self.ended and now_ns < self.expires_ns


_ENCODER: Final = msgspec.msgpack.Encoder()
_BURST: Final = msgspec.msgpack.Decoder(Burst)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    if isinstance(event, TOOL_WRITES):
        caller = caller_of(w, record.writer)
        for burst in list(_open(w, record.at_ns)):
            if burst.owner == caller:
                _add(w, burst, record, OWN)
    elif isinstance(event, OUTSIDE_WRITES):
        seen = getattr(event, "evidence", "") in _SEEN_WHEN_IT_HAPPENED
        candidates = claiming(_open(w, record.at_ns), paths_of(event))
        for burst in candidates:
            alone = NAMED if burst.paths else ONLY_OUTSIDE
            _add(w, burst, record, SCANNED if not seen else alone if len(candidates) == 1 else SEVERAL_OPEN)
    elif isinstance(event, BurstBegun):
        _put(
            w,
            Burst(
                record.seq,
                caller_of(w, record.writer),
                record.writer,
                event.label,
                event.form,
                record.at_ns,
                event.expires_ns,
                event.outside,
                event.bind,
                paths=event.paths,
                command=event.command,
                apart=event.apart,
            ),
        )
        w.put("open_bursts", u64(record.seq), b"")
    elif isinstance(event, BurstEnded):
        _end(w, record, event)
    elif isinstance(event, WriteAttributed):
        _attribute(w, event)
    elif isinstance(event, WrittenApart):
        for number in event.runs:
            _take_out(w, number, record.batch)


def burst(r: ReadTransaction, number: int) -> Burst | None:
    found = r.get("bursts", u64(number)) if 0 < number < 1 << 63 else None
    return None if found is None else _BURST.decode(found)


def bursts(r: ReadTransaction, before: int | None = None) -> Iterator[Burst]:
    """Yield the bursts begun before record `before` (None: all), newest first."""
    for _, value in r.scan("bursts", b"", None if before is None else u64(before), reverse=True):
        yield _BURST.decode(value)


def open_bursts(r: ReadTransaction) -> Iterator[Burst]:
    """Yield the bursts that no record has ended, oldest first; some may have expired."""
    for key, _ in r.scan("open_bursts"):
        found = r.get("bursts", key)
        if found is not None:
            yield _BURST.decode(found)


def batches_of(r: ReadTransaction, number: int) -> Iterator[tuple[int, str]]:
    """Yield (batch, evidence) of the batches that belong, or may belong, to a burst, oldest first."""
    for key, evidence in r.scan("burst_batches", u64(number), u64(number + 1)):
        yield int.from_bytes(key[8:], "big"), evidence.decode()


def evidence_of(r: ReadTransaction, number: int, batch: int) -> str:
    """Return the evidence that links the batch to the burst; "" if there is none."""
    return (r.get("burst_batches", u64(number) + u64(batch)) or b"").decode()


def belongs(r: ReadTransaction, number: int, batch: int) -> bool:
    return evidence_of(r, number, batch) in BELONGING


def claiming(bursts: Iterable[Burst], paths: Collection[str]) -> list[Burst]:
    """Return those of the open `bursts` that may have made an outside write to `paths`: bursts that name any of the
    paths, else bursts that name no files. Only bursts begun with `outside` count.
    """
    taking = [burst for burst in bursts if burst.outside]
    named = [burst for burst in taking if not set(burst.paths).isdisjoint(paths)]
    return named or [burst for burst in taking if not burst.paths]


def _open(w: WriteTransaction, now_ns: int) -> Iterator[Burst]:
    if not w.empty("open_bursts"):  # the common case, checked for each write
        yield from (burst for burst in open_bursts(w) if burst.open_at(now_ns))


def _add(w: WriteTransaction, burst: Burst, record: Record, evidence: str) -> None:
    row = u64(burst.number) + u64(record.batch)
    before = w.get("burst_batches", row)
    new = int(before is None)
    if evidence in BELONGING:
        # A batch has one caller or none, so all its records have the same evidence.
        burst = msgspec.structs.replace(burst, batches=burst.batches + new, last=record.seq)
    else:
        burst = msgspec.structs.replace(burst, unclear=burst.unclear + new)
    if new:
        w.put("burst_batches", row, evidence.encode())
    _put(w, burst)


def _attribute(w: WriteTransaction, event: WriteAttributed) -> None:
    begun = burst(w, event.burst)
    if begun is None:
        return
    for seq in event.seqs:
        row = u64(begun.number) + u64(seq)
        before = w.get("burst_batches", row)
        was, now = before is not None and before.decode() in BELONGING, event.evidence in BELONGING
        begun = msgspec.structs.replace(
            begun,
            batches=begun.batches + now - was,
            unclear=begun.unclear + (not now) - (before is not None and not was),
            last=max(begun.last, seq) if now else begun.last,
        )
        w.put("burst_batches", row, event.evidence.encode())
    _put(w, begun)


def _take_out(w: WriteTransaction, number: int, batch: int) -> None:
    begun = burst(w, number)
    if begun is not None and evidence_of(w, number, batch) == OWN:
        w.delete("burst_batches", u64(number) + u64(batch))
        _put(w, msgspec.structs.replace(begun, batches=begun.batches - 1))


def _end(w: WriteTransaction, record: Record, event: BurstEnded) -> None:
    begun = burst(w, event.burst)
    if begun is None or begun.ended:
        return
    w.delete("open_bursts", u64(begun.number))
    # A burst that expired before this record ended at its expiry.
    ended_ns = min(record.at_ns, begun.expires_ns)
    _put(w, msgspec.structs.replace(begun, ended=record.seq, ended_ns=ended_ns, why=event.why))


def _put(w: WriteTransaction, burst: Burst) -> None:
    w.put("bursts", u64(burst.number), _ENCODER.encode(burst))
