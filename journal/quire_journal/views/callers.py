"""Callers view: the writers of each caller (uid, agent, agent session)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from quire_journal.model import Event, Record, WriterId, WriterIntroduced
from quire_journal.storage import ReadTransaction, WriteTransaction, u32
from quire_journal.views.writers import caller_key

TABLES = ("callers", "newest_callers")
KINDS: Final = (WriterIntroduced,)

MOST_IDS: Final = 20


class KnownCaller(NamedTuple):
    key: bytes
    writers: int  # number of introduced writers
    ids: tuple[WriterId, ...]  # the newest writers, newest first


def fold(w: WriteTransaction, record: Record, event: Event | None) -> None:
    """Add the introduced writer to its caller, unless it is already the caller's newest writer."""
    if not isinstance(event, WriterIntroduced):
        return
    key, newest = caller_key(event.uid, event.agent, event.agent_session), u32(event.id)
    row = w.get("callers", key)
    count, ids = (0, b"") if row is None else (int.from_bytes(row[:4], "big"), row[4:])
    if ids:
        if newest == ids[:4]:
            return  # introduced a second time
        w.delete("newest_callers", ids[:4])
    w.put("callers", key, u32(count + 1) + (newest + ids)[: 4 * MOST_IDS])
    w.put("newest_callers", newest, key)


def newest_first(r: ReadTransaction) -> Iterator[bytes]:
    """Yield the key of every caller, first of the caller whose writer was introduced last."""
    for _, key in r.scan("newest_callers", reverse=True):
        yield key


def caller(r: ReadTransaction, key: bytes) -> KnownCaller:
    row = r.get("callers", key) or bytes(4)
    ids = tuple(WriterId(int.from_bytes(row[at : at + 4], "big")) for at in range(4, len(row), 4))
    return KnownCaller(key, int.from_bytes(row[:4], "big"), ids)


def how_many(r: ReadTransaction) -> int:
    return r.count("callers")
