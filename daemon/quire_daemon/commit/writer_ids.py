"""The numbers of writers: who called in this run, and which of them the log does not know yet.

Each process of an agent is a writer, and most of them only ask. Those leave no record: only whoever may have to
introduce one later keeps it (`stranger`), and nobody else remembers them for good.
"""

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
"""Writers of which it is remembered which caller they are, or that nobody has introduced: the last ones."""


class WriterNumbers:
    """Writers of this run, by their numbers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[WriterId, bytes] = {}  # writer → caller, of some
        self._next = 0
        self._strangers: WeakValueDictionary[WriterId, WriterIntroduced] = WeakValueDictionary()
        self._lately: deque[WriterIntroduced] = deque(maxlen=MOST_CALLERS)  # of those, whoever else holds them

    def number(self, who: WriterIntroduced) -> WriterId:
        """The number of this writer (`who.id` does not matter); a new one for somebody whom the log does not know."""
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
        """The log does not tell of this writer: who names it now would name a number that another one gets."""
        self._strangers[WriterId(who.id)] = who
        self._lately.append(who)

    def stranger(self, writer: WriterId) -> WriterIntroduced | None:
        """Who `writer` is, as long as the log does not know it. To be kept by whoever may have to introduce it."""
        return self._strangers.get(writer)

    def introduce(self, writer: WriterId) -> WriterIntroduced | None:
        """What has to be noted before `writer` is named; None where the log knows it. Asked once."""
        return self._strangers.pop(writer, None)

    def key_of(self, writer: WriterId, noted: Iterable[NewRecord]) -> bytes:
        """The caller that `writer` is. `noted`: what the log is going to tell."""
        known = self._keys.get(writer)
        if known is None:
            who = self._strangers.get(writer) or next((e for e in _introductions(noted) if e.id == writer), None)
            with self._store.reading() as reading:
                known = writers.caller_of(reading, writer) if who is None else _key_of(who)
        return known

    def never_told(self, entries: Iterable[NewRecord]) -> None:
        """These will not be in the log."""
        for who in _introductions(entries):
            self.unknown(who)

    def forget(self) -> None:
        """A purge took names: a writer whose name went is another caller now."""
        self._keys.clear()


def _introductions(entries: Iterable[NewRecord]) -> Iterable[WriterIntroduced]:
    return (entry.event for entry in entries if isinstance(entry.event, WriterIntroduced))


def _key_of(who: WriterIntroduced) -> bytes:
    """The caller that this writer is."""
    return writers.caller_key(who.uid, who.agent, who.agent_session)
