"""The end of a journal: does the log end where it says, and are its last records and their bytes what they must be?

For a journal that is known to be as it was left: this takes a moment however long it is. `check` looks at everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from quire_journal.integrity.checker import Finding, not_standing, replaced
from quire_journal.journal import require_head
from quire_journal.model import JournalDamaged, decode_record, link, record_hash
from quire_journal.storage import ReadTransaction, Store, blobs, last_number
from quire_journal.views import lost_bytes, replay, watermarks

RECORDS: Final = 64
"""How many of the last records are looked at."""

BYTES: Final = 4 << 20
"""About how many bytes of versions are unpacked."""


def check_end(store: Store) -> Iterator[Finding]:
    """What is wrong with the last records, their chain, the newest bytes, and where the views stand."""
    with store.reading() as r:
        yield from _records(r)
        last = last_number(r, "records")
        if last != r.count("records"):
            yield Finding(f"The log ends with record {last}, and holds {r.count('records')}.", "records")
        if last and watermarks.read(r) != replay.level(last):
            yield Finding(f"The views do not stand at record {last}.", "meta", watermarks.KEY)
        yield from _newest_bytes(r)


def _records(r: ReadTransaction) -> Iterator[Finding]:
    """Back from the last one: each is named by its hash in the one after it, the last in `meta`."""
    wanted: bytes | None = None
    known = replaced(r)
    standing: dict[int, tuple[bytes, int]] = {}
    for key, stored in islice(r.scan("records", reverse=True), RECORDS):
        seq = int.from_bytes(key, "big")
        stands_for = lost_bytes.hash_of_replaced(r, seq) or known.get(seq) or record_hash(stored)
        try:
            if wanted is None:
                require_head(r, seq, record_hash(stored))
            elif link(stands_for) != link(wanted):
                yield Finding(f"Record {seq + 1} does not hold the hash of the record before it.", "records", key, seq)
            record = decode_record(stored)
            for of, there in lost_bytes.links_since(record.event()):
                standing.setdefault(of, (there, seq))
        except (JournalDamaged, msgspec.MsgspecError) as error:
            yield Finding(f"Record {seq} is not what it must be ({error}).", "records", key, seq)
            return
        if record.seq != seq:
            yield Finding(f"The record at {seq} says that it is record {record.seq}.", "records", key, seq)
        wanted = record.prev
    yield from not_standing(r, standing)


def _newest_bytes(r: ReadTransaction) -> Iterator[Finding]:
    """The bytes of the newest records are what their address says, or are said to be gone."""
    left = BYTES
    for _, stored in islice(r.scan("records", reverse=True), RECORDS):
        try:
            blob = getattr(decode_record(stored).event(), "blob", b"")
        except (JournalDamaged, msgspec.MsgspecError):
            return  # which is told of the record already
        if left <= 0:
            return
        try:
            left -= len(blobs.get(r, blob)) if blob and blobs.holds(r, blob) else 0
        except JournalDamaged as error:
            yield Finding(f"The bytes with sha256 {blob.hex()} are lost: {error}.", "blobs")
