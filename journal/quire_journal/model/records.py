"""Records: events as stored, each with its place in the log, chained by hash to the record before. A record is a
msgpack array with the event as a raw body (`msgspec.Raw`), so that scans need not decode it. Only a purge or salvage
replaces a stored record.

The fourth number shows the form of the array. Up to format 3: the batch (1 or more), the kind as a name, the whole hash
of the record before (`prev`), and always `op`. Since format 4: batch minus seq (0 or less), a number of `_CODED` for
the kind, half of the hash, and no empty `op`. Encoding follows the length of `prev`.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from quire_journal.model.events import BY_KIND, EVENTS, Event
from quire_journal.model.ids import BatchId, Seq, WriterId
from quire_journal.model.upcast import lift


class JournalDamaged(Exception):
    """The journal's bytes are damaged. The message says what, where, and what to do. `everywhere`: the whole store
    cannot be trusted.
    """

    def __init__(self, message: str, everywhere: bool = False) -> None:
        super().__init__(message)
        self.everywhere = everywhere


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Event as stored. New fields go last, with a default."""

    seq: int
    at_ns: int  # wall clock, UTC, nanoseconds since 1970; only for people, the order is seq
    writer: int
    batch: int
    kind: str
    body: msgspec.Raw
    prev: bytes  # `link` of the sha256 of the record before, as stored; up to format 3 the whole sha256
    op: bytes = b""  # the caller's operation id, on the first record of a batch

    def event(self) -> Event | None:
        """Decode the event; None for an unknown kind. Raises `JournalDamaged` if the body does not fit the kind."""
        known, body = BY_KIND.get(self.kind), bytes(self.body)
        try:
            if known is None:
                lifted = lift(self.kind, body, BY_KIND)
                if lifted is None:
                    return None
                known, body = BY_KIND[lifted[0]], lifted[1]
            event: Event = _DECODERS[known].decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as wrong:
            raise _undecodable(self.seq, wrong) from wrong
        return event


class _Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    seq: int
    at_ns: int
    writer: int
    batch: int  # in format 4: batch minus `seq`
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
"""Kinds of format 4 by number. Never changed: a later kind is stored by its name."""

_CODE_OF: Final = {kind: code for code, kind in enumerate(_CODED)}

_ENCODER: Final = msgspec.msgpack.Encoder()
_ROW: Final = msgspec.msgpack.Decoder(_Row)
_DECODERS: Final[dict[type[Event], msgspec.msgpack.Decoder[Any]]] = {e: msgspec.msgpack.Decoder(e) for e in EVENTS}

GENESIS: Final = bytes(32)
"""Hash before the first record."""

HEAD_KEY: Final = b"head"
"""Key in the table `meta` of the end of the log (`head_row`)."""

_LINK: Final = 16

LINKS: Final = (_LINK, 32)


def encode_event(event: Event) -> msgspec.Raw:
    return msgspec.Raw(_ENCODER.encode(event))


def encode_record(record: Record) -> bytes:
    if len(record.prev) != _LINK:
        return _ENCODER.encode(record)
    kind = _CODE_OF.get(record.kind, record.kind)
    row = (record.seq, record.at_ns, record.writer, record.batch - record.seq, kind, record.body, record.prev)
    return _ENCODER.encode((*row, record.op) if record.op else row)


def decode_record(stored: bytes) -> Record:
    """Decode a record. Raises `msgspec.MsgspecError` if the bytes are damaged."""
    try:
        row = _ROW.decode(stored)
    except UnicodeDecodeError as wrong:
        raise msgspec.DecodeError(str(wrong)) from wrong
    kind, batch = row.kind, row.batch
    if isinstance(kind, int):
        if not 0 <= kind < len(_CODED):
            raise msgspec.ValidationError(f"there is no kind with the number {kind}")
        kind = _CODED[kind]
    if batch <= 0:
        batch += row.seq
    return Record(row.seq, row.at_ns, row.writer, batch, kind, row.body, row.prev, row.op)


def read_record(seq: int, stored: bytes) -> Record:
    """Decode the record stored at `seq`. Raises `JournalDamaged` if the bytes are no record."""
    try:
        return decode_record(stored)
    except msgspec.MsgspecError as wrong:
        raise _undecodable(seq, wrong) from wrong


def _undecodable(seq: int, wrong: Exception) -> JournalDamaged:
    return JournalDamaged(f"record {seq} cannot be decoded ({wrong}); run `quire verify`")


def record_hash(stored: bytes) -> bytes:
    """Return the sha256 of a record as stored. That of the newest record proves that the past is unchanged."""
    return hashlib.sha256(stored).digest()


def head_row(seq: int, last_hash: bytes) -> bytes:
    """Return the row at `HEAD_KEY`, the only row with the hash of the last record."""
    return seq.to_bytes(8, "big") + last_hash


def link(hash: bytes) -> bytes:
    """Return the part of a record's hash that the next record stores, and by which hashes are compared."""
    return hash[:_LINK]


def seal(seq: Seq, at_ns: int, writer: WriterId, batch: BatchId, event: Event, prev: bytes, op: bytes = b"") -> Record:
    return Record(seq, at_ns, writer, batch, event.kind, encode_event(event), link(prev), op)
