"""A desk: a checkout in a dictionary and its journal in memory, on which decisions are acted out. No disk, no loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from quire_daemon.config import Settings
from quire_daemon.handlers.base import (
    Clear,
    Decision,
    FileNow,
    Implied,
    Move,
    Present,
    Put,
    Remove,
    Tool,
    Who,
    World,
    refused_reply,
)
from quire_daemon.handlers.notices import decided
from quire_daemon.search import Answer, NeedsSearch, Search, run
from quire_journal.events import (
    FOLDER,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    OutsideDeleted,
    OutsideWritten,
    WriterIntroduced,
)
from quire_journal.history import History
from quire_journal.ids import OUTSIDE, BatchId, WriterId, above, blob_id
from quire_journal.journal import Entry, Journal
from quire_journal.refusals import Refused
from quire_journal.stores.memory import MemoryStore
from quire_journal.text import Text
from quire_journal.views.writers import caller_key
from shapes import checked

SECOND = 1_000_000_000
BEGAN_NS = 1_700_000_000 * SECOND


class OnDesk(msgspec.Struct, frozen=True):
    """A file as it lies there."""

    data: bytes
    mode: int = 0o644


class Desk:
    """Ann and Ben work on `files`; every record is a second later than the one before."""

    def __init__(self) -> None:
        self.journal = Journal.open(MemoryStore(), BEGAN_NS)
        self.files: dict[str, OnDesk] = {}
        self.settings = Settings()
        self.health: dict[str, Any] = {}
        self.present: dict[bytes, Present] = {}
        self.landed = 0
        self.being_written: tuple[int, ...] = ()
        self.search: Callable[[Search], Answer] = run
        self.ann = self.introduce("ann", "s1")
        self.ben = self.introduce("ben", "s2")

    # ── writing ──

    def introduce(self, agent: str, session: str, turn: str = "", call: str = "") -> Who:
        """A new writer."""
        with self.history() as history:
            number = history.next_writer_id()
        self.note(WriterIntroduced(number, uid=1000, agent=agent, agent_session=session, turn=turn, tool_call=call))
        return Who(number, caller_key(1000, agent, session), agent, session)

    def note(self, *events: Event, who: Who | None = None, blobs: tuple[bytes, ...] = (), op: bytes = b"") -> int:
        """The events as one batch; its number."""
        batch = BatchId(self.journal.head + 1)
        writer = who.writer if who is not None else WriterId(OUTSIDE)
        entries = [
            Entry(event, writer, BEGAN_NS + (batch + i) * SECOND, batch, op if i == 0 else b"")
            for i, event in enumerate(events)
        ]
        self.journal.append(entries, [(data, None) for data in blobs])
        return batch

    def write(self, path: str, data: bytes, who: Who, mode: int = 0o644) -> int:
        """A tool writes; the batch, which is also the version."""
        return self.write_all({path: data}, who, mode)

    def write_all(self, files: dict[str, bytes], who: Who, mode: int = 0o644) -> int:
        """A tool writes several files in one batch."""
        events = [FileWritten(path, blob_id(data), len(data), mode, self.head_of(path)) for path, data in files.items()]
        batch = self.note(*events, who=who, blobs=tuple(files.values()))
        self.files.update({path: OnDesk(data, mode) for path, data in files.items()})
        return batch

    def delete(self, path: str, who: Who) -> int:
        """A tool removes."""
        batch = self.note(FileDeleted(path, self.head_of(path)), who=who)
        del self.files[path]
        return batch

    def move(self, path: str, to: str, who: Who) -> int:
        """A tool renames."""
        lying = self.files.pop(path)
        event = FileMoved(path, to, blob_id(lying.data), len(lying.data), lying.mode, self.head_of(path))
        self.files[to] = lying
        return self.note(event, who=who)

    def outside(self, path: str, data: bytes) -> int:
        """Another program writes."""
        batch = self.note(OutsideWritten(path, blob_id(data), len(data), 0o644, "watched"), blobs=(data,))
        self.files[path] = OnDesk(data)
        return batch

    def outside_deletes(self, path: str) -> int:
        """Another program removes."""
        del self.files[path]
        return self.note(OutsideDeleted(path, "watched"))

    # ── asking ──

    @contextmanager
    def history(self) -> Iterator[History]:
        """Questions to the state of now."""
        with self.journal.store.reading() as reading:
            yield History(reading)

    def head_of(self, path: str) -> int:
        """The seq of the head, 0 where there is no file."""
        with self.history() as history:
            head = history.file(path)
        return head.seq if head is not None and not head.gone else 0

    def call(self, tool: Tool[Any], who: Who, /, **args: Any) -> dict[str, Any]:
        """Decide and act; the reply, of a refusal too."""
        params = msgspec.convert(args, tool.params)
        with self.history() as history:
            names = list(tool.paths(params))
            implied = Implied()
            if tool.implies is not None:
                implied = tool.implies(params, history, who)
                names += implied.paths
            world = World(
                now_ns=BEGAN_NS + (self.journal.head + 1) * SECOND,
                who=who,
                settings=self.settings,
                files={name: self._now(name, history) for name in names},
                history=history,
                next_seq=self.journal.head + 1,
                first_event_ns=BEGAN_NS,
                health=self.health,
                present=self.present,
                implied=implied,
                landed=self.landed,
                being_written=self.being_written,
            )
            try:
                decision = self._decided(tool, params, world)
            except Refused as refused:
                return refused_reply(refused, params)
        self._act(decision, who)
        on_the_wire = msgspec.msgpack.decode(msgspec.msgpack.encode(decision.reply))
        return checked(tool.name, on_the_wire)

    def _decided(self, tool: Tool[Any], params: Any, world: World) -> Decision:
        try:
            return decided(tool, params, world)
        except NeedsSearch as needs:
            return decided(tool, params, replace(world, found={needs.search: self.search(needs.search)}))

    def _now(self, path: str, history: History) -> FileNow:
        lying, head = self.files.get(path), history.file(path)
        if lying is None:
            inside = tuple(sorted(self._inside(path)))
            return FileNow(path, "folder" if inside else "missing", version=head, inside=inside)
        why = head.uncaptured if head is not None else ""
        size = len(lying.data)
        return FileNow(path, "file", Text.of(lying.data), head, lying.mode, inode=7, size=size, uncaptured=why)

    def _inside(self, folder: str) -> list[str]:
        """Files in it. Folders are there as long as something is in them."""
        return [path for path in self.files if path.startswith(f"{folder}/")]

    def _act(self, decision: Decision, who: Who) -> None:
        """What the app does: the events into the log, then the writes, each against what it was decided on."""
        first = self.journal.head + 1
        written = {write.seq: write for write in decision.writes}
        assert set(written) <= set(range(first, first + len(decision.events)))
        self.note(*decision.events, who=who, blobs=tuple(decision.blobs))
        for write in decision.writes:
            event = decision.events[write.seq - first]
            assert write.path in (getattr(event, "path", None), getattr(event, "to", None))
            lying = self.files.get(write.path)
            seen = write.over.text.data if write.over.text is not None else None
            assert (lying.data if lying is not None else None) == seen
            match write:
                case Put():
                    assert not self._inside(write.path)
                    assert not self.files.keys() & {*above(write.path)}
                    self.files[write.path] = OnDesk(write.data, write.mode)
                case Remove():
                    del self.files[write.path]
                case Move():
                    assert write.to not in self.files
                    assert not self.files.keys() & {*above(write.to)}
                    self.files[write.to] = self.files.pop(write.path)
                    assert not self._inside(write.to)
                case Clear():
                    assert not self._inside(write.path)
        if decision.writes:
            self._require_agreement()

    def _require_agreement(self) -> None:
        """The journal's heads are what lies on the desk. (It has no folders but those of its files' paths.)"""
        with self.history() as history:
            heads = {path: head for path, head in history.paths() if not head.gone and head.entry != FOLDER}
        assert {path: (head.blob, head.mode) for path, head in heads.items()} == {
            path: (blob_id(lying.data), lying.mode) for path, lying in self.files.items()
        }

    def text(self, path: str) -> bytes | None:
        """What lies at `path`."""
        lying = self.files.get(path)
        return lying.data if lying is not None else None

    def chmod(self, path: str, mode: int, who: Who) -> int:
        """A tool writes the same bytes under another mode."""
        lying = replace(self.files[path], mode=mode)
        return self.write(path, lying.data, who, mode)


def lines(*said: str) -> bytes:
    """A text of these lines."""
    return "".join(f"{line}\n" for line in said).encode()
