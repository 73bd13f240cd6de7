"""A daemon in memory: a real `App` that takes its turns when a test calls, without a process, a socket or a thread.

Only its ports are made for tests: the journal is in a `MemoryStore`, replies are kept by caller, a test sets the clock,
searches run at once, and the watcher tells of nothing. The checkout is a folder of a tmpfs, and each write to it is a
real one. The conformance cases are played here (`daemon/engine/test_conformance.py`) and on a real daemon
(`e2e/test_conformance_real.py`).
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from quire_daemon.app import App, Ports
from quire_daemon.checks.safety import Faults, no_grammars
from quire_daemon.checks.syntax import SyntaxChecker
from quire_daemon.commit.disk_space import Reserve
from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.core.call import IncomingRequest, Peer
from quire_daemon.core.decision import Decision, Tool, Who, World
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.ops.daemon_log import Log
from quire_daemon.ops.process_tree import ProcessTree
from quire_daemon.ops.write_counters import WriteCounters
from quire_daemon.tools.notices import decided
from quire_daemon.watch.fanotify.tracer import Tracer
from quire_daemon.watch.git.commit_blame import Question, Told
from quire_daemon.watch.hints import WatchCoverage
from quire_daemon.watch.ignore import Ignore
from quire_daemon.workers.regex.job import Answer, Search, run
from quire_daemon.workspace.types import Protection, Signature
from quire_daemon.workspace.workspace import HOME, Workspace
from quire_journal.export.git_patch import git_blob_name
from quire_journal.history.authorship import CommitFile, CommitFileLines
from quire_journal.history.commit_tree import CommitBlobs, CommitBytes, CommitEntries, CommitEntry, CommitTree
from quire_journal.history.history import History
from quire_journal.journal import Journal
from quire_journal.model.events import (
    REGULAR,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    OutsideDeleted,
    OutsideMoved,
    OutsideWritten,
    WriterIntroduced,
    paths_of,
)
from quire_journal.model.evidence import READ, WATCHED
from quire_journal.model.ids import OUTSIDE, WriterId, blob_id, disk_path, journal_path
from quire_journal.model.messages import Caller, Request
from quire_journal.model.records import Record
from quire_journal.storage.blobs import blobs
from quire_journal.storage.memory import MemoryStore
from quire_journal.text.text import Text
from quire_journal.views.writers import caller_key
from shapes import checked

SECOND = 1_000_000_000
BEGAN_NS = 1_700_000_000 * SECOND

TURN_S = 0.01
"""The time that a turn takes on the clock of a test."""

MOST_TURNS = 1000
"""A call takes no more of them than this."""

PEER = Peer(os.getuid(), 0)


class Checkout(MutableMapping[str, bytes]):
    """The files of a folder by their paths. A change is what another program does, and nobody tells of it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: str) -> str:
        """Where it lies."""
        return os.path.join(self.root, disk_path(path))

    def __getitem__(self, path: str) -> bytes:
        try:
            with open(self.at(path), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyError(path) from None

    def __setitem__(self, path: str, data: bytes) -> None:
        self._make_folder(path)
        if os.path.isdir(self.at(path)):
            os.rmdir(self.at(path))  # an undo may leave an empty folder, where a program may put a file
        with open(self.at(path), "wb") as file:
            file.write(data)

    def __delitem__(self, path: str) -> None:
        try:
            os.unlink(self.at(path))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyError(path) from None
        self._drop_empty(path)

    def __iter__(self) -> Iterator[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            if inside == ".":
                folders[:] = [name for name in folders if name != HOME]
            found += [os.path.normpath(os.path.join(inside, name)) for name in files]
        return iter(sorted(journal_path(path) for path in found))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def move(self, path: str, to: str) -> None:
        """Another program renames."""
        self._make_folder(to)
        os.rename(self.at(path), self.at(to))
        self._drop_empty(path)

    def link(self, path: str, target: str) -> None:
        """Another program makes a link."""
        self._make_folder(path)
        os.symlink(target, self.at(path))

    def mode(self, path: str) -> int:
        """Its permissions."""
        return stat.S_IMODE(os.stat(self.at(path)).st_mode)

    def _make_folder(self, path: str) -> None:
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)

    def _drop_empty(self, path: str) -> None:
        """The folders of a file that has gone, where nothing else is in them."""
        while path := path.rpartition("/")[0]:
            try:
                os.rmdir(self.at(path))
            except OSError:
                return


class Replies:
    """The port of the callers, in the place of `Server`: it keeps the last reply to each."""

    epoch = "epoch"
    undeliverable = 0
    spool = None

    def __init__(self, folder: Path) -> None:
        self.path = folder / "socket"
        self.held: Callable[[], set[bytes]] = set
        self.unread: set[bytes] = set()  # connections that take no more
        self.gone: set[bytes] = set()  # connections that have ended
        self.bodies: dict[bytes, dict[str, Any]] = {}

    def reply(self, identity: bytes, request_id: int, body: dict[str, Any]) -> None:
        self.bodies[identity] = msgspec.msgpack.decode(msgspec.msgpack.encode(body))

    def reaches(self, identity: bytes) -> bool:
        return identity not in self.gone

    def wake(self) -> None:
        """It is a test that goes on."""

    def close(self) -> None:
        """There is nothing to give back."""


class SearchesAtOnce:
    """The port of searches, in the place of `SearchClient`: without a process."""

    def __init__(self) -> None:
        self.run: Callable[[Search], Answer] = run
        self._asked: list[tuple[int, Search]] = []
        self._tickets = itertools.count(1)

    def ask(self, search: Search, limit_ms: int) -> int:
        ticket = next(self._tickets)
        self._asked.append((ticket, search))
        return ticket

    def look(self, now_s: float) -> list[tuple[int, Answer]]:
        asked, self._asked = self._asked, []
        return [(ticket, self.run(search)) for ticket, search in asked]

    def cancel(self, ticket: int) -> None:
        self._asked = [one for one in self._asked if one[0] != ticket]

    def next_look_s(self, now_s: float) -> float:
        return now_s

    def close(self) -> None:
        """There is nothing to give back."""


class NoGrammars:
    """The port of the parsers, in the place of `SyntaxChecker`: none, so that brackets are counted."""

    def __call__(self, path: str, before: Text, after: Text) -> Faults:
        return no_grammars(path, before, after)

    def close(self) -> None:
        """There is nothing to give back."""


class SeesAll:
    """The port of the kernel's news, in the place of `Watcher`: there is none. `blind` says why some may be missed."""

    def __init__(self) -> None:
        self.blind: tuple[str, ...] = ()

    def start(self) -> None:
        """There is nothing to watch."""

    def stop(self) -> None:
        """There is nothing to give back."""

    def watch_git(self, folder: str, moved: Callable[[], None]) -> None:
        """No program of git runs."""

    def has_news(self) -> bool:
        return False

    def cookie(self) -> str:
        return "cookie"

    def seen(self, token: str) -> bool:
        return True

    @contextmanager
    def quiet(self) -> Iterator[None]:
        yield

    def exchanged(self, path: str, signature: Signature) -> None:
        """It comes from the daemon itself."""

    def health(self) -> WatchCoverage:
        return WatchCoverage(1, 1, True, False, self.blind, {}, self.blind, 0)


class GitAnswers:
    """The port of git, in the place of `CommitBlame`: it answers what a test says, at once, or when that wants it."""

    def __init__(self) -> None:
        self.of: dict[str, CommitFileLines] = {}  # path → what it answers; of others it has no commit
        self.at: dict[str, CommitFileLines] = {}  # commit → what it answers of any file in it, before `of`
        self.trees: dict[str, dict[str, tuple[str, bytes]]] = {}  # commit → path → (mode, bytes)
        self.slow = False
        self.asked: list[Question] = []
        self._waiting: list[tuple[Question, Told]] = []

    def ask(self, question: Question, told: Told) -> None:
        self.asked.append(question)
        self._waiting.append((question, told))
        if not self.slow:
            self.answer()

    def answer(self) -> None:
        """Answer what was asked."""
        waiting, self._waiting = self._waiting, []
        for question, told in waiting:
            if isinstance(question, CommitFile):
                of_path = self.of.get(question.path, CommitFileLines(why="no_commit"))
                told(self.at.get(question.commit, of_path))
            else:
                told(self._of_commits(question))

    def _of_commits(self, question: CommitTree | CommitBlobs) -> CommitEntries | CommitBytes:
        if isinstance(question, CommitBlobs):
            known = {git_blob_name(data): data for tree in self.trees.values() for _, data in tree.values()}
            return CommitBytes({name: known[name] for name in question.names})
        tree = self.trees.get(question.commit)
        if tree is None:
            return CommitEntries(why="no_commit")
        return CommitEntries({p: CommitEntry(mode, git_blob_name(data), len(data)) for p, (mode, data) in tree.items()})

    def close(self) -> None:
        """There is nothing to give back."""


class SetClock:
    """A second passes with each record, and a moment with each turn; more when a test says so."""

    def __init__(self, base_ns: int) -> None:
        self.base_ns, self.at_s = base_ns, 1000.0
        self.recorder: Recorder | None = None

    def now_ns(self) -> int:
        return self.base_ns + (self.recorder.next_seq if self.recorder is not None else 1) * SECOND

    def set_ns(self) -> int:
        return 0

    def mono_s(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


_NUMBERS = itertools.count(1)


@functools.cache
def top() -> Path:
    """The folder of all checkouts of this process."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="quire-memory-", dir=memory if os.access(memory, os.W_OK) else None))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def protection() -> Protection:
    """What protects a checkout there. To find that out for each takes a third of the time that a daemon does."""
    workspace = Workspace(top())
    workspace.close()
    return workspace.protection


def give_back(served: Sequence[App], folder: Path) -> None:
    """End a daemon that nobody has any more."""
    for app in served:
        app.close()
    shutil.rmtree(folder, ignore_errors=True)  # at exit, `top` may have gone first


class MemoryDaemon:
    """A daemon and its checkout, `files`. Each record is a second later than the one before.

    Callers are named; Ann and Ben, whom most tests need, are attributes. Each gets its number when it is named first.
    """

    def __init__(
        self,
        files: Mapping[str, bytes | str] | None = None,
        settings: Settings | None = None,
        began_ns: int = BEGAN_NS,
        grammars: SyntaxChecker | None = None,
        proc: Path = Path("/proc"),
        log: Log | None = None,
        tracer: Any = None,
        file_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`proc`: what tells of processes (`proc_folder.told`). `tracer`: what tells of those that write.

        `file_ns`: the clock of files' time stamps.
        """
        folder = top() / str(next(_NUMBERS))
        root, state = folder / "checkout", folder / "state"
        for made in (root, state):
            made.mkdir(parents=True)
        (state / "lock").touch()
        self.files, self.replies = Checkout(root), Replies(folder)
        self.searches, self.watcher = SearchesAtOnce(), SeesAll()
        self.git_answers = GitAnswers()
        self.in_force = LiveSettings(settings or Settings())
        self._state, self._grammars, self._proc, self._log = state, grammars, proc, log or Log()
        self._tracer = tracer
        self._file_ns = file_ns
        self._store, self._served = MemoryStore(logs=True), list[App]()
        self._serve(began_ns)
        self._callers: dict[str, Who] = {}
        self._said: dict[WriterId, Caller] = {}
        weakref.finalize(self, give_back, self._served, folder)
        for path, content in (files or {}).items():
            self.save(path, content)

    def _serve(self, began_ns: int) -> None:
        """Begin to serve the journal in the store."""
        self.journal = Journal.open(self._store, began_ns, "0" * 32)
        self.clock = SetClock(began_ns)
        self.recorder = self.clock.recorder = Recorder(self.journal, self.clock)
        capture, searches, watcher, grammars = self.settings.capture, self.searches, self.watcher, self._grammars
        git_answers, tracer, file_ns = self.git_answers, self._tracer, self._file_ns
        self.app = App(
            self._state,
            self.recorder,
            Workspace(self.files.root, protection=protection()),
            self.replies,
            self.in_force,
            Ignore(self.files.root, capture.ignore, capture.secret_globs),
            self._log,
            Reserve(self._state / "reserve", 0),
            ports=Ports(
                searching=lambda _: searches,
                watcher=lambda *_, **__: watcher,
                tracer=lambda root, ignored, clock, log, _: tracer or Tracer(root, ignored, clock, log, "off"),
                grammars=lambda _: grammars or NoGrammars(),
                tree=ProcessTree(os.fspath(self._proc)),
                counters=lambda tree, is_needed, _: WriteCounters(tree, is_needed, file_ns, every_s=0),
                commits=lambda *_: git_answers,
                stagers=0,
            ),
        )
        self.app.decider.open()
        self.app.outside.scanner.captured = True  # nothing lies there yet; a test notes the record itself
        self._served[:] = [self.app]

    def kill(self) -> None:
        """The daemon is killed, and the next one takes up its journal. What others did meanwhile it has yet to see."""
        self.app.workspace.close()
        self._store = self._store.copy()
        self._serve(self.clock.base_ns)

    # ── writing ──

    def introduce(self, agent: str, session: str, turn: str = "", call: str = "", parent: str = "") -> Who:
        """A new writer."""
        identity = WriterIntroduced(0, PEER.uid, PEER.pid, 0, agent, session, turn, call, parent=parent)
        number = self.recorder.writer(identity)
        self.recorder.introduce(number)
        self.recorder.commit()
        self._said[number] = Caller(agent, session, turn, call)
        return Who(number, caller_key(os.getuid(), agent, session), agent, session)

    def who(self, name: str, session: str = "s1") -> Who:
        """The caller of that name, introduced when it is named first."""
        if name not in self._callers:
            self._callers[name] = self.introduce(name, session)
        return self._callers[name]

    @property
    def ann(self) -> Who:
        return self.who("ann")

    @property
    def ben(self) -> Who:
        return self.who("ben", "s2")

    def note(self, *events: Event, who: Who | None = None, blobs: Sequence[bytes] = (), op: bytes = b"") -> int:
        """The events as one batch; its number."""
        recorder = self.recorder
        recorder.commit()
        batch = recorder.next_seq
        writer = who.writer if who is not None else WriterId(OUTSIDE)
        for i, event in enumerate(events):
            recorder.note(event, writer, batch, op if i == 0 else b"")
        for data in blobs:
            recorder.note_blob(data, None)
        recorder.commit()
        return batch

    def write(self, path: str, data: bytes, who: Who, mode: int = 0o644) -> int:
        """A tool writes; the batch, which is also the version."""
        return self.write_all({path: data}, who, mode)

    def write_all(self, files: Mapping[str, bytes], who: Who, mode: int = 0o644) -> int:
        """A tool writes several files in one batch."""
        events = [FileWritten(path, blob_id(data), len(data), mode, self.head_of(path)) for path, data in files.items()]
        batch = self.note(*events, who=who, blobs=tuple(files.values()))
        self.files.update(files)
        for path in files:
            os.chmod(self.files.at(path), mode)
        return batch

    def chmod(self, path: str, mode: int, who: Who) -> int:
        """A tool writes the same bytes under another mode."""
        return self.write(path, self.files[path], who, mode)

    def delete(self, path: str, who: Who) -> int:
        """A tool removes."""
        batch = self.note(FileDeleted(path, self.head_of(path)), who=who)
        del self.files[path]
        return batch

    def move(self, path: str, to: str, who: Who) -> int:
        """A tool renames."""
        data = self.files[path]
        event = FileMoved(path, to, blob_id(data), len(data), self.files.mode(path), self.head_of(path))
        self.files.move(path, to)
        return self.note(event, who=who)

    def save(self, path: str, content: bytes | str) -> None:
        """Another program writes, and nobody has told of it."""
        self.files[path] = content.encode() if isinstance(content, str) else content

    def outside(self, path: str, data: bytes, stamp_ns: int = 0) -> int:
        """Another program writes, and the watcher tells of it at once. `stamp_ns`: the file's time stamps."""
        self.files[path] = data
        self.look_at(path, stamp_ns)
        with self.history() as history:
            head = history.file(path)
        assert head is not None
        return head.seq

    def look_at(self, path: str, stamp_ns: int = 0) -> None:
        """The watcher tells of a path."""
        observation = self.app.observer.observe(disk_path(path), WATCHED)
        if stamp_ns:
            sighting, stamps = observation.sighting, {"ctime_ns": stamp_ns, "mtime_ns": stamp_ns}
            assert sighting.signature is not None
            sighting = replace(sighting, signature=replace(sighting.signature, **stamps))
            observation = replace(observation, sighting=sighting)
        self.app.observer.note(observation, observation.event)
        self.recorder.commit()

    def outside_deletes(self, path: str) -> int:
        """Another program removes."""
        del self.files[path]
        self.look_at(path)
        with self.history() as history:
            head = history.file(path)
        assert head is not None
        return head.seq

    def outside_moves(self, path: str, to: str, hint: str = "") -> int:
        """Another program renames, and the watcher tells of it at once."""
        data, base = self.files[path], self.head_of(path)
        self.files.move(path, to)
        return self.note(
            OutsideMoved(path, to, blob_id(data), len(data), self.files.mode(to), WATCHED, base, hint=hint)
        )

    def by_git(self, hint: str, **files: bytes | None) -> None:
        """A command of git writes these files, and removes those without bytes."""
        for path, data in files.items():
            base = self.head_of(path)
            if data is None:
                del self.files[path]
                self.note(OutsideDeleted(path, WATCHED, base, hint=hint))
            else:
                self.files[path] = data
                self.note(
                    OutsideWritten(path, blob_id(data), len(data), 0o644, WATCHED, base, hint=hint), blobs=(data,)
                )

    def watch(self, evidence: str = READ) -> None:
        """What other programs have done is noted; without this, of a file only when a call names it."""
        with self.history() as history:
            known = [path for path, head in history.paths() if not head.gone]
        for path in sorted({*known, *self.files}):
            observation = self.app.observer.observe(disk_path(path), evidence)
            self.app.observer.note(observation, observation.event)
        self.recorder.commit()

    def lose(self, data: bytes) -> None:
        """The journal has these bytes no more."""
        with self.journal.store.writing() as writing:
            blobs.drop(writing, blob_id(data))
        self.recorder.texts.forget(blob_id(data))

    # ── settings ──

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return self.in_force.now

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.in_force.now = settings
        self.app.observer.ignore.tune(settings.capture.ignore, settings.capture.secret_globs)

    def keep_secret(self, glob: str) -> None:
        """From now on the journal does not get the bytes of these files."""
        capture = self.settings.capture
        secret = msgspec.structs.replace(capture, secret_globs=[*capture.secret_globs, glob])
        self.settings = msgspec.structs.replace(self.settings, capture=secret)

    def after(self, seconds: float) -> None:
        """So much time passes."""
        self.clock.base_ns += int(seconds * SECOND)
        self.clock.at_s += seconds

    # ── asking ──

    @contextmanager
    def history(self) -> Iterator[History]:
        """Questions to the state of now."""
        with self.recorder.history() as history:
            yield history

    def head_of(self, path: str) -> int:
        """The seq of the head, 0 where there is no file."""
        with self.history() as history:
            head = history.file(path)
        return head.seq if head is not None and not head.gone else 0

    def text(self, path: str) -> bytes | None:
        """What lies at `path`."""
        return self.files.get(path)

    def read(self, path: str) -> str | None:
        """The same as a string."""
        data = self.files.get(path)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def mode(self, path: str) -> int:
        """Permissions of the file at `path`."""
        return self.files.mode(path)

    @property
    def now_ns(self) -> int:
        """What the clock shows."""
        return self.clock.now_ns()

    @now_ns.setter
    def now_ns(self, ns: int) -> None:
        self.clock.base_ns += ns - self.clock.now_ns()

    def events(self, *kinds: type[Event]) -> list[Event]:
        """The events of these kinds, oldest first."""
        self.recorder.commit()
        with self.history() as history:
            found = [record.event() for record in history.records()]
        return [event for event in found if event is not None and isinstance(event, kinds)]

    def record(self, seq: int) -> Record | None:
        """Record `seq`."""
        with self.history() as history:
            return history.record(seq)

    def call(self, tool: Tool[Any], who: Who, /, **args: Any) -> dict[str, Any]:
        """The reply to one call."""
        return self.ask(tool.name, args, who)

    def ask(self, name: str, args: Mapping[str, Any], by: str | Who = "ann") -> dict[str, Any]:
        """The reply to one call of the tool `name`, after as many turns as it takes."""
        who = by if isinstance(by, Who) else self.who(by)
        return self._ask({who: (name, args)})[who]

    def ask_together(self, calls: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
        """The replies to calls that come in one turn, by the names of their callers."""
        replies = self._ask({self.who(by): call for by, call in calls.items()})
        return {who.agent: reply for who, reply in replies.items()}

    def _ask(self, calls: Mapping[Who, tuple[str, Mapping[str, Any]]]) -> dict[Who, dict[str, Any]]:
        bodies = self._replies([self._incoming(who, name, args) for who, (name, args) in calls.items()])
        return {who: checked(name, bodies[_connection(who)]) for who, (name, _) in calls.items()}

    def _replies(self, incoming: Sequence[IncomingRequest]) -> dict[bytes, dict[str, Any]]:
        """By connection."""
        head, bodies = self.journal.head, self.replies.bodies
        bodies.clear()
        self.app.turn(incoming)
        for _ in range(MOST_TURNS):
            if len(bodies) == len(incoming):
                break
            self.clock.at_s += TURN_S
            self.app.turn([])
        assert len(bodies) == len(incoming), "a call is not answered"
        self.recorder.commit()
        self._require_agreement(head)
        return bodies

    def said(self, tool: str, args: Mapping[str, Any], caller: Caller, pid: int) -> dict[str, Any]:
        """The reply to a call of the process `pid`, which says of itself what is in `caller`."""
        connection = f"process {pid}".encode()
        request = Request(1, tool, msgspec.Raw(msgspec.msgpack.encode(args)), caller)
        return self._replies([IncomingRequest(connection, Peer(os.getuid(), pid), request)])[connection]

    def _incoming(self, who: Who, name: str, args: Mapping[str, Any]) -> IncomingRequest:
        caller = self._said.get(who.writer) or Caller(who.agent, who.agent_session)
        return IncomingRequest(
            _connection(who), PEER, Request(1, name, msgspec.Raw(msgspec.msgpack.encode(args)), caller)
        )

    def _require_agreement(self, since: int) -> None:
        """What callers have written since lies there as the journal says."""
        with self.history() as history:
            records = [record for record in history.records(since) if record.writer != OUTSIDE]
            events = [event for record in records if (event := record.event()) is not None]
            written = [event for event in events if isinstance(event, FileWritten | FileDeleted | FileMoved)]
            heads = {path: history.file(path) for event in written for path in paths_of(event)}
        for path, head in heads.items():
            if head is None or head.gone:
                assert path not in self.files
            elif head.entry == REGULAR and head.blob:
                assert (blob_id(self.files[path]), self.files.mode(path)) == (head.blob, head.mode)

    def decide(self, tool: Tool[Any], by: Who, args: Mapping[str, Any], **given: Any) -> Decision:
        """The decision on one call, which is not carried out. `given`: fields of `World` that a test sets.

        The tool may be one that a test made up. Raises as `decided` does.
        """
        params, looks = msgspec.convert(args, tool.params), RequestFiles(self.app.observer)
        files = {path: looks.file(path, writing=tool.writes) for path in tool.paths(params)}
        self.recorder.commit()
        with self.history() as history:
            about = self.now_ns, by, self.settings, files, history, self.recorder.next_seq, BEGAN_NS + SECOND
            return decided(tool, params, World(*about, **given))


def _connection(who: Who) -> bytes:
    """Each writer has its own."""
    return f"{who.writer} {who.agent}/{who.agent_session}".encode()


def lines(*said: str) -> bytes:
    """A text of these lines."""
    return "".join(f"{line}\n" for line in said).encode()
