"""The contents view: which records made a version with given bytes, at whatever path.

The log is cut into blocks of 256 records. The row of a block has five bytes for each version in it: where its record
stands in the block, and how the address of its bytes begins. So a version adds few bytes to a row that its neighbours
change, too; and a question goes through one row for each 256 records, which of a million records takes some 10 ms.

Four bytes of an address are not all of it, and a write may have been abandoned since: whoever asks looks at the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from struct import Struct
from typing import Final

from quire_journal.model import (
    REGULAR,
    Event,
    FileMoved,
    FileWritten,
    OutsideMoved,
    OutsideWritten,
    Record,
)
from quire_journal.storage import ReadTransaction, WriteTransaction, u32

TABLES = ("contents",)

KINDS: Final = (FileWritten, FileMoved, OutsideWritten, OutsideMoved)

_BLOCK: Final = 256
_ADDRESS: Final = 4
_ENTRIES: Final = Struct(f"B{_ADDRESS}s")  # where the record stands in the block, and how the address begins

_FEW: Final = 8
"""Addresses that are looked for one after the other."""


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Note the bytes of the version that one record made."""
    fold_all(w, ((record, event),))


def fold_all(w: WriteTransaction, records: Sequence[tuple[Record, Event | None]]) -> None:
    """Note the bytes of the versions that records made, which follow each other: each row is written once."""
    row, block = bytearray(), -1
    for record, event in records:
        if not isinstance(event, KINDS) or event.entry != REGULAR or not event.size:
            continue
        at, place = divmod(record.seq, _BLOCK)
        if at != block:
            if row:
                w.put("contents", u32(block), bytes(row))
            row, block = bytearray(w.get("contents", u32(at)) or b""), at
        row += _ENTRIES.pack(place, _address(event.blob))
    if row:
        w.put("contents", u32(block), bytes(row))


def find(r: ReadTransaction, blobs: Collection[bytes], before: int) -> Iterator[int]:
    """The records in front of record `before` that may have made a version with one of these bytes, newest first."""
    addresses = {_address(blob) for blob in blobs}
    for key, row in r.scan("contents", b"", u32(before // _BLOCK + 1), reverse=True):
        first = int.from_bytes(key, "big") * _BLOCK
        if len(addresses) > _FEW or any(address in row for address in addresses):
            places = [place for place, address in _ENTRIES.iter_unpack(row) if address in addresses]
            yield from (first + place for place in reversed(places) if first + place < before)


def _address(blob: bytes) -> bytes:
    return blob[:_ADDRESS].ljust(_ADDRESS, b"\0")
