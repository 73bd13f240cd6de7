"""A playbook: requests to decisions to effects, in one process and in memory; for tests of what callers see.

It stands for the app without its loop: a folder that is a dict, a journal in a memory store, callers by name.
Every call is gathered, decided and performed as the app does it, in that order, with the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from quire_daemon.config import Settings
from quire_daemon.handlers import TOOLS
from quire_daemon.handlers.base import (
    MOST_INSIDE,
    Decision,
    FileNow,
    Implied,
    Move,
    Put,
    Remove,
    Tool,
    Who,
    World,
    refused_reply,
)
from quire_daemon.handlers.notices import decided
from quire_daemon.search import Answer, NeedsSearch, Search, run
from quire_daemon.wrong_arguments import refusal
from quire_journal.events import EditRefused, Event, OutsideDeleted, OutsideWritten, WriterIntroduced
from quire_journal.history import History
from quire_journal.ids import OUTSIDE, BatchId, WriterId, blob_id
from quire_journal.journal import Entry, Journal
from quire_journal.records import Record
from quire_journal.refusals import Refused
from quire_journal.stores.memory import MemoryStore
from quire_journal.text import Text
from quire_journal.views.writers import caller_key
from shapes import checked

START_NS = 1_700_000_000_000_000_000
SECOND_NS = 1_000_000_000


class Playbook:
    """One workspace and its journal. `files` is the disk: change it, and another program has written."""

    def __init__(self, files: Mapping[str, bytes | str] | None = None, settings: Settings | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.settings = settings or Settings()
        self.now_ns = START_NS
        self.journal = Journal.open(MemoryStore(), self.now_ns, "0" * 32)
        self.uncaptured: dict[str, str] = {}  # path → why the journal does not get its bytes
        self.links: dict[str, str] = {}  # link → target
        self.first_event_ns = START_NS
        self.search: Callable[[Search], Answer] = run
        self._callers: dict[str, Who] = {}
        for path, content in (files or {}).items():
            self.write(path, content)

    # ── the disk ──

    def write(self, path: str, content: bytes | str) -> None:
        """Another program writes."""
        self.files[path] = content.encode() if isinstance(content, str) else content

    def text(self, path: str) -> str | None:
        """What is on disk."""
        data = self.files.get(path)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def watch(self) -> None:
        """What other programs have done is noted; without this, of a file only when a call names it."""
        with self.journal.store.reading() as reading:
            known = [path for path, head in History(reading).paths() if not head.gone]
        for path in sorted({*known, *self.files}):
            self._gather(path)

    # ── calls ──

    def call(
        self, name: str, args: Mapping[str, Any], by: str = "ann", tool: Tool[Any] | None = None
    ) -> dict[str, Any]:
        """The reply to one call of the tool `name` (or of `tool`) by the caller `by`."""
        tool = tool or TOOLS[name]
        try:
            params = msgspec.msgpack.decode(msgspec.msgpack.encode(args), type=tool.params)
        except msgspec.ValidationError as error:
            return refusal(name, tool.params, error).reply()
        try:
            decision = self.decide(tool, params, by)
        except Refused as refused:
            if tool.writes and not getattr(params, "dry_run", False):
                path = next(iter(tool.paths(params)), "")
                self._append([EditRefused(name, path, refused.code, refused.message)], self.who(by).writer)
            return refused_reply(refused, params)
        self._perform(decision, self.who(by).writer)
        return checked(name, msgspec.msgpack.decode(msgspec.msgpack.encode(decision.reply)))  # as it is on the wire

    def decide(self, tool: Tool[Any], params: Any, by: str) -> Decision:
        """What follows from a call, without performing it."""
        who = self.who(by)
        names = list(tool.paths(params))
        implied = Implied()
        if tool.implies is not None:
            with self.journal.store.reading() as reading:
                implied = tool.implies(params, History(reading), who)
            names += implied.paths
        files = {path: self._gather(path) for path in names}
        self.now_ns += SECOND_NS
        with self.journal.store.reading() as reading:
            history = History(reading)
            following = self.journal.head + 1, self.first_event_ns
            world = World(self.now_ns, who, self.settings, files, history, *following, implied=implied)
            while True:
                try:
                    return decided(tool, params, world)
                except NeedsSearch as needs:
                    missing = needs.search
                assert missing not in world.found
                world = replace(world, found={**world.found, missing: self.search(missing)})

    def who(self, name: str) -> Who:
        """The caller of that name, introduced on its first call."""
        if name not in self._callers:
            writer = WriterId(len(self._callers) + 1)
            introduced = WriterIntroduced(writer, uid=1000, pid=10 + writer, agent=name, agent_session="s1")
            self._append([introduced], writer)
            self._callers[name] = Who(writer, caller_key(1000, name, "s1"), name, "s1")
        return self._callers[name]

    # ── the journal ──

    def events(self, *kinds: type[Event]) -> list[Event]:
        """The events of these kinds, oldest first."""
        with self.journal.store.reading() as reading:
            found = [record.event() for record in History(reading).records()]
        return [event for event in found if event is not None and isinstance(event, kinds)]

    def record(self, seq: int) -> Record | None:
        """Record `seq`."""
        with self.journal.store.reading() as reading:
            return History(reading).record(seq)

    def _append(self, events: Sequence[Event], writer: int, data: Sequence[tuple[bytes, str | None]] = ()) -> None:
        batch = BatchId(self.journal.head + 1)
        self.journal.append([Entry(event, WriterId(writer), self.now_ns, batch) for event in events], data)

    def _gather(self, given: str) -> FileNow:
        """The file as it is, noted in the journal where it has changed."""
        path = self.links.get(given, given).rstrip("/")
        data = self.files.get(path)
        with self.journal.store.reading() as reading:
            head = History(reading).file(path)
        lost = self.uncaptured.get(path, "")
        if data is None:
            if head is not None and not head.gone:
                self._append([OutsideDeleted(path, "read")], OUTSIDE)
        elif not lost and (head is None or head.gone or head.blob != blob_id(data)):
            event = OutsideWritten(path, blob_id(data), len(data), 0o644, "read")
            self._append([event], OUTSIDE, [(data, path)])
        with self.journal.store.reading() as reading:
            head = History(reading).file(path)
        linked = given if given in self.links else ""
        if data is None:
            inside = tuple(sorted(other for other in self.files if other.startswith(path + "/")))
            kind = "folder" if inside else "missing"
            cut = len(inside) > MOST_INSIDE
            now = FileNow(path, kind, version=head, uncaptured=lost, as_folder=given.endswith("/"))
            return replace(now, inside=inside[:MOST_INSIDE], inside_cut=cut)
        now = FileNow(path, "file", Text.of(data), head, 0o644, 7, len(data), resolved_from=linked)
        return replace(now, version=None, uncaptured=lost) if lost else now

    def _perform(self, decision: Decision, writer: int) -> None:
        paths = {write.data: write.path for write in decision.writes if isinstance(write, Put)}
        self._append(decision.events, writer, [(data, paths.get(data)) for data in decision.blobs])
        for write in decision.writes:
            self._write(write)

    def _write(self, write: Put | Remove | Move) -> None:
        match write:
            case Put():
                assert (write.path in self.files) == (write.over.kind == "file")
                self.files[write.path] = write.data
            case Remove():
                del self.files[write.path]
            case Move():
                assert write.to not in self.files
                self.files[write.to] = self.files.pop(write.path)


# ── conformance cases ────────────────────────────────────────────────────────

_SETTINGS = {
    "low_entropy": ("dialects", "edit", "low_entropy"),
    "range_ends": ("dialects", "edit", "range_ends"),
    "forbidden_globs": ("policy", "forbidden_globs"),
    "allow_replace_text": ("dialects", "hashline_edit", "allow_replace_text"),
}


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings that a case asks for."""
    table: dict[str, Any] = {}
    for key, value in options.items():
        *sections, name = _SETTINGS[key]
        at = table
        for section in sections:
            at = at.setdefault(section, {})
        at[name] = value
    return msgspec.convert(table, Settings)


def fill(book: Playbook, value: Any) -> Any:
    """`value` with its placeholders replaced by what a fresh read shows."""

    def one(found: re.Match[str]) -> str:
        name, _, arg = found[1].partition(":")
        if name == "sha256":
            return blob_id(book.files[arg or "f.txt"]).hex()
        if name == "ref":
            rows = book.call("read_file", {"path": "f.txt", "format": "hashline"})["lines"]
            return str(rows[int(arg) - 1]).split("|")[0]
        by = "boss" if name == "peek6" else "ann"
        read = book.call("read_file", {"path": "f.txt", "hashes": True}, by=by)
        if name == "fv":
            return str(read["version"])
        return str(read["lines"][int(arg) - 1])[len(arg) + 1 :][:6]

    if isinstance(value, str):
        return re.sub(r"\{\{([^}]+)\}\}", one, value)
    if isinstance(value, list):
        return [fill(book, item) for item in value]
    if isinstance(value, dict):
        return {key: fill(book, item) for key, item in value.items()}
    return value


def play(case: Mapping[str, Any]) -> tuple[Playbook, dict[str, Any]]:
    """One case, from its first text to its reply."""
    call = case["call"]
    book = Playbook({"f.txt": case["initial"], **call.get("files", {})}, settings_of(call.get("options", {})))
    for step in call.get("before", []):
        reply = book.call(step["tool"], fill(book, step["args"]))
        assert reply["ok"], reply
    args = fill(book, call["args"])
    if "external" in call:
        book.call("read_file", {"path": "f.txt", "hashes": True})
        book.write("f.txt", call["external"])
    return book, book.call(call["tool"], args)


def play_in_parallel(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The replies to calls that were made ready on one text and sent at once, each by a caller of its own."""
    call = case["call"]
    book = Playbook({"f.txt": case["initial"], **call.get("files", {})}, settings_of(call.get("options", {})))
    ready = [fill(book, args) for args in call["parallel"]]
    return [book.call(call["tool"], args, by=f"caller {number}") for number, args in enumerate(ready)]
