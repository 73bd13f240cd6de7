"""Records: events as stored, each with its place in the log, and chained to the one before.

On disk a record is a msgpack array with the event as a sealed body (`msgspec.Raw`), so that scans read
records without decoding bodies, and a kind that this version does not know is carried, not dropped.

The array has one of two shapes, and says by its fourth number which. Up to format 3 that was the batch, 1 or more; the
kind was its name, `prev` the whole hash of the record before, and `op` was always there. Since format 4 it is how far
back the batch began, 0 or less; the kind is its number in `_CODED`, or the name of one that has none, `prev` is half of
the hash, and `op` stands there where it is not empty: a quarter less. A log has records of the first shape and then of
the second, for what is in it is never written again. A record is encoded in the shape that its `prev` is of.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from quire_journal.model.events import BY_KIND, EVENTS, Event
from quire_journal.model.ids import BatchId, Seq, WriterId
from quire_journal.model.upcast import lift


class JournalDamaged(Exception):
    """The journal's bytes are not what they must be. Says what, where, and what to do.

    `everywhere`: the store itself is damaged, so nothing that it answers can be trusted; otherwise one thing in it is.
    """

    def __init__(self, message: str, everywhere: bool = False) -> None:
        super().__init__(message)
        self.everywhere = everywhere


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event as stored. New fields go last, with a default."""

    seq: int
    at_ns: int  # wall clock, UTC, nanoseconds since 1970; only for people, the order is seq
    writer: int
    batch: int
    kind: str
    body: msgspec.Raw
    prev: bytes  # `link` of the sha256 of the record before, as stored; up to format 3 all of that
    op: bytes = b""  # the caller's operation id, on the first record of a batch

    def event(self) -> Event | None:
        """The event inside; None for a kind that this version does not know.

        Raises `log.JournalDamaged` when the body is not what its kind says.
        """
        known, body = BY_KIND.get(self.kind), bytes(self.body)
        try:
            if known is None:
                lifted = lift(self.kind, body, BY_KIND)
                if lifted is None:
                    return None
                known, body = BY_KIND[lifted[0]], lifted[1]
            event: Event = _DECODERS[known].decode(body)
        except msgspec.MsgspecError as wrong:
            raise _undecodable(self.seq, wrong) from wrong
        return event


class _Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Either shape of the array."""

    seq: int
    at_ns: int
    writer: int
    batch: int  # or, at 0 and below, where it began, from `seq`
    kind: str | int
    body: msgspec.Raw
    prev: bytes
    op: bytes = b""


_CODED: Final = (
    *("file_written", "file_deleted", "file_moved", "mode_changed", "writes_settled", "writes_abandoned"),
    *("outside_written", "outside_deleted", "outside_moved", "outside_mode_changed", "bytes_displaced"),
    *("capture_failed", "git_ran", "read_served", "edit_refused", "reply_kept", "checkpoint_saved"),
    *("checkpoint_committed", "checkpoint_rolled_back", "checkpoint_named", "checkpoint_dropped", "batch_undone"),
    *("lease_granted", "lease_renewed", "lease_released", "lease_expired", "lease_broken", "burst_begun"),
    *("burst_ended", "bytes_gone", "retention_applied", "record_lost", "journal_salvaged", "purged", "watch_lost"),
    *("workspace_opened", "workspace_scanned", "writer_introduced"),
)
"""The kinds that format 4 began with, by their numbers; nothing is ever changed here or added. One that comes later
goes by its name: an older Quire of the same format carries it, and would not know a number."""

_CODE_OF: Final = {kind: code for code, kind in enumerate(_CODED)}

_ENCODER: Final = msgspec.msgpack.Encoder()
_ROW: Final = msgspec.msgpack.Decoder(_Row)
_DECODERS: Final[dict[type[Event], msgspec.msgpack.Decoder[Any]]] = {e: msgspec.msgpack.Decoder(e) for e in EVENTS}

GENESIS: Final = bytes(32)
"""What stands for the hash of a record before the first."""

HEAD_KEY: Final = b"head"
"""In the table `meta`: where the log ends, and the hash of the record there (`head_row`)."""

_LINK: Final = 16

LINKS: Final = (_LINK, 32)
"""How many bytes `prev` may have."""


def encode_event(event: Event) -> msgspec.Raw:
    """The body of a record."""
    return msgspec.Raw(_ENCODER.encode(event))


def encode_record(record: Record) -> bytes:
    """A record as it stands in the log."""
    if len(record.prev) != _LINK:
        return _ENCODER.encode(record)
    kind = _CODE_OF.get(record.kind, record.kind)
    row = (record.seq, record.at_ns, record.writer, record.batch - record.seq, kind, record.body, record.prev)
    return _ENCODER.encode((*row, record.op) if record.op else row)


def decode_record(stored: bytes) -> Record:
    """The record in `stored`.

    Raises `msgspec.MsgspecError` when the bytes are not one: the journal is damaged there.
    """
    row = _ROW.decode(stored)
    kind, batch = row.kind, row.batch
    if isinstance(kind, int):
        if not 0 <= kind < len(_CODED):
            raise msgspec.ValidationError(f"there is no kind with the number {kind}")
        kind = _CODED[kind]
    if batch <= 0:
        batch += row.seq
    return Record(row.seq, row.at_ns, row.writer, batch, kind, row.body, row.prev, row.op)


def read_record(seq: int, stored: bytes) -> Record:
    """The record that is stored at `seq`. Raises `log.JournalDamaged` when the bytes there are not one."""
    try:
        return decode_record(stored)
    except msgspec.MsgspecError as wrong:
        raise _undecodable(seq, wrong) from wrong


def _undecodable(seq: int, wrong: msgspec.MsgspecError) -> JournalDamaged:
    return JournalDamaged(f"record {seq} cannot be decoded ({wrong}); run `quire verify`")


def record_hash(stored: bytes) -> bytes:
    """The sha256 of a record as stored. Whoever remembers the newest one's can tell when the past was changed."""
    return hashlib.sha256(stored).digest()


def head_row(seq: int, last_hash: bytes) -> bytes:
    """The row at `HEAD_KEY`. No other row holds the hash of the last record."""
    return seq.to_bytes(8, "big") + last_hash


def link(hash: bytes) -> bytes:
    """What the next record holds of the hash of this one. Hashes are compared by their links."""
    return hash[:_LINK]


def seal(seq: Seq, at_ns: int, writer: WriterId, batch: BatchId, event: Event, prev: bytes, op: bytes = b"") -> Record:
    """The record of `event`. `prev` is the hash of the record before."""
    return Record(seq, at_ns, writer, batch, event.kind, encode_event(event), link(prev), op)
