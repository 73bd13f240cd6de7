"""Batches view: the tool writes of each batch, their owners, and whether they are on disk or undone; also operation ids
and replies for idempotency keys.

An outside write proved to be a caller's is a batch of the caller; probable writes are in another table. A row lists a
caller's batches that began within 256 records, as a row per batch leaves pages half empty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from quire_journal.model import (
    NAMING,
    PROVED,
    BatchUndone,
    Event,
    Record,
    ReplyKept,
    WriteAttributed,
    WritesAbandoned,
    WritesSettled,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32, u64
from quire_journal.views.files import TOOL_WRITES, attributed_writes, record_before
from quire_journal.views.writers import caller_of, owners_of

TABLES = ("ops", "batches", "batches_by", "probable_by", "undone", "replies", "unsettled")

APPLIED: Final = "applied"
ABANDONED: Final = "abandoned"
UNSETTLED: Final = "unsettled"

_OF_BATCHES: Final = (WritesSettled, WritesAbandoned)

Runs = tuple[tuple[int, int, bool], ...]
"""Tool writes of a batch: (first seq - batch, number of consecutive seqs, False if abandoned)."""


class Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    arguments: bytes  # sha256
    reply: bytes  # msgpack
    at_ns: int
    batch: int  # the reply is void if this batch is abandoned


_BLOCK: Final = 256

_ENTRY_BYTES: Final = 5

_ENCODER: Final = msgspec.msgpack.Encoder()
_KEPT: Final = msgspec.msgpack.Decoder(Kept)
_RUNS: Final = msgspec.msgpack.Decoder(Runs)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    fold_all(w, ((record, event),))


def fold_all(w: WriteTransaction, records: Sequence[tuple[Record, Event | None]]) -> None:
    """Fold consecutive records into the view. The rows of a batch are written once per uninterrupted run of writes."""
    growing: _Growing | None = None
    for record, event in records:
        if record.op:
            w.put("ops", record.op, u64(record.batch))
        if isinstance(event, TOOL_WRITES):
            if growing is None or not growing.takes(record):
                if growing is not None:
                    growing.put(w)
                growing = _Growing.of(w, record)
            growing.add(record)
            continue
        if growing is not None and isinstance(event, _OF_BATCHES):
            growing.put(w)
            growing = None
        _note(w, record, event)
    if growing is not None:
        growing.put(w)


def _note(w: WriteTransaction, record: Record, event: Event | None) -> None:
    if isinstance(event, WritesSettled):
        for batch, last in list(w.scan("unsettled", b"", u64(event.through + 1))):
            if int.from_bytes(last, "big") <= event.through:
                w.delete("unsettled", batch)
    elif isinstance(event, WritesAbandoned):
        for start, end in _following(event.seqs):
            _take_back(w, [record_before(w, seq, record.seq) for seq in range(start, end + 1)])
    elif isinstance(event, BatchUndone):
        for undone in event.undone:
            w.put("undone", u64(undone) + u64(record.seq), u64(record.batch))
    elif isinstance(event, ReplyKept):
        caller = caller_of(w, record.writer)
        if caller:
            kept = Kept(event.arguments, event.reply, record.at_ns, record.batch)
            w.put("replies", caller + _key(event.key), _ENCODER.encode(kept))
    elif isinstance(event, WriteAttributed):
        _attribute(w, record, event)


def _attribute(w: WriteTransaction, record: Record, event: WriteAttributed) -> None:
    begun = record_before(w, event.burst, record.seq)
    before = owners_of(w, begun.writer) if begun is not None else ()
    now = owners_of(w, event.writer) if event.evidence in NAMING else ()
    table = "batches_by" if event.evidence in PROVED else "probable_by"
    for seq, _ in attributed_writes(w, record, event):
        for owner in before:
            for other in ("batches_by", "probable_by"):
                if other != table or owner not in now:
                    _own(w, owner, seq, None, other)
        for owner in now:
            _own(w, owner, seq, event.writer, table)


class _Growing(msgspec.Struct):
    batch: int
    writer: int
    runs: Runs
    last: int = 0  # seq of its last tool write

    @classmethod
    def of(cls, r: ReadTransaction, record: Record) -> _Growing:
        return cls(record.batch, record.writer, _runs(r, record.batch))

    def takes(self, record: Record) -> bool:
        return (record.batch, record.writer) == (self.batch, self.writer)

    def add(self, record: Record) -> None:
        self.runs, self.last = _with(self.runs, record.seq - self.batch), record.seq

    def put(self, w: WriteTransaction) -> None:
        batch = u64(self.batch)
        w.put("batches", batch, _ENCODER.encode(self.runs))
        w.put("unsettled", batch, u64(self.last))
        for owner in owners_of(w, self.writer):
            _own(w, owner, self.batch, self.writer)


def batch_of_op(r: ReadTransaction, op: bytes) -> int | None:
    """Return the newest batch of an operation id; None for an unknown id."""
    found = r.get("ops", op) if op else None
    return None if found is None else int.from_bytes(found, "big")


def state(r: ReadTransaction, batch: int) -> str:
    """Return `unsettled` while a write may not be on disk, `abandoned` if all writes were abandoned, else `applied`."""
    if r.get("unsettled", u64(batch)) is not None:
        return UNSETTLED
    runs = _runs(r, batch)
    return ABANDONED if runs and not any(stands for _, _, stands in runs) else APPLIED


def writes(r: ReadTransaction, batch: int) -> list[int]:
    """Return the seqs of the batch's tool writes, except abandoned writes."""
    return [batch + at for first, count, stands in _runs(r, batch) if stands for at in range(first, first + count)]


def unsettled(r: ReadTransaction) -> list[int]:
    """Return the batches with writes that may not be on disk, oldest first."""
    return [int.from_bytes(batch, "big") for batch, _ in r.scan("unsettled")]


def newest_of(r: ReadTransaction, caller: bytes, probable: bool = False) -> Iterator[tuple[int, int]]:
    """Yield (batch, writer) of a caller's batches that are not abandoned, newest first; with `probable`,
    instead those of outside writes that are probably the caller's.
    """
    table = "probable_by" if probable else "batches_by"
    if caller:
        stop = (int.from_bytes(caller, "big") + 1).to_bytes(9, "big")
        for key, row in r.scan(table, caller, stop[1:] if stop[0] == 0 else None, reverse=True):
            first = int.from_bytes(key[8:], "big") * _BLOCK
            for entry in reversed(_entries(row)):
                yield first + entry[0], int.from_bytes(entry[1:], "big")


def undoers(r: ReadTransaction, batch: int) -> list[int]:
    """Return the batches that undid this batch, newest first, including abandoned and undone batches."""
    rows = r.scan("undone", u64(batch), u64(batch + 1), reverse=True)
    return [by for by in (int.from_bytes(value, "big") for _, value in rows) if by > batch]


def undoers_within(r: ReadTransaction, first: int, last: int) -> dict[int, list[int]]:
    """Return batch → `undoers`, for undone batches with first <= batch <= last."""
    found: dict[int, list[int]] = {}
    for key, value in r.scan("undone", u64(first), u64(last + 1), reverse=True):
        batch, by = int.from_bytes(key[:8], "big"), int.from_bytes(value, "big")
        if by > batch:
            found.setdefault(batch, []).append(by)
    return found


def undone_by(r: ReadTransaction, batch: int) -> int | None:
    """Return the newest batch that undid this batch and is in force; None if this batch is in force."""
    undoing: dict[int, list[int]] = {}
    todo = [batch]
    while todo:
        undone = todo.pop()
        if undone not in undoing:
            undoing[undone] = undoers(r, undone)
            todo += undoing[undone]
    standing: dict[int, int | None] = {}  # batch → its newest undoer in force; newer batches come first
    for undone in sorted(undoing, reverse=True):
        in_force = (by for by in undoing[undone] if standing[by] is None and state(r, by) != ABANDONED)
        standing[undone] = next(in_force, None)
    return standing[batch]


def kept_reply(r: ReadTransaction, caller: bytes, key: str) -> Kept | None:
    """Return the reply for an idempotency key of a caller; None also if its batch was abandoned."""
    found = r.get("replies", caller + _key(key)) if caller else None
    kept = None if found is None else _KEPT.decode(found)
    return None if kept is None or state(r, kept.batch) == ABANDONED else kept


def _key(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:16]


def _runs(r: ReadTransaction, batch: int) -> Runs:
    found = r.get("batches", u64(batch))
    return () if found is None else _RUNS.decode(found)


def _with(runs: Runs, at: int, more: int = 1, stands: bool = True) -> Runs:
    if runs and more:
        first, count, same = runs[-1]
        if first + count == at and same == stands:
            return (*runs[:-1], (first, count + more, stands))
    return (*runs, (at, more, stands)) if more else runs


def _entries(row: bytes) -> list[bytes]:
    return [row[at : at + _ENTRY_BYTES] for at in range(0, len(row), _ENTRY_BYTES)]


def _own(w: WriteTransaction, caller: bytes, batch: int, writer: int | None, table: str = "batches_by") -> None:
    """Add the batch, with its writer, to the caller's batches in `table`; if `writer` is None, remove the batch."""
    if not caller:
        return
    block, place = divmod(batch, _BLOCK)
    key = caller + u32(block)
    row = w.get(table, key) or b""
    if writer is not None and (not row or row[-_ENTRY_BYTES] < place):  # the common case: the newest batch of its block
        w.put(table, key, row + bytes((place,)) + u32(writer))
        return
    entries = [entry for entry in _entries(row) if entry[0] != place]
    if writer is None and len(entries) * _ENTRY_BYTES == len(row):
        return  # the row did not have the batch
    if writer is not None:
        entries.append(bytes([place]) + u32(writer))
        entries.sort()
    if entries:
        w.put(table, key, b"".join(entries))
    else:
        w.delete(table, key)


def _following(seqs: Sequence[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(sorted({*seqs})), lambda one: one[1] - one[0]):
        found = [seq for _, seq in run]
        yield found[0], found[-1]


def _take_back(w: WriteTransaction, records: Sequence[Record | None]) -> None:
    for (batch, writer), of_one in groupby(filter(None, records), lambda record: (record.batch, record.writer)):
        written = [record.seq - batch for record in of_one]
        _take_back_run(w, batch, writer, written[0], written[-1] + 1)


def _take_back_run(w: WriteTransaction, batch: int, writer: int, start: int, stop: int) -> None:
    runs = _runs(w, batch)
    now: Runs = ()
    for first, count, stands in runs:
        end = first + count
        low, high = max(first, start), min(end, stop)
        if low >= high:
            now = _with(now, first, count, stands)
            continue
        now = _with(now, first, low - first, stands)
        now = _with(now, low, high - low, False)
        now = _with(now, high, end - high, stands)
    if now == runs:
        return
    w.put("batches", u64(batch), _ENCODER.encode(now))
    if not any(stands for _, _, stands in now):
        w.delete("unsettled", u64(batch))
        for owner in owners_of(w, writer):
            _own(w, owner, batch, None)
