"""Outbox: the next segment of a journal after a position, and the test whether a segment in the remote store is the
journal's own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from quire_journal.model import JournalDamaged, decode_record, path_after, record_hash
from quire_journal.shipment.cipher import encrypt
from quire_journal.shipment.disclosure import Hidden, leaves_machine, shipped_blob
from quire_journal.shipment.ledger import Receipt
from quire_journal.shipment.segment import FORMAT, BadSegment, Position, Segment, encode_segment, follow, read_segment
from quire_journal.storage import ReadTransaction, blobs, u64
from quire_journal.transparency import Frontier, VerifierKey, leaf_hash, leaves

SEGMENT_RECORDS: Final = 100
SEGMENT_BYTES: Final = 64 * 1024
QUIET_NS: Final = 1_000_000_000

SLICE_RECORDS: Final = 50
"""Number of records sealed between two pauses, some 1.5 ms; while a loop is busy, a pause lasts longer than asked."""

MOST_CONTENT: Final = 2 << 20
"""Bytes of contents after which a segment ends, as they are in memory together."""

LARGEST_CONTENT: Final = 16 << 20
"""Size above which contents stay on the machine, as a message to the shipper has a whole segment."""

Sign = Callable[[Frontier], str]
"""Function that signs the head of a tree, and returns the signed note."""


class Rules(NamedTuple):
    hidden: Hidden = lambda path: False
    contents: bool = True  # bytes of versions, too
    secret: Callable[[str, bytes], object] = lambda path, data: False  # truthy for bytes that stay, with their record


class SealedSegment(NamedTuple):
    """Segment, and the contents that must be in the remote store before it."""

    data: bytes
    contents: dict[str, bytes]  # name in the remote store → encrypted bytes
    after: Position


def seal(
    r: ReadTransaction,
    at: Position,
    rules: Rules,
    key_of: Callable[[bytes], bytes],
    sign: Sign,
    now_ns: int,
    breathe: Callable[[], None] = lambda: None,
    bases: blobs.BlobCache | None = None,
    again: Receipt | None = None,
) -> SealedSegment | None:
    """Return the segment after `at`; None without new records, or while it is not full and the newest record is less
    than `QUIET_NS` old. `key_of`: blob → its key, which must be durable before the segment leaves. `breathe` is called
    between slices.
    `bases` is the cache of `blobs.unpack`; without it, each version of a file is decoded from its keyframe.
    `again` has the segment end where the one of this receipt ended; signed at its time, it has the same bytes, unless
    settings or a purge have changed what leaves the machine.
    """
    if again is not None and r.get("records", u64(again.last)) is None:  # of a history that went on elsewhere
        again = None
    if again is None and not _is_due(r, at, now_ns):  # first, as sealing costs more than looking
        return None
    records: list[bytes] = []
    withheld, tree = [], at.tree
    contents: dict[str, bytes] = {}
    named: dict[bytes, bytes] = {}  # blob → sha256 of the encrypted bytes
    size = held = 0
    most = again.last - at.seq if again is not None else SEGMENT_RECORDS
    rows = zip(islice(leaves(r, at.seq + 1), most), r.scan("records", u64(at.seq + 1)), strict=False)
    for (_, leaf, _), (_, stored) in rows:
        if not len(records) % SLICE_RECORDS:
            breathe()
        event = decode_record(stored).event()
        tells = leaf == leaf_hash(record_hash(stored)) and leaves_machine(event, rules.hidden)
        blob = shipped_blob(event) if tells else b""
        fresh = blob and blob not in named and blobs.holds(r, blob)
        try:
            data = blobs.get(r, blob, bases=bases) if fresh else None
        except JournalDamaged:  # it may hold a secret
            data, tells = None, False
        if data is not None and rules.secret(path_after(event) or "", data):
            tells = False
        elif data is not None and rules.contents and len(data) <= LARGEST_CONTENT:
            encrypted = encrypt(key_of(blob), blob, data)
            named[blob] = hashlib.sha256(encrypted).digest()
            contents[named[blob].hex()] = encrypted
            held += len(encrypted)
        records.append(stored if tells else b"")
        withheld += [] if tells else [leaf]
        tree = tree.append(leaf)
        size += len(stored)
        if size >= SEGMENT_BYTES or held >= MOST_CONTENT:
            break
    segment = Segment(
        FORMAT,
        at.journal,
        at.parent,
        at.number + 1,
        at.hash,
        at.seq + 1,
        tuple(records),
        tuple(withheld),
        tuple(named.items()),
        sign(tree),
    )
    data = encode_segment(segment)
    return SealedSegment(data, contents, follow(at, data)[1])


def _is_due(r: ReadTransaction, at: Position, now_ns: int) -> bool:
    """True if the next segment is full, or its newest record is at least `QUIET_NS` old."""
    rows = [stored for _, stored in islice(r.scan("records", u64(at.seq + 1)), SEGMENT_RECORDS)]
    if not rows:
        return False
    full = len(rows) == SEGMENT_RECORDS or sum(map(len, rows)) >= SEGMENT_BYTES
    return full or abs(now_ns - decode_record(rows[-1]).at_ns) >= QUIET_NS


def adopted(r: ReadTransaction, at: Position, data: bytes, keys: Sequence[VerifierKey] = ()) -> Position | None:
    """Return the position after `data`, a segment of the remote store; None if the segment does not hold this journal's
    records after `at`, or none of `keys` (empty: not asked for) signed it.
    """
    try:
        segment, after = follow(at, data, keys)
    except BadSegment:
        return None
    ours = [leaf for _, leaf, _ in leaves(r, segment.first, len(segment.records))]
    return after if ours == [leaf for _, _, leaf in segment.rows()] else None


def adopted_after_gap(r: ReadTransaction, at: Position, data: bytes) -> Position | None:
    """Return the position after `data`, as `adopted`, although the remote store has no segment between `at` and `data`.
    The signed head of `data` covers the records of the gap, too, which must be this journal's.
    """
    try:
        segment = read_segment(data)
    except BadSegment:
        return None
    tree = at.tree
    for _, leaf, _ in leaves(r, at.seq + 1, max(0, segment.first - at.seq - 1)):
        tree = tree.append(leaf)
    gaps = (*at.gaps, *range(at.number + 1, segment.number))
    return adopted(r, replace(at, number=segment.number - 1, hash=segment.prev, tree=tree, link=b"", gaps=gaps), data)
