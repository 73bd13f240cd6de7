"""Replay: fold of the log into the views, record by record or again from any point (`watermarks`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from quire_journal.model import BY_KIND, EVENTS, Event, Record, read_record
from quire_journal.storage import OutOfOrder, ReadTransaction, Store, WriteTransaction, last_number, u64
from quire_journal.views import watermarks
from quire_journal.views.anchors import BytesOf
from quire_journal.views.bulk_load import WORTH, Newcomers
from quire_journal.views.table import TABLES, VIEWS, View, of_kind

CHUNK: Final = 1000

_PASSED: Final = 20


def fold_all(
    w: WriteTransaction, records: Sequence[tuple[Record, Event | None]], bytes_of: BytesOf | None = None
) -> None:
    """Fold the next records of the log into every view, and advance the watermarks. The log must already have the
    records.

    Blobs come from the journal or `bytes_of`. Raises `OutOfOrder` if a view is not at the record before the first: call
    `catch_up` first.
    """
    if not records:
        return
    first, last = records[0][0].seq, records[-1][0].seq
    _require_level(w, first - 1)
    newcomers = Newcomers(w) if len(records) >= WORTH else None
    for at, (record, event) in enumerate(records, first):
        if record.seq != at:
            raise OutOfOrder(f"record {record.seq} stands where record {at} is expected")
        if newcomers is not None:
            if newcomers.take(record, event):
                continue
            newcomers.put()
        for view in _OF_KIND[type(event)]:
            if view.apply_with is None or bytes_of is None:
                view.apply(w, record, event)
            else:
                view.apply_with(w, record, event, bytes_of)
    if newcomers is not None:
        newcomers.put()
    for view in VIEWS:
        if view.apply_all is not None:
            view.apply_all(w, records)
    watermarks.say(w, _level_row(last))


def level(seq: int) -> watermarks.Marks:
    return {view.name: (view.version, seq) for view in VIEWS}


@lru_cache(maxsize=4)  # each fold compares with the row that the last fold wrote
def _level_row(seq: int) -> bytes:
    return watermarks.row(level(seq))


def _require_level(r: ReadTransaction, seq: int) -> None:
    if watermarks.is_said(r, _level_row(seq)):
        return
    wanted = level(seq)
    at = watermarks.read(r)
    if not at and not seq:
        return
    behind = next((name for name, mark in wanted.items() if at.get(name) != mark), None)
    if behind is not None:
        raise OutOfOrder(f"the view {behind!r} is not at record {seq}: catch up before folding {seq + 1}")


def catch_up(store: Store, chunk: int = CHUNK) -> int:
    """Fold the records that views lack, and return the number of records read. A view whose version changed is rebuilt.
    Raises `JournalDamaged` if a record cannot be read; finished transactions stay.
    """
    with store.reading() as r:
        last = last_number(r, "records")
        if watermarks.read(r) == level(last) or not (last or watermarks.read(r)):
            return 0
    with store.writing() as w:
        _begin_again(w, _outdated(w))
    folded = 0
    while True:
        with store.writing() as w:
            count = _fold_chunk(w, chunk)
        folded += count
        if count < chunk:
            return folded


def rebuild(store: Store, chunk: int = CHUNK) -> int:
    """Clear every view, fold the whole log, and return the number of records."""
    with store.writing() as w:
        _begin_again(w, VIEWS)
    return catch_up(store, chunk)


def _begin_again(w: WriteTransaction, views: Iterable[View]) -> None:
    marks = dict(watermarks.read(w))
    for view in views:
        for table in view.tables:
            w.clear(table)
        marks[view.name] = (view.version, 0)
    watermarks.write(w, marks)


def dump(r: ReadTransaction, tables: Iterable[str] | None = None) -> dict[str, list[tuple[bytes, bytes]]]:
    """Return all rows of these tables (None: of all views)."""
    return {table: list(r.scan(table)) for table in (TABLES if tables is None else tables)}


_OF_KIND: Final[dict[type, tuple[View, ...]]] = {kind: of_kind(kind) for kind in EVENTS} | {type(None): of_kind(None)}


_NEVER: Final = (-1, 0)


def _outdated(r: ReadTransaction) -> list[View]:
    last = last_number(r, "records")
    marks = {view.name: watermarks.read(r).get(view.name, _NEVER) for view in VIEWS}
    again = {view.name for view in VIEWS if marks[view.name][0] != view.version or marks[view.name][1] > last}
    for view in reversed(VIEWS):  # a view is listed after those it needs
        at = 0 if view.name in again else marks[view.name][1]
        again |= {name for name in view.needs if marks[name][1] > at}
    return [view for view in VIEWS if view.name in again]


def _fold_chunk(w: WriteTransaction, limit: int) -> int:
    """Fold up to `limit` records from the first that a view lacks, and return the number read. Kinds that no lagging
    view folds are skipped undecoded, so that more are read.
    """
    stored = watermarks.read(w)
    marks = {view.name: stored[view.name][1] for view in VIEWS}
    to = last_number(w, "records")
    wanted = _kinds_of(view for view in VIEWS if marks[view.name] < to)
    rows = list(islice(w.scan("records", u64(min(marks.values()) + 1)), limit if wanted is None else limit * _PASSED))
    records: list[tuple[Record, Event | None]] = []
    last = 0
    for key, row in rows:
        last = int.from_bytes(key, "big")
        record = read_record(last, row)
        if wanted is not None and record.kind in BY_KIND and BY_KIND[record.kind] not in wanted:
            continue
        event = record.event()
        records.append((record, event))
        for view in _OF_KIND[type(event)]:
            if marks[view.name] < last:
                view.apply(w, record, event)
    for view in VIEWS:
        if view.apply_all is not None and marks[view.name] < last:
            view.apply_all(w, [pair for pair in records if pair[0].seq > marks[view.name]])
    watermarks.write(w, {view.name: (view.version, max(marks[view.name], last)) for view in VIEWS})
    return len(rows)


def _kinds_of(views: Iterable[View]) -> frozenset[type[Event]] | None:
    found: set[type[Event]] = set()
    for view in views:
        if view.kinds is None:
            return None
        found.update(view.kinds)
    return frozenset(found)
