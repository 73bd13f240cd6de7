"""Writers view: the numbered writers, as introduced."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from quire_journal.model import OUTSIDE, Event, Record, WriterId, WriterIntroduced
from quire_journal.storage import ReadTransaction, WriteTransaction, last_number, u32

TABLES = ("writers", "writer_ids")
KINDS: Final = (WriterIntroduced,)

_KEY_BYTES: Final = 8  # a row is the caller's key, which each write needs, and the introduction
_ENCODER: Final = msgspec.msgpack.Encoder()
_WRITER: Final = msgspec.msgpack.Decoder(WriterIntroduced)


def caller_key(uid: int, agent: str, agent_session: str) -> bytes:
    """Return the 8-byte key of a caller's reads, batches and replies."""
    return hashlib.sha256(_ENCODER.encode((uid, agent, agent_session))).digest()[:_KEY_BYTES]


def caller_of(r: ReadTransaction, writer: int) -> bytes:
    """Return the caller's key of a writer; b"" for `outside` and unknown writers."""
    known: bytes | None = r.known.get(writer)
    if known is None:
        found = r.get("writers", u32(writer)) if writer != OUTSIDE else None
        known = r.known[writer] = b"" if found is None else found[:_KEY_BYTES]
    return known


def owners_of(r: ReadTransaction, writer: int) -> tuple[bytes, ...]:
    """Return the keys of the callers that own the writer's work: the writer's caller, and a subagent's parent."""
    known: tuple[bytes, ...] | None = r.known.get(("owners", writer))
    if known is None:
        own, who = caller_of(r, writer), writer_of(r, writer)
        parent = (caller_key(who.uid, who.agent, who.parent),) if who is not None and who.parent else ()
        known = r.known["owners", writer] = (own, *parent) if own else ()
    return known


def writer_of(r: ReadTransaction, writer: int) -> WriterIntroduced | None:
    """Return the introduction of a writer; None for `outside` and unknown writers."""
    found = r.get("writers", u32(writer)) if writer != OUTSIDE else None
    return None if found is None else _WRITER.decode(found[_KEY_BYTES:])


def writer_id(r: ReadTransaction, who: WriterIntroduced) -> WriterId | None:
    """Return the number of the writer with this identity (ignoring `who.id`); None for a new writer."""
    found = r.get("writer_ids", _identity(who))
    return None if found is None else WriterId(int.from_bytes(found, "big"))


def next_writer_id(r: ReadTransaction) -> WriterId:
    """Return the number after that of the newest writer; the number is not reserved."""
    return WriterId(last_number(r, "writers") + 1)


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    if isinstance(event, WriterIntroduced):
        number = u32(event.id)
        w.known.pop(event.id, None)
        w.known.pop(("owners", event.id), None)
        w.put("writers", number, caller_key(event.uid, event.agent, event.agent_session) + _ENCODER.encode(event))
        w.put("writer_ids", _identity(event), number)


def _identity(who: WriterIntroduced) -> bytes:
    children = (who.parent,) if who.parent else ()  # omitted if empty, so that identities in older journals stay
    claimed = (who.agent, who.agent_session, who.turn, who.tool_call, who.model, *children)
    return hashlib.sha256(_ENCODER.encode((who.uid, who.pid, who.pid_start, *claimed))).digest()[:16]
