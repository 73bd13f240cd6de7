"""Losses view: bytes that the journal no longer holds, why, and since which record. They may have been stored again, so
query the blobs first. The view also holds the hashes of replaced records, over which the hash chain was computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from quire_journal.model import (
    BytesGone,
    Event,
    JournalDamaged,
    JournalSalvaged,
    Purged,
    Record,
    decode_record,
    read_record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, last_number, u64

TABLES = ("gone", "replaced", "salvages")
KINDS: Final = (BytesGone, JournalSalvaged, Purged)

REPLACING: Final = (JournalSalvaged.kind, Purged.kind)

LOST, PURGED, DROPPED = "lost", "purged", "dropped"

GONE_KEY_BYTES: Final = 32


class LostStretch(NamedTuple):
    """Records `first` to `last`, which damage destroyed, as the `JournalSalvaged` in record `salvaged` says."""

    first: int
    last: int
    salvaged: int


class Gone(NamedTuple):
    why: str  # LOST, PURGED, DROPPED
    seq: int  # of the record that gives the reason


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add gone bytes and replaced records. PURGED stays the reason, whatever follows."""
    if isinstance(event, BytesGone):
        for blob in event.blobs:
            before = gone(w, blob)
            if len(blob) == GONE_KEY_BYTES and (before is None or before.why != PURGED):
                w.put("gone", blob, u64(record.seq) + event.why.encode())
    elif isinstance(event, JournalSalvaged | Purged):
        if isinstance(event, JournalSalvaged):
            w.put("salvages", u64(record.seq), b"")
        for seq, was in hashes_before(event):
            if w.get("replaced", u64(seq)) is None:  # the first hash of a record changed twice is in the chain
                w.put("replaced", u64(seq), was)


def gone(r: ReadTransaction, blob: bytes) -> Gone | None:
    """Return why the bytes of `blob` are no longer held; None if no loss is recorded."""
    found = r.get("gone", blob) if len(blob) == GONE_KEY_BYTES else None
    return None if found is None else Gone(found[8:].decode(), int.from_bytes(found[:8], "big"))


def tells_of_purge(value: bytes) -> bool:
    """True if the value is a row of `gone` with reason PURGED; for callers that do not know the table."""
    return len(value) == 8 + len(PURGED) and value.endswith(PURGED.encode())


def any_gone(r: ReadTransaction) -> bool:
    return not r.empty("gone")


def hash_of_replaced(r: ReadTransaction, seq: int) -> bytes | None:
    """Return the hash of the original record at `seq`, or None if it was not replaced."""
    return r.get("replaced", u64(seq))


def replaced_by_log(r: ReadTransaction) -> dict[int, bytes]:
    """Return seq → hash of the original for every replaced record, read from the log without the view."""
    found: dict[int, bytes] = {}
    for _, stored in r.scan("records"):
        with suppress(JournalDamaged, msgspec.MsgspecError):  # damaged records are reported elsewhere
            record = decode_record(stored)
            if record.kind in REPLACING:
                for seq, was in hashes_before(record.event()):
                    found.setdefault(seq, was)
    return found


def hashes_before(event: Event | None) -> tuple[tuple[int, bytes], ...]:
    """Return (seq, original hash) of the records that this event replaced; () for an event that replaced none."""
    return event.replaced if isinstance(event, JournalSalvaged | Purged) else ()


def links_since(event: Event | None) -> Iterator[tuple[int, bytes]]:
    """Yield (seq, `records.link` of the replacement, b"" if unknown) of the records that this event replaced. If
    several events replaced a record, the last counts.
    """
    replaced = hashes_before(event)
    links = event.standing if isinstance(event, JournalSalvaged | Purged) else ()
    known = links if len(links) == len(replaced) else (b"",) * len(replaced)
    return zip((seq for seq, _ in replaced), known, strict=True)


def last_salvage(r: ReadTransaction) -> int:
    """Return the seq of the newest salvage record; 0 for none."""
    return last_number(r, "salvages")


def stretches(r: ReadTransaction) -> list[LostStretch]:
    """Return the ranges of lost records, oldest first, except a lost end of the log, whose length is unknown."""
    found: list[LostStretch] = []
    for key, _ in r.scan("salvages"):
        seq = int.from_bytes(key, "big")
        stored = r.get("records", key)
        event = None if stored is None else read_record(seq, stored).event()
        if isinstance(event, JournalSalvaged):
            found += (LostStretch(first, last, seq) for first, last in event.lost if last)
    return sorted(found)
