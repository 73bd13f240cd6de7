"""Ledger: the position up to which a journal was shipped, and the keys of its shipped bytes, in rows of the journal.

If the position is lost, or replaced by an older position, segments in the remote store that hold the journal's records
are adopted. A segment with other records (of a clone, or from before an old copy of the journal was restored) makes the
journal fork: from the last common segment on it has another name in the remote store, which `journal_forked` records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from quire_journal.model import JournalForked, read_record
from quire_journal.shipment.segment import Position, read_segment
from quire_journal.storage import ReadTransaction, WriteTransaction, last_number, u64
from quire_journal.transparency import read_note
from quire_journal.views.indexes import term_index

_SHIPPED: Final = b"shipped "
_ADDRESS: Final = b"shipped to"
_RECEIPT: Final = b"shipped segment "

_decode: Final = msgspec.msgpack.Decoder(Position).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class Receipt(msgspec.Struct, frozen=True, array_like=True):
    """Parts of a shipped segment beside its records, to make the same bytes again where they were lost."""

    first: int  # seq
    last: int
    at_s: int  # time of its signed head
    hash: bytes  # sha256 of the segment


_decode_receipt: Final = msgspec.msgpack.Decoder(Receipt).decode


def receipt(r: ReadTransaction, number: int) -> Receipt | None:
    """Return the receipt of the segment that was shipped last under `number`, or None."""
    row = r.get("meta", _RECEIPT + u64(number))
    return _decode_receipt(row) if row else None


def keep_receipt(w: WriteTransaction, data: bytes) -> None:
    """Keep the receipt of the segment `data`, which is at the remote store."""
    segment = read_segment(data)
    at_s = max(one.at_s for one in read_note(segment.head).signatures)
    kept = Receipt(segment.first, segment.last, at_s, hashlib.sha256(data).digest())
    w.put("meta", _RECEIPT + u64(segment.number), _encode(kept))


def address(r: ReadTransaction) -> str:
    """Return the address of the remote store to which this journal was shipped last; "" for none."""
    return (r.get("meta", _ADDRESS) or b"").decode()


def position(r: ReadTransaction, journal: str, to: str | None = None) -> Position:
    """Return the position up to which this journal was shipped to the address `to` (None: the last one); without a
    shipment, `beginning`.
    """
    row = r.get("meta", _row_of(address(r) if to is None else to))
    try:
        return lineage(r, _decode(row)) if row else beginning(r, journal)
    except msgspec.MsgspecError:
        return beginning(r, journal)


def beginning(r: ReadTransaction, journal: str) -> Position:
    return lineage(r, Position(journal))


def lineage(r: ReadTransaction, at: Position) -> Position:
    """Return position `at` with the name under which the journal is shipped from there on: that of a fork recorded at
    this position, else unchanged.
    """
    for fork in _forks(r):
        if (fork.parent, fork.number) == (at.journal, at.number):
            at = forked(at, fork)
    return at


def forked(at: Position, fork: JournalForked) -> Position:
    return msgspec.structs.replace(at, journal=fork.journal, parent=fork.parent)


def origin_of(journal: str) -> str:
    """Return the name of the journal from which this one descends by forks; its own if it is no fork."""
    return journal.partition(".")[0]


def fork_at(at: Position, name: str) -> JournalForked:
    """Return the event of a fork at this position; `name` is new in the remote store."""
    return JournalForked(f"{origin_of(at.journal)}.{name}", at.journal, at.number, at.seq)


def keep_position(w: WriteTransaction, at: Position, to: str = "") -> None:
    w.put("meta", _row_of(to), _encode(at))
    w.put("meta", _ADDRESS, to.encode())


def forget_position(w: WriteTransaction) -> None:
    """Delete the position, to begin again at the first segment, as the remote store has changed."""
    w.delete("meta", _row_of(address(w)))


def _row_of(to: str) -> bytes:
    return _SHIPPED + hashlib.sha256(to.encode()).digest()


class ContentKeys:
    """Function from a blob to its key, for a segment that is being sealed: the stored key, else a new one, kept in
    `new`.
    """

    def __init__(self, r: ReadTransaction, random: Callable[[], bytes]) -> None:
        self.new: dict[bytes, bytes] = {}  # blob → key; to be stored before the segment leaves
        self._r, self._random = r, random

    def __call__(self, blob: bytes) -> bytes:
        found = self._r.get("content_keys", blob) or self.new.get(blob)
        if found is None:
            found = self.new[blob] = self._random()
        return found


def keep_keys(w: WriteTransaction, keys: Mapping[bytes, bytes]) -> None:
    w.put_all("content_keys", sorted(keys.items()))


def content_key(r: ReadTransaction, blob: bytes) -> bytes | None:
    """Return the key of a content in the remote store; None if it was never shipped, or was purged."""
    return r.get("content_keys", blob)


def _forks(r: ReadTransaction) -> Iterator[JournalForked]:
    wanted = [[term_index.of_kind(JournalForked.kind)]]
    for _, seqs in term_index.find(r, wanted, 0, last_number(r, "records"), reverse=False):
        for seq in seqs:
            stored = r.get("records", u64(seq))
            event = read_record(seq, stored).event() if stored is not None else None
            if isinstance(event, JournalForked):
                yield event
