"""Numbers of writers, and which writers the journal does not know yet. Callers that only read leave no record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

from msgspec.structs import replace

from quire_journal.journal import NewRecord
from quire_journal.model import WriterId, WriterIntroduced
from quire_journal.storage import Store
from quire_journal.views import writers

MOST_CALLERS: Final = 1000


class WriterNumbers:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[WriterId, bytes] = {}  # writer → caller, of some
        self._next = 0
        self._strangers: WeakValueDictionary[WriterId, WriterIntroduced] = WeakValueDictionary()
        self._lately: deque[WriterIntroduced] = deque(maxlen=MOST_CALLERS)  # a strong reference to recent ones

    def number(self, who: WriterIntroduced) -> WriterId:
        with self._store.reading() as reading:
            known = writers.writer_id(reading, who)
            if not self._next:
                self._next = writers.next_writer_id(reading)
        if known is None:
            known = WriterId(self._next)
            self._next += 1
            self.unknown(replace(who, id=known))
        self._keys.pop(known, None)
        if len(self._keys) >= MOST_CALLERS:
            del self._keys[next(iter(self._keys))]
        self._keys[known] = _key_of(who)
        return known

    def unknown(self, who: WriterIntroduced) -> None:
        self._strangers[WriterId(who.id)] = who
        self._lately.append(who)

    def stranger(self, writer: WriterId) -> WriterIntroduced | None:
        return self._strangers.get(writer)

    def introduce(self, writer: WriterId) -> WriterIntroduced | None:
        return self._strangers.pop(writer, None)

    def key_of(self, writer: WriterId, noted: Iterable[NewRecord]) -> bytes:
        """Return the key of the caller behind `writer`. `noted`: records about to be committed, which may introduce the
        writer.
        """
        known = self._keys.get(writer)
        if known is None:
            who = self._strangers.get(writer) or next((e for e in _introductions(noted) if e.id == writer), None)
            with self._store.reading() as reading:
                known = writers.caller_of(reading, writer) if who is None else _key_of(who)
        return known

    def never_told(self, entries: Iterable[NewRecord]) -> None:
        for who in _introductions(entries):
            self.unknown(who)

    def forget(self) -> None:
        self._keys.clear()


def _introductions(entries: Iterable[NewRecord]) -> Iterable[WriterIntroduced]:
    return (entry.event for entry in entries if isinstance(entry.event, WriterIntroduced))


def _key_of(who: WriterIntroduced) -> bytes:
    return writers.caller_key(who.uid, who.agent, who.agent_session)
