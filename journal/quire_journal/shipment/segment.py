"""Segments: ranges of the log as shipped, each chained to its predecessor and closed by a signed head. A record is
included byte for byte, or, if it must not leave the machine, only as its leaf of the Merkle tree, so that readers who
see less can check the head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from quire_journal.model import JournalDamaged, link, read_record, record_hash
from quire_journal.transparency import BadNote, Frontier, VerifierKey, leaf_hash, read_head, read_note

FORMAT: Final = 1

_LEAF_BYTES: Final = 32


class BadSegment(ValueError):
    """The bytes are no segment, or do not follow its predecessor. The message is a clause, with the segment as "it"."""


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """Records `first` to `last` of a journal."""

    format: int
    journal: str  # name in the remote store
    parent: str  # journal from which `journal` forked with its first segment; "" for none
    number: int  # from 1
    prev: bytes  # sha256 of the segment before; b"" before the first
    first: int  # seq
    records: tuple[bytes, ...]  # as on disk; b"" for a withheld record
    leaves: tuple[bytes, ...]  # leaf hashes of the withheld records, in order
    blobs: tuple[tuple[bytes, bytes], ...]  # (sha256 of bytes that the records name, sha256 of these bytes encrypted)
    head: str  # signed head of the log up to `last` (c2sp.org/tlog-checkpoint)

    @property
    def last(self) -> int:
        return self.first + len(self.records) - 1

    def rows(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (seq, record, leaf hash) of each record; the record is b"" if withheld. Raises `BadSegment`."""
        withheld = iter(self.leaves)
        for seq, stored in enumerate(self.records, self.first):
            leaf = leaf_hash(record_hash(stored)) if stored else next(withheld, b"")
            if len(leaf) != _LEAF_BYTES:
                raise BadSegment(f"it lacks the leaf of record {seq}")
            yield seq, stored, leaf
        if next(withheld, None) is not None:
            raise BadSegment("it has leaves of no record")


class Position(msgspec.Struct, frozen=True, array_like=True):
    """Position up to which a journal was shipped. The default is before its first segment."""

    journal: str
    parent: str = ""
    number: int = 0  # of the last segment
    hash: bytes = b""  # sha256 of the last segment
    tree: Frontier = Frontier()
    link: bytes = b""  # link of the last record; b"" if unknown
    holder: str = ""  # journal under whose name the last segment is stored: for a new fork, its parent
    gaps: tuple[int, ...] = ()  # segments that the remote store lost and that cannot be made again

    @property
    def seq(self) -> int:
        return self.tree.size


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Segment)


def encode_segment(segment: Segment) -> bytes:
    return _ENCODER.encode(segment)


def read_segment(data: bytes) -> Segment:
    """Decode a segment. Raises `BadSegment`."""
    try:
        segment = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadSegment(f"its bytes are no segment ({error})") from error
    if segment.format != FORMAT:
        raise BadSegment(f"it has format {segment.format}, and this version of Quire reads {FORMAT}")
    if not segment.records:
        raise BadSegment("it has no records")
    return segment


def position_before(segment: Segment, journal: str, number: int) -> Position:
    """Return the position before the segment stored as `number` of `journal`, as the segment itself states it: to read
    on where its predecessor is missing or was changed. The tree is unknown from there on.
    """
    return Position(journal, number=number - 1, hash=segment.prev, tree=Frontier(max(0, segment.first - 1)))


def follow(position: Position, data: bytes, keys: Sequence[VerifierKey] = ()) -> tuple[Segment, Position]:
    """Return the segment, and the position after it. If there are `keys`, one must have signed the segment's head; the
    head's root is compared if the tree is known. Raises `BadSegment` for bytes that do not continue from `position`.
    """
    segment = read_segment(data)
    forks = segment.journal != position.journal and segment.parent == position.journal
    if segment.journal != position.journal and not forks:
        raise BadSegment(f"it is one of the journal {segment.journal}, not of {position.journal}")
    if segment.number != position.number + 1:
        raise BadSegment(f"segment {segment.number} stands in its place")
    if segment.prev != position.hash:
        raise BadSegment("it does not hold the hash of the segment before")
    if segment.first != position.seq + 1:
        raise BadSegment(f"it begins with record {segment.first}, not {position.seq + 1}")
    tree, before = position.tree, position.link
    for seq, stored, leaf in segment.rows():
        tree = tree.append(leaf)
        before = _linked(seq, stored, before) if stored else b""
    _require_head(segment, tree, keys)
    hash, name = hashlib.sha256(data).digest(), segment.journal
    return segment, Position(name, segment.parent, segment.number, hash, tree, before, name, position.gaps)


def _linked(seq: int, stored: bytes, before: bytes) -> bytes:
    try:
        record = read_record(seq, stored)
    except JournalDamaged as error:
        raise BadSegment(f"its record {seq} cannot be decoded") from error
    if record.seq != seq:
        raise BadSegment(f"record {record.seq} stands in the place of record {seq}")
    if before and record.prev != before:
        raise BadSegment(f"record {seq} does not hold the hash of record {seq - 1}")
    return link(record_hash(stored))


def _require_head(segment: Segment, tree: Frontier, keys: Sequence[VerifierKey]) -> None:
    try:
        note = read_note(segment.head)
        head = read_head(note.text)
        signed = not keys or bool(note.signed_by(keys))
    except BadNote as error:
        raise BadSegment(f"its head is none: {error}") from error
    if not signed:
        raise BadSegment("its head is not signed by a known key")
    if head.size != tree.size or (tree.is_known and head.root != tree.root()):
        raise BadSegment(f"the records up to {tree.size} are not those of its signed head")
