"""Composition root: creates, opens and closes the parts of a daemon, and runs its main loop.

`engine.turn` describes one pass of the loop. Long work runs on threads (`workers.pool`), long decisions in slices
(`LongDecisions`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from quire_daemon.checks import SyntaxChecker
from quire_daemon.commit import FailurePolicy, FlushTimer, Recorder, Reserve
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, IncomingRequest
from quire_daemon.engine import (
    SALVAGE_IS_TOLD_NS,
    STAGERS,
    Admission,
    AnnouncedCalls,
    BurstExpiry,
    CallQueue,
    CommitAsker,
    CoverageReport,
    Decider,
    DeferredCommits,
    DeferredSearches,
    Execution,
    Gatherer,
    LeaseQueue,
    LongDecisions,
    Performer,
    Presence,
    RequestFiles,
    Responder,
    Step,
    Turn,
    WatcherBarrier,
    health,
    reasons,
    salvaged,
)
from quire_daemon.family import Family
from quire_daemon.maintenance import SERVICES, ExportSessions, HeadSigner, Outbox, Rejections
from quire_daemon.maintenance.gc import Collector
from quire_daemon.ops import Chore, Chores, Log, ProcessTree, WriteCounters, systemd
from quire_daemon.server import Server, SpoolSwitch, listen
from quire_daemon.tools import NATIVE_TOOL, RUN_TOOL, beside
from quire_daemon.watch import RULES, Ignore, Observer, Outside, RootGuard, Watcher
from quire_daemon.watch.fanotify import Tracer
from quire_daemon.watch.git import Commands, CommitBlame, GitHead, GitWriter
from quire_daemon.workers import Failed as JobFailed, Job, Jobs, StartJob
from quire_daemon.workers.regex import SearchClient
from quire_daemon.workspace import Workspace, syscalls
from quire_journal import VERSION
from quire_journal.model import SCANNED, JournalDamaged, WorkspaceOpened
from quire_journal.storage import StoreFailure
from quire_journal.workspaces import git_folder, trace_folder, trace_socket

HURRIED_S = 0.5  # seconds after a request about a file in which background work takes small slices
SWEEP_S = 0.2  # seconds between two checks of displaced files; a lease break triggers one at once
SALVAGE_S = 3600.0  # seconds between two checks whether callers must still be warned of a salvage
SAVE_S = 60.0  # seconds between two saves of the stat cache
MOST_SAVED = 1000  # paths saved at once
NAMED_S = 0.1  # seconds until a command of git is looked for whose write has only the label of the lock
IDLE_S = 1.0  # longest time in seconds between two turns: for lease breaks, watchdog, coverage


class Ports(msgspec.Struct, frozen=True):
    """Factories of parts with processes, threads or kernel events; tests replace them."""

    searching: Callable[[Server], SearchClient] = SearchClient
    watcher: Callable[..., Watcher] = Watcher
    tracer: Callable[..., Tracer] = Tracer
    grammars: Callable[[Callable[[], float]], SyntaxChecker] = SyntaxChecker
    tree: ProcessTree = ProcessTree()
    counters: Callable[..., WriteCounters] = WriteCounters
    commits: Callable[[Path, StartJob], CommitAsker] = CommitBlame
    stagers: int = STAGERS


class App:
    def __init__(
        self,
        state_dir: Path,
        recorder: Recorder,
        workspace: Workspace,
        server: Server,
        in_force: LiveSettings,
        ignore: Ignore,
        log: Log,
        reserve: Reserve,
        step: Callable[[str], None] = lambda name: None,
        ports: Ports | None = None,
    ) -> None:
        ports = ports or Ports()
        root, clock = workspace.root, recorder.clock
        self.root, self.state_dir, self.workspace, self.server = root, state_dir, workspace, server
        self.recorder, self.clock, self.in_force, self.log = recorder, clock, in_force, log
        self.reserve, self.step, self._ignore = reserve, step, ignore
        self.progress: dict[str, dict[str, Any]] = {}
        self.lease_queue = LeaseQueue(server, recorder, clock)
        self.burst_expiry = BurstExpiry(server, recorder, clock, ports.tree.has_ended, lambda: self.outside.idle())
        self.presence = Presence(server, clock, ports.tree)
        self.git = GitWriter(recorder, clock, GitHead(os.fspath(root), syscalls.born_ns), Commands(os.fspath(root)))
        self.tracer = ports.tracer(root, ignore.ignored, clock, log, in_force.now.watch.trace)
        self.counters = ports.counters(ports.tree, lambda: not self.tracer.reads, clock.now_ns)
        self.announced_calls = AnnouncedCalls(recorder, self.tracer.writers_of, self.counters)
        attribute, looked = self.announced_calls.attribute, self.tracer.looked
        self.observer = Observer(workspace, recorder, ignore, in_force, self._hint, attribute, looked, self._expect)
        self.exporting = ExportSessions()
        self.collector = Collector(self, state_dir, lambda: self.family.databases())
        self.heads = HeadSigner(self, state_dir, self._tell_of_broken_head, os.environ.get("SSH_AUTH_SOCK", ""))
        self.outbox = Outbox(self, state_dir, ignore)
        self.failures = FailurePolicy(recorder, reserve, log, self.stop)
        self.relations = Jobs(server.wake, self._guarded, workers=1)
        self.family = Family(root, state_dir, recorder, in_force, server, self.relations.start, log)
        self.responder = Responder(
            server,
            recorder,
            self.lease_queue,
            self.collector,
            self.failures,
            lambda: self.outside.blind(),
            self.family.notices,
        )
        # Separate threads for each kind of long work, so that crawls and callers do not wait for a collection.
        self.crawls = Jobs(server.wake, self._guarded, self._publish)
        self.jobs = Jobs(server.wake, self._guarded, self._publish, keeps=False)
        self.watcher = ports.watcher(root, ignore.ignored, server.wake, log, cookies=not workspace.read_only)
        self.outside = Outside(self.observer, self.watcher, self.crawls.start, self._reload)
        self.outside.scanner.head = self.git.head
        self._in_flight = self.observer.in_flight
        withheld = self.observer.capture_policy.of_anybody
        self.performer = Performer(
            workspace,
            recorder,
            self.outside,
            self._in_flight,
            step,
            server.wake,
            withheld,
            ports.stagers,
        )
        self.admission = Admission(
            *(server, recorder, in_force, self.presence, self.failures, log, ports.tree, self.burst_expiry.open_runs)
        )
        self._stopping = False
        self._standing = RootGuard(
            state_dir, workspace, self.watcher, recorder, self.failures, log, self.stop, lambda: self._stopping
        )
        self.searching = ports.searching(server)
        self.git_asking = Jobs(server.wake, self._guarded, workers=1)
        self.commits = DeferredCommits(clock, ports.commits(root, self.git_asking.start))
        self.searches = DeferredSearches(recorder, in_force, self.searching)
        self.long_decisions = LongDecisions(recorder, self.clock.mono_s)
        self.decider = Decider(
            self,
            self.observer,
            Gatherer(RequestFiles(self.observer, self.outside.look_first), self.long_decisions),
            WatcherBarrier(self.outside, self.watcher, self.tracer, clock),
            self.lease_queue,
            self.burst_expiry,
            self.announced_calls,
            self.presence,
            self.failures,
            self._standing,
            self.long_decisions,
            self.searches,
            self.commits,
            ports.grammars(clock.mono_s),
        )
        self.waiting = CallQueue(self.decider, self._in_flight, recorder, self.responder, self.failures)
        self._rejections = Rejections(recorder, self.presence.now, self.waiting.take)
        self.responder.own[self._rejections.ADDRESS] = self._rejections.answered
        self._execution = Execution(
            self.performer, recorder, in_force, self.watcher, self.waiting, self.responder, self.failures
        )
        self._spool_switch = SpoolSwitch(root, server, self.watcher, in_force, clock, log)
        self._coverage = CoverageReport(clock, log)
        self._flush_timer = FlushTimer()
        self._sweeping = Chore("sweep", SWEEP_S, self._sweep)
        self._tidying_git = Chore("git", IDLE_S, partial(self._if_it_takes_records, self.git.tidy))
        self._chores = Chores(self._guarded, *self._chores_of())
        mono_s = self.clock.mono_s
        self._turn = Turn(
            self.admission,
            self.waiting,
            self._execution,
            self._in_flight,
            mono_s,
            self._admitted,
            [*self._looks()],
            [
                partial(self._guarded, "flush", self._flush),
                partial(self._guarded, "fold", self.performer.fold),
                partial(self._guarded, "family", self.family.look),
                lambda: self._chores.do(mono_s()),
            ],
        )

    # ── life ──

    def run(self) -> None:
        signal.signal(signal.SIGURG, lambda *_: self._lease_broken())
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        signal.signal(signal.SIGINT, lambda *_: self.stop())
        self.open()
        systemd.notify("READY=1")
        try:
            while not self._stopping:
                try:
                    self.turn(self.server.poll(self._patience()))
                # outside a call, so no reply is possible; decided writes are still completed
                except MemoryError as error:
                    self.failures.limited("turn", "memory", error)
        finally:
            self.close()

    def open(self) -> None:
        """Record the start, watch the workspace, and compare its files with the journal."""
        self.recorder.note(WorkspaceOpened(os.fspath(self.root), self.server.epoch, VERSION))
        self._in_flight.open()
        self.lease_queue.open()
        self.burst_expiry.open()
        self.commit_noted()
        self._tell_of_salvage()
        self.decider.open()
        self._hear_git()
        self.reserve.take()
        self.watcher.start()
        self._watch_git()
        for jobs in (self.crawls, self.jobs):
            jobs.begin()
        self._spool_switch.follow()
        self.outside.scanner.open()
        self.heads.open()
        self.family.open()
        self.log.info("opened", root=os.fspath(self.root), epoch=self.server.epoch, head=self.recorder.journal.head)

    def _watch_git(self) -> None:
        git = git_folder(os.fspath(self.root)) or os.path.join(self.root, ".git")
        self.watcher.watch_git(os.path.relpath(os.path.realpath(git), os.path.realpath(self.root)), self.git.moved)

    def _hear_git(self) -> None:
        try:
            self.git.hear(listen(trace_socket(self.server.path)), self.server)
        except OSError as error:
            self.log.warning("git_unheard", error=str(error))
        self.git.read_folder(trace_folder())

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        self._stopping = True
        self.server.wake()

    def _lease_broken(self) -> None:
        self._sweeping.at_s = 0.0
        self.server.wake()

    def close(self) -> None:
        systemd.notify("STOPPING=1")
        self.git.close()
        self.tracer.close()
        self.counters.close()
        self.family.close()
        self.outside.stop()
        self.watcher.stop()
        self.commits.close()
        for jobs in (self.jobs, self.crawls, self.git_asking, self.relations):
            jobs.close()
        self._execution.finish()
        self.performer.close()
        self.waiting.end()  # including those that just lost a race
        self.decider.close()
        try:
            self.commit_noted()
            self.performer.publish()
            self._guarded("head", partial(self._if_it_takes_records, self.heads.at_end))
            self.commit_noted()
            self.recorder.seen.save()
        except (StoreFailure, JournalDamaged) as error:
            self.failures.mistrust()
            self.log.fault("close", error)
        self.workspace.close()
        self.recorder.journal.close()
        self.server.close()
        self.log.info("closed")

    def _hint(self, path: str, at_ns: int, exact: bool) -> str:
        return self.git.hint(path, at_ns, exact) or self.burst_expiry.hint(path, at_ns)

    def _expect(self, paths: Sequence[str]) -> None:
        if len(paths) > 1 and self.announced_calls.traceable:
            self.tracer.ask(paths)

    # ── the loop ──

    def _patience(self) -> float:
        now = self.clock.mono_s()
        until = min(now + IDLE_S, self.waiting.next_look_s(now))
        until = min(until, self._flush_timer.next_look_s(self._to_flush(), now), self.performer.publish_at_s())
        if self.workspace.displaced_files():
            until = min(until, self._sweeping.at_s)
        if self.git.awaits_name():
            until = min(until, self._tidying_git.at_s)
        until = min(until, self.searching.next_look_s(now))
        for busy_s in (self.performer.patience_s(), self.long_decisions.patience_s()):
            if busy_s is not None:
                until = min(until, now + busy_s)
        if not self.failures.read_only:
            until = min(until, self.outside.next_look_s(now))
        return max(0.0, until - now)

    def turn(self, incoming: Sequence[IncomingRequest]) -> None:
        self._turn.take(incoming)

    def _admitted(self, call: Call) -> None:
        if call.tool in (NATIVE_TOOL, RUN_TOOL):
            self.tracer.begin()

    def _looks(self) -> Iterator[Step]:
        for jobs in (self.jobs, self.crawls, self.git_asking, self.relations):
            yield jobs.take_results
        yield partial(self.admission.know_again, self.waiting)
        yield partial(self._guarded, "search", self.searches.look)
        yield self._look_at_git  # before its writes are looked at
        yield partial(self._guarded, "outside", self._look_outside)

    def _look_at_git(self) -> None:
        if self.git.stirs():
            self._guarded("git", self.git.look)

    def _publish(self) -> None:
        self._guarded("fold", self.recorder.journal.publish)

    def _guarded(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  the loop must go on whatever a tree contains
            self.failures.told(what, error)

    def _look_outside(self) -> None:
        if not self.failures.read_only:
            now = self.clock.mono_s()
            self.outside.look(now, hurried=now - self.admission.asked_s < HURRIED_S)
            if self.git.awaits_name():
                self._tidying_git.at_s = min(self._tidying_git.at_s, now + NAMED_S)

    def _chores_of(self) -> Iterator[Chore]:
        yield self._sweeping
        if watchdog_s := systemd.watchdog_s():
            yield Chore("watchdog", watchdog_s, partial(systemd.notify, "WATCHDOG=1"))
        yield Chore("state", IDLE_S, self._standing.check_state)  # first: others fail without that folder
        yield Chore("save", SAVE_S, self._save)
        yield Chore("settings", IDLE_S, self._look_at_settings)
        yield Chore("spool", IDLE_S, self._spool_switch.follow)
        yield Chore("reserve", IDLE_S, self.reserve.take)
        yield Chore("collecting", IDLE_S, self._collect)
        yield self._tidying_git
        for name, tidy in (
            ("leases", self.lease_queue.tidy),
            ("bursts", self.burst_expiry.tidy),
            ("rejections", self._rejections.tidy),
            ("head", self.heads.tidy),
        ):
            yield Chore(name, IDLE_S, partial(self._if_it_takes_records, tidy))
        yield Chore("family", IDLE_S, self.family.tidy)
        yield Chore("root", IDLE_S, self._standing.check_root)
        yield Chore("tracer", IDLE_S, self.tracer.look)
        yield Chore("coverage", IDLE_S, self._look_at_coverage)
        yield Chore("salvage", SALVAGE_S, self._tell_of_salvage)

    def _collect(self) -> None:
        self.collector.tidy()
        scanner = self.outside.scanner
        if scanner.is_first and scanner.captured and not self.failures.read_only:
            scanner.is_first = not self.collector.captured()

    def _sweep(self) -> float | None:
        self.performer.sweep()
        return 0.0 if self.workspace.crowded() else None

    def _flush(self) -> None:
        if self.failures.read_only:
            self.recorder.drop()  # the events would wait forever
        if self._flush_timer.due(self._to_flush(), self.clock.mono_s()):
            self.commit_noted()
            self._flush_timer.done()

    def _save(self) -> float | None:
        self.recorder.journal.store.reader_check()
        return IDLE_S if not self.failures.read_only and self.recorder.seen.save(MOST_SAVED) else None

    def _tell_of_salvage(self) -> None:
        self.responder.salvaged = salvaged(self, SALVAGE_IS_TOLD_NS)

    def _tell_of_broken_head(self, told: str) -> None:
        self.responder.broken = told

    def _look_at_coverage(self) -> None:
        self.coverage()  # updates the time since which coverage is degraded

    def _look_at_settings(self) -> None:
        if self.in_force.may_change():
            self._reload()

    def _if_it_takes_records(self, act: Callable[[], None]) -> None:
        if not self.failures.read_only:
            act()

    def _to_flush(self) -> bool:
        return bool(self.recorder.waiting or self._in_flight.unsettled) and not self.failures.read_only

    # ── what services ask ──

    @property
    def sound(self) -> bool:
        """True if the next start can skip the check of the journal."""
        return self.failures.sound

    def coverage(self) -> dict[str, Any]:
        return self._coverage.told(reasons(self))

    def health(self) -> dict[str, Any]:
        return health(self)

    def _reload(self) -> None:
        before = self.in_force.now.capture
        if not self.in_force.read_again():
            self.log.warning("settings", problem=self.in_force.wrong)
            return
        self.log.info("settings")
        capture = self.in_force.now.capture
        self.workspace.read_at_most(capture.max_bytes)
        # any other capture setting changes which files are recorded
        if msgspec.structs.replace(capture, scan_minutes=before.scan_minutes) != before:
            self._ignore.tune(capture.ignore, capture.secret_globs)
            self.outside.scanner.scan(RULES)
        if capture.scan_minutes != before.scan_minutes:
            self.outside.scanner.retime()

    def commit_noted(self) -> None:
        self.performer.commit_noted()

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        if call.tool.name in SERVICES:
            with suppress(StoreFailure, JournalDamaged), self.recorder.history() as history:
                body = beside(body, call.who.key, history)
        self.responder.answer(call, body)

    def look_at(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.outside.name(path, SCANNED, self.clock.mono_s())

    def start_job(self, work: Job, what: str, failed: JobFailed | None = None) -> None:
        self.jobs.start(work, what, failed)

    def told(self, what: str, error: Exception) -> dict[str, Any]:
        return self.failures.told(what, error)
