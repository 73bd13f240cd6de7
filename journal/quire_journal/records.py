"""Records: events as stored, each with its place in the log, and chained to the one before.

On disk a record is a msgpack array with the event as a sealed body (`msgspec.Raw`), so that scans read
records without decoding bodies, and a kind that this version does not know is carried, not dropped.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from quire_journal.events import BY_KIND, EVENTS, Event
from quire_journal.ids import BatchId, Seq, WriterId
from quire_journal.upcast import lift


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An event as stored. New fields go last, with a default."""

    seq: int
    at_ns: int  # wall clock, UTC, nanoseconds since 1970; only for people, the order is seq
    writer: int
    batch: int
    kind: str
    body: msgspec.Raw
    prev: bytes  # sha256 of the record before, as stored; 32 zero bytes for the first
    op: bytes = b""  # the caller's operation id, on the first record of a batch

    def event(self) -> Event | None:
        """The event inside; None for a kind that this version does not know.

        Raises `msgspec.MsgspecError` when the body is not what its kind says.
        """
        known, body = BY_KIND.get(self.kind), bytes(self.body)
        if known is None:
            lifted = lift(self.kind, body, BY_KIND)
            if lifted is None:
                return None
            known, body = BY_KIND[lifted[0]], lifted[1]
        event: Event = _DECODERS[known].decode(body)
        return event


_ENCODER: Final = msgspec.msgpack.Encoder()
_RECORD: Final = msgspec.msgpack.Decoder(Record)
_DECODERS: Final[dict[type[Event], msgspec.msgpack.Decoder[Any]]] = {e: msgspec.msgpack.Decoder(e) for e in EVENTS}

GENESIS: Final = bytes(32)
"""`prev` of the first record."""


def encode_event(event: Event) -> msgspec.Raw:
    """The body of a record."""
    return msgspec.Raw(_ENCODER.encode(event))


def encode_record(record: Record) -> bytes:
    """A record as it stands in the log."""
    return _ENCODER.encode(record)


def decode_record(stored: bytes) -> Record:
    """The record in `stored`.

    Raises `msgspec.MsgspecError` when the bytes are not one: the journal is damaged there.
    """
    return _RECORD.decode(stored)


def record_hash(stored: bytes) -> bytes:
    """What the next record's `prev` must be."""
    return hashlib.sha256(stored).digest()


def seal(seq: Seq, at_ns: int, writer: WriterId, batch: BatchId, event: Event, prev: bytes, op: bytes = b"") -> Record:
    """The record of `event`."""
    return Record(seq, at_ns, writer, batch, event.kind, encode_event(event), prev, op)
