"""What others do to the tree, in turns, as in the daemon, but with a clock, a watcher and long work that do what a test
says, and a journal in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from in_turn import JobsInTurn

from quire_daemon.commit.recorder import Recorder
from quire_daemon.config.live import LiveSettings
from quire_daemon.config.settings import Settings
from quire_daemon.engine.request_files import RequestFiles
from quire_daemon.watch.hints import Batch
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import Observation, Observer
from quire_daemon.watch.outside import Outside
from quire_daemon.watch.prefetch import ReadAhead
from quire_daemon.watch.watcher import Watcher
from quire_daemon.workspace.types import Look
from quire_daemon.workspace.workspace import Workspace
from quire_journal.journal import Journal
from quire_journal.model.events import WorkspaceScanned
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.port import StoreFailure

BEGAN_NS = 1_700_000_000 * 10**9


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def mono_s(self) -> float:
        return self.at_s

    def now_ns(self) -> int:
        return BEGAN_NS + int(self.at_s * 1e9)


class Choosy(Observer):
    """A gather that some paths cannot be looked at with, as when a disk cannot read them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.refuses: dict[str, Exception] = {}
        self.looks = 0
        self.fails_ahead: list[Exception] = []  # with which what was read ahead cannot be noted

    def note_ahead(self, found: Iterable[ReadAhead], evidence: str) -> list[str]:
        if self.fails_ahead:
            raise self.fails_ahead.pop()
        return super().note_ahead(found, evidence)

    def observe(
        self,
        path: str,
        evidence: str,
        unfinished_ok: bool = False,
        named_ns: int = 0,
        look: Look | None = None,
        ignored: bool = False,
    ) -> Observation:
        self.looks += 1
        if path in self.refuses:
            raise self.refuses[path]
        return super().observe(path, evidence, unfinished_ok, named_ns, look, ignored)


class Telling(Watcher):
    """A watcher that tells of what a test says."""

    def __init__(self, root: Path, ignore: Ignore) -> None:
        super().__init__(root, ignore.ignored, lambda: None)
        self.batches: list[Batch] = []
        self.rewatched = 0

    def rewatch(self) -> None:
        self.rewatched += 1

    def has_news(self) -> bool:
        return bool(self.batches)

    def drain(self) -> Batch:
        return self.batches.pop(0)


class Turns:
    """A daemon's turns over a checkout, as far as they are about what others do."""

    def __init__(self, root: Path, store: MemoryStore | None = None, scan_minutes: float = 0.0) -> None:
        self.root, self.clock, self.store = root, Hands(), store or MemoryStore()
        self.workspace = Workspace(root)
        self.recorder = Recorder(Journal.open(self.store, BEGAN_NS), self.clock)
        ignore, self.in_force = Ignore(root), LiveSettings(Settings())
        self.observer = Choosy(self.workspace, self.recorder, ignore, self.in_force)
        self.set(scan_minutes)
        self.errors: list[Exception] = []
        self.reloads: list[Exception] = []  # with which the settings cannot be read again
        self.jobs = JobsInTurn(self.guarded)
        self.watcher = Telling(root, ignore)
        self.outside = Outside(self.observer, self.watcher, self.jobs.start, self._reload)
        self.files = RequestFiles(self.observer, self.outside.look_first)

    def _reload(self) -> None:
        if self.reloads:
            raise self.reloads.pop()

    def set(self, scan_minutes: float) -> None:
        """The settings say that the tree is compared so often."""
        settings = self.in_force.now
        capture = msgspec.structs.replace(settings.capture, scan_minutes=scan_minutes)
        self.in_force.now = msgspec.structs.replace(settings, capture=capture)

    def guarded(self, what: str, act: Callable[[], None]) -> None:
        """As `App`: an error of background work is told, and ends nothing."""
        try:
            act()
        except Exception as error:  # noqa: BLE001
            self.errors.append(error)

    def turn(self, later_s: float = 0.0) -> None:
        """One turn, so much later."""
        self.clock.at_s += later_s
        self.jobs.take_results()
        self.guarded("outside", lambda: self.outside.look(self.clock.at_s, hurried=False))
        if self.recorder.waiting and self.store.fault is None:
            self.recorder.commit()

    def turns(self, later_s: float = 0.0) -> None:
        """So many that everything is through that needs no waiting."""
        self.turn(later_s)
        for _ in range(6):
            self.turn()

    def opened(self) -> Turns:
        """With the first capture behind it."""
        self.outside.scanner.open()
        self.turns()
        assert self.outside.scanner.progress()["finished"]
        return self

    def write(self, path: str, text: str) -> None:
        """Another program writes a file, and nobody tells of it."""
        (self.root / path).write_text(text)

    def told(self, path: str, text: str) -> None:
        """Another program writes a file, and the watcher tells of it."""
        self.write(path, text)
        self.outside.name(path, "watched", self.clock.at_s)

    def full(self) -> None:
        """The disk takes nothing from now on."""

        def fault() -> None:
            raise StoreFailure("the disk is full", disk_full=True)

        self.store.fault = fault

    def texts(self, path: str) -> list[str]:
        """Every version of the file whose bytes the journal has."""
        with self.recorder.history() as history:
            held = [v.blob for v in history.versions(path) if not (v.gone or v.uncaptured)]
            return [history.text_of(blob).data.decode() for blob in held]

    def scans(self) -> list[str]:
        """The reasons of the comparisons in the log."""
        return [e.reason for e in self.events() if isinstance(e, WorkspaceScanned)]

    def events(self) -> list[object]:
        with self.recorder.history() as history:
            return [record.event() for record in history.records()]

    def again(self) -> Turns:
        """Another daemon over the same journal."""
        return Turns(self.root, self.store)

    def waits_s(self) -> float:
        """How long the loop may sleep."""
        return self.outside.next_look_s(self.clock.at_s) - self.clock.at_s
