"""The losses view: which bytes the journal held once and does not hold any more, why, and since which record.

Bytes that came back are held, whatever stands here: ask for the bytes first, and here for the reason why there are
none. Also the hashes of records that are not what they were: the record after one of them holds the hash that is
kept here, so the chain can be followed across it.
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
"""Kinds of records that put others in the place of earlier ones."""

LOST, PURGED, DROPPED = "lost", "purged", "dropped"

GONE_KEY_BYTES: Final = 32
"""Length of a key of `gone`."""


class LostStretch(NamedTuple):
    """Records first..last that damage took; record `salvaged` says so."""

    first: int
    last: int
    salvaged: int


class Gone(NamedTuple):
    """Why bytes are not held any more."""

    why: str  # LOST, PURGED, DROPPED
    seq: int  # of the record that says so


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Note what is gone. Of bytes that were purged and then dropped, or lost, it stays said that they were purged."""
    if isinstance(event, BytesGone):
        for blob in event.blobs:
            before = gone(w, blob)
            if len(blob) == GONE_KEY_BYTES and (before is None or before.why != PURGED):
                w.put("gone", blob, u64(record.seq) + event.why.encode())
    elif isinstance(event, JournalSalvaged | Purged):
        if isinstance(event, JournalSalvaged):
            w.put("salvages", u64(record.seq), b"")
        for seq, was in hashes_before(event):
            if w.get("replaced", u64(seq)) is None:  # of one that is changed twice the first hash is in the chain
                w.put("replaced", u64(seq), was)


def gone(r: ReadTransaction, blob: bytes) -> Gone | None:
    """Why the bytes of `blob` are not held any more; None where no record says that they are gone."""
    found = r.get("gone", blob) if len(blob) == GONE_KEY_BYTES else None
    return None if found is None else Gone(found[8:].decode(), int.from_bytes(found[:8], "big"))


def tells_of_purge(value: bytes) -> bool:
    """Is this a row of `gone` that tells of a purge? For a caller that does not know which table it is from."""
    return len(value) == 8 + len(PURGED) and value.endswith(PURGED.encode())


def any_gone(r: ReadTransaction) -> bool:
    """Does any record say that bytes are gone?"""
    return not r.empty("gone")


def hash_of_replaced(r: ReadTransaction, seq: int) -> bytes | None:
    """The hash of the record that stood at `seq`, where another stands now."""
    return r.get("replaced", u64(seq))


def replaced_by_log(r: ReadTransaction) -> dict[int, bytes]:
    """`hash_of_replaced` of every record, as the log says it: for whoever cannot rely on the view."""
    found: dict[int, bytes] = {}
    for _, stored in r.scan("records"):
        with suppress(JournalDamaged, msgspec.MsgspecError):  # what is wrong with a record is not asked here
            record = decode_record(stored)
            if record.kind in REPLACING:
                for seq, was in hashes_before(record.event()):
                    found.setdefault(seq, was)
    return found


def hashes_before(event: Event | None) -> tuple[tuple[int, bytes], ...]:
    """The records that this event put in the place of others, each with the hash of the one that was there."""
    return event.replaced if isinstance(event, JournalSalvaged | Purged) else ()


def links_since(event: Event | None) -> Iterator[tuple[int, bytes]]:
    """The same records, each with the link of what stands there since; b"" where the event does not tell it.

    No other record holds those links. Of several events that name a record the last one counts.
    """
    replaced = hashes_before(event)
    links = event.standing if isinstance(event, JournalSalvaged | Purged) else ()
    known = links if len(links) == len(replaced) else (b"",) * len(replaced)
    return zip((seq for seq, _ in replaced), known, strict=True)


def last_salvage(r: ReadTransaction) -> int:
    """The seq of the newest record that says that the journal was salvaged; 0 for none."""
    return last_number(r, "salvages")


def stretches(r: ReadTransaction) -> list[LostStretch]:
    """The records that damage took, oldest first. Where the end of the log was lost nobody knows how many they are."""
    found: list[LostStretch] = []
    for key, _ in r.scan("salvages"):
        seq = int.from_bytes(key, "big")
        stored = r.get("records", key)
        event = None if stored is None else read_record(seq, stored).event()
        if isinstance(event, JournalSalvaged):
            found += (LostStretch(first, last, seq) for first, last in event.lost if last)
    return sorted(found)
