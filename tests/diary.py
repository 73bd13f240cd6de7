"""A journal whose records get the time that a test says."""

from __future__ import annotations

from quire_journal.history.history import History
from quire_journal.history.stories.page import story_page
from quire_journal.history.stories.story import Story, StoryPage, StoryQuery
from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import (
    Event,
    FileWritten,
    OutsideDeleted,
    OutsideWritten,
    TurnBegan,
    WriterIntroduced,
)
from quire_journal.model.ids import BatchId, WriterId
from quire_journal.storage.memory import MemoryStore
from quire_journal.text.text import Text

SECOND = 1_000_000_000
BEGAN_NS = 1_700_000_000 * SECOND


class Diary:
    """A journal whose records get the time that a test says."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.journal = Journal.open(self.store, BEGAN_NS, "0" * 32)
        self.at_s = 0.0
        self.heads: dict[str, int] = {}
        self._writers: dict[tuple[str, ...], int] = {}

    def note(self, event: Event, writer: int = 0, after_s: float = 0.01, blob: bytes | None = None) -> int:
        """One record, `after_s` behind the one before; its seq."""
        self.at_s += after_s
        seq = self.journal.head + 1
        record = NewRecord(event, WriterId(writer), BEGAN_NS + int(self.at_s * SECOND), BatchId(seq))
        self.journal.append([record], [] if blob is None else [(Text.of(blob), None)])
        return seq

    def writer(self, agent: str, session: str, turn: str = "", call: str = "", parent: str = "") -> int:
        """The number of a writer, introduced when it is named first."""
        who = (agent, session, turn, call, parent)
        if who not in self._writers:
            number = self._writers[who] = len(self._writers) + 1
            self.note(WriterIntroduced(number, 1000, 9, 9, *who[:4], parent=parent))
        return self._writers[who]

    def turn(self, agent: str, turn: str, prompt: str) -> int:
        """A turn begins; its writer."""
        writer = self.writer(agent, f"{agent}-s", turn)
        self.note(TurnBegan(prompt), writer)
        return writer

    def outside(self, path: str, text: str = "", after_s: float = 0.01, hint: str = "", found: str = "watched") -> int:
        """Another program saves."""
        blob = Text.of((text or f"{path} {self.journal.head}\n").encode())
        event = OutsideWritten(path, blob.blob, len(blob.data), 0o644, found, self.heads.get(path, 0), hint=hint)
        self.heads[path] = self.note(event, after_s=after_s, blob=blob.data)
        return self.heads[path]

    def removed(self, path: str) -> int:
        """Another program removes."""
        return self.note(OutsideDeleted(path, "watched", self.heads.pop(path)))

    def wrote(self, path: str, writer: int, text: str = "", after_s: float = 0.01) -> int:
        """A tool of Quire's writes."""
        blob = Text.of((text or f"{path} {self.journal.head}\n").encode())
        event = FileWritten(path, blob.blob, len(blob.data), 0o644, self.heads.get(path, 0))
        self.heads[path] = self.note(event, writer, after_s, blob.data)
        return self.heads[path]

    def page(self, limit: int = 50, **asked: object) -> StoryPage:
        """A page."""
        with self.store.reading() as reading:
            query = StoryQuery(0, self.journal.head, limit)
            for name, value in asked.items():
                query = StoryQuery(**{**{f: getattr(query, f) for f in query.__struct_fields__}, name: value})
            return story_page(query, History(reading))

    def stories(self) -> list[Story]:
        """All, on one page."""
        return self.page().stories
