"""The composition root: it owns the clock, the loop, and the order of durability.

Theory of operation. One thread runs turns. A turn takes the requests that have come, gathers for each the files
that it names (reconciled with the journal), decides it, and notes its events. Then, once for all of them:

    1. the events and the new bytes go into the log, in one synced transaction;
       beside that, on worker threads, the new bytes go into temporary files, fsynced;
    2. each write is performed as a compare-and-swap on its path;
    3. the replies are sent.

So nothing is answered that a kill -9 could take back, and nothing is displaced that the log does not hold. That
the writes are on disk (`writes_settled`) rides on the next commit; a start that finds unsettled writes finishes
them (`recovery`). A write that loses a race to an outside program is put back, its records are abandoned (in the
log before any answer), and the request is decided again on what is there now.

In one turn a caller has one request and a path one writer; what would be second waits for the next turn. A file
that another program holds open for writing is not waited for: its request is tried again until its time is up.

Long work (tree scans, verification) runs on worker threads that hand their results back through `_jobs_done`. A
decision that needs a search (a regular expression, which may never end) is made again when `searching` has the answer.
"""

from __future__ import annotations

import os
import queue
import secrets
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from quire_daemon import call as calls
from quire_daemon import notify
from quire_daemon.bursting import Bursting
from quire_daemon.call import Call, Going
from quire_daemon.clock import Clock
from quire_daemon.collecting import Collecting
from quire_daemon.config import BadSettings, Settings
from quire_daemon.crawl import CrawlCancelled
from quire_daemon.exporting import Exporting
from quire_daemon.gather import Gather, HeldOpen
from quire_daemon.git_head import GitHead
from quire_daemon.git_trace import Commands, GitTrace, pid_start
from quire_daemon.git_writer import GitWriter
from quire_daemon.handlers import TOOLS
from quire_daemon.handlers.base import Decision, FileNow, Implied, Put, Who, World
from quire_daemon.handlers.notices import decided
from quire_daemon.ignore import Ignore
from quire_daemon.leasing import Leasing
from quire_daemon.logfile import Log
from quire_daemon.outside import Outside
from quire_daemon.performing import Done, Failed, Outcome, Overtaken, Performing, most_open, names, require_room
from quire_daemon.presence import Presence
from quire_daemon.recorder import Recorder
from quire_daemon.reserve import Reserve
from quire_daemon.search import NeedsSearch, Search
from quire_daemon.searching import Searching
from quire_daemon.server import Incoming, Peer, Server, listen
from quire_daemon.services import SERVICES
from quire_daemon.services.shutdown import SHUTDOWN
from quire_daemon.spool import Spool
from quire_daemon.syntax import Grammars
from quire_daemon.watcher import Watcher
from quire_daemon.workspace import Protection, Workspace
from quire_journal import FORMAT, VERSION, WIRE
from quire_journal.events import (
    EditRefused,
    Event,
    JournalSalvaged,
    ReplyKept,
    WatchLost,
    WorkspaceOpened,
    WriterIntroduced,
)
from quire_journal.ids import Seq, is_escaped, percent_escaped
from quire_journal.journal import Journal
from quire_journal.log import Damaged, StoreFailed
from quire_journal.places import trace_socket
from quire_journal.plain import plain_name
from quire_journal.points import rfc3339
from quire_journal.refusals import Refused, did_you_mean
from quire_journal.salvage import sentence
from quire_journal.spooled import FOLDER as SPOOL
from quire_journal.text import Text
from quire_journal.views.writers import caller_key

FLUSH_S = 0.2  # how long an event that nobody waits for may stay out of the log while the loop is idle
RETRY_S = 0.002  # between two looks at a file that is held open
CATCH_UP_S = 2.0  # how long a query waits for the watcher's cookie before it answers with what is known
MOST_WAIT_S = 60.0  # for news, whatever the call asks
MAX_LOST = 50  # races lost in one call before it is told `busy`
MAX_SEARCHES = 5  # in one call, because the file changed during each, before it is told `busy`
HURRIED_S = 0.5  # after a request about a file, background work takes small slices for this long
MOST_CONNECTIONS = 4096  # whose peers are remembered
SWEEP_S = 0.05  # between two looks at displaced files; a program that waits to open one rings (`_lease_broken`)
SAVE_S = 60.0  # between two saves of the cache of the disk
MOST_SAVED = 1000  # paths of it at once
SALVAGE_IS_NEWS_NS = 14 * 24 * 3600 * 10**9  # so long `status` tells of one
IDLE_S = 1.0  # a turn at least this often: lease breaks, watchdog, coverage


_SERVED: Final = {name: service.tool() for name, service in SERVICES.items()}


class App:
    """One daemon for one workspace."""

    def __init__(
        self,
        root: Path,
        state_dir: Path,
        journal: Journal,
        workspace: Workspace,
        server: Server,
        settings: Settings,
        ignore: Ignore,
        clock: Clock,
        log: Log,
        step: Callable[[str], None] = lambda name: None,
        read_settings: Callable[[], Settings] | None = None,
    ) -> None:
        self.root, self.state_dir = root, state_dir
        self.workspace, self.server, self.clock, self.log = workspace, server, clock, log
        self.settings = settings
        self.recorder = Recorder(journal, clock)
        self.gather = Gather(workspace, self.recorder, ignore, settings)
        self.leasing = Leasing(server, self.recorder, clock)
        self.bursting = Bursting(server, self.recorder, clock)
        self.presence = Presence(server, clock)
        self.exporting = Exporting()
        self._commands = Commands(os.fspath(root))
        self.git = GitWriter(self.recorder, clock, GitHead(os.fspath(root)), self._commands)
        self.gather.hint = lambda path, at_ns, exact: (
            self.git.hint(path, at_ns, exact) or self.bursting.hint(path, at_ns)
        )
        self.grammars = Grammars()
        self.searching = Searching(server)
        self._calls: deque[Call] = deque()
        self._writers: dict[WriterIntroduced, Who] = {}
        self._pid_starts: dict[bytes, int] = {}  # by connection
        self._taken: set[tuple[bytes, bytes]] = set()  # operation ids and idempotency keys of this turn
        self._jobs = ThreadPoolExecutor(2, thread_name_prefix="job")
        self._jobs_done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.watcher = Watcher(root, ignore.ignored, server.wake)
        self.outside = Outside(self.gather, self.recorder, self.watcher, ignore, root, self.start_job, self._reload)
        self.performing = Performing(workspace, self.recorder, self.outside, clock, step)
        self.progress: dict[str, dict[str, Any]] = {}
        self.sound = True  # as far as it is known: the next start need not check the journal
        self.step = step
        self.collecting = Collecting(self, state_dir)
        self.reserve = Reserve(state_dir / "reserve", settings.retention.reserve_bytes)
        self._stopping = False
        self._read_settings = read_settings
        self._no_spool = ""  # why there is none, though it is wanted
        self._bad_settings = ""  # why the settings file was not taken
        self._read_only = ""  # why the journal takes no more records
        self._flush_at = 0.0
        self._watchdog_s = notify.watchdog_s()
        self._watchdog_at = 0.0
        self._save_at = 0.0
        self._sweep_at = 0.0
        self._root_at = 0.0
        self._lock = _file_id(state_dir / "lock")
        self._first_event_ns = 0
        self._asked_s = -1e9  # when the last request about a file came

    # ── life ──

    def run(self) -> None:
        """Serve until told to stop."""
        signal.signal(signal.SIGURG, lambda *_: self._lease_broken())
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        signal.signal(signal.SIGINT, lambda *_: self.stop())
        self.open()
        notify.notify("READY=1")
        try:
            while not self._stopping:
                self.turn(self.server.poll(self._patience()))
        finally:
            self.close()

    def open(self) -> None:
        """Say in the log that we are here, watch the tree, and begin to compare it with the journal."""
        self.recorder.note(WorkspaceOpened(os.fspath(self.root), self.server.epoch, VERSION))
        self.leasing.open()
        self.bursting.open()
        self.recorder.commit()
        with self.recorder.history() as history:
            first = history.record(1)
        self._first_event_ns = first.at_ns if first else self.clock.now_ns()
        self._hear_git()
        self.reserve.take()
        self.watcher.start()
        self._follow_spool()
        self.outside.scan("start")
        self.log.info("opened", root=os.fspath(self.root), epoch=self.server.epoch, head=self.recorder.journal.head)

    def _hear_git(self) -> None:
        """Listen to git processes. Where that cannot be, what git leaves behind has to do."""
        try:
            self.git.trace = GitTrace(listen(trace_socket(self.server.path)), self.server, self._commands)
        except OSError as error:
            self.log.warning("git_unheard", error=str(error))

    def _follow_spool(self) -> None:
        """Take requests as files, or not any more, as the settings say. Where that cannot be, sockets have to do."""
        spool = self.server.spool
        if spool is not None and self.settings.spool.enabled and spool.stands():
            if spool.look():
                self.server.wake()
            return
        if spool is not None:
            self.server.spool = None
            spool.close()
        if self.settings.spool.enabled:
            try:
                self.server.spool = Spool(self.root, self.server.epoch, self.clock.now_ns)
            except OSError as error:
                if str(error) != self._no_spool:  # it is tried again each second
                    self._no_spool = str(error)
                    self.log.warning("no_spool", error=str(error))
                return
            self._no_spool = ""
            self.watcher.tell("/".join(SPOOL), ".request", self.server.spool.ring)

    @property
    def stopping(self) -> bool:
        """Is this the end? Work on other threads gives up then."""
        return self._stopping

    def stop(self) -> None:
        """End after this turn."""
        self._stopping = True
        self.server.wake()

    def _lease_broken(self) -> None:
        """An outside program waits to open a file that we hold a lease on: look at the displaced ones in this turn.

        They are looked at from time to time all the same, as signals that come together are one.
        """
        self._sweep_at = 0.0
        self.server.wake()

    def close(self) -> None:
        """Leave nothing undone that costs the next start time."""
        notify.notify("STOPPING=1")
        self._end_searches()
        self.git.close()
        self.outside.stop()
        self.watcher.stop()
        self._jobs.shutdown(wait=True, cancel_futures=True)
        self.performing.close()
        self.grammars.close()
        try:
            self.settle()
            self.recorder.save_seen()
        except (StoreFailed, Damaged):
            self.sound = False
            self.log.fault("close")
        self.workspace.close()
        self.recorder.journal.close()
        self.server.close()
        self.log.info("closed")

    # ── the loop ──

    def _patience(self) -> float:
        """How long the next poll may wait."""
        now = self.clock.mono_s()
        until = now + IDLE_S
        if self._calls:
            until = min(until, *(now if self._has_news(c) else c.retry_s or now for c in self._calls))
        if self.recorder.waiting or self.performing.unsettled:
            until = min(until, self._flush_at)
        if self.workspace.lingering():
            until = min(until, self._sweep_at)
        until = min(until, self.outside.next_look_s(now), self.searching.next_look_s(now))
        return max(0.0, until - now)

    def turn(self, incoming: Sequence[Incoming]) -> None:
        """One turn: take what came, look at what changed, decide, perform, answer."""
        for one in incoming:
            self._accept(one)
        while not self._jobs_done.empty():
            self._jobs_done.get()()
        self._guarded("search", self._take_answers)
        self._guarded("git", self.git.look)  # before its writes are looked at
        self._guarded("outside", self._look_outside)
        going = self._decide_all()
        if going:
            self._perform_all(going)
        self._guarded("tidy", self._tidy)

    def _guarded(self, what: str, act: Callable[[], None]) -> None:
        """Background work of a turn: its faults are logged, never end the daemon."""
        try:
            act()
        except StoreFailed as error:
            self._store_failed(error)
        except Damaged as error:
            self._damaged(error)
        except Exception:  # noqa: BLE001  the loop must go on whatever a tree contains
            self.log.fault(what)

    def _look_outside(self) -> None:
        if not self._read_only:
            now = self.clock.mono_s()
            self.outside.look(now, hurried=now - self._asked_s < HURRIED_S)

    def _tidy(self) -> None:
        now = self.clock.mono_s()
        if now >= self._sweep_at:
            self._sweep_at = now + SWEEP_S
            self.performing.sweep()
        if self.recorder.waiting or self.performing.unsettled:
            if not self._flush_at:
                self._flush_at = now + FLUSH_S
            elif now >= self._flush_at and not self._read_only:
                self.settle()
                self._flush_at = 0.0
        else:
            self._flush_at = 0.0
        if self._watchdog_s and now >= self._watchdog_at:
            self._watchdog_at = now + self._watchdog_s
            notify.notify("WATCHDOG=1")
        if now >= self._save_at:
            self._save_at = now + (IDLE_S if self.recorder.save_seen(MOST_SAVED) else SAVE_S)
            self.recorder.journal.store.reader_check()
        if now >= self._root_at:
            self._root_at = now + IDLE_S
            self._check_state()  # first: the others fault where there is no such folder
            self._follow_spool()
            self.reserve.take()
            self.collecting.tidy()
            if not self._read_only:
                self.leasing.tidy()
                self.bursting.tidy()
                self.git.tidy()
            self._check_root()
            if self.settings.journal.durability == "fast":
                self.recorder.journal.store.sync()

    def _check_root(self) -> None:
        """Another folder stands at the root's path: nothing here is about it, so this daemon ends and says why.

        The next client starts one for what is there now; `quire adopt` finds the journal of a folder that moved.
        """
        if self.watcher.health().root_replaced or not self.workspace.stands():
            self._end_for_lost_root()

    def _end_for_lost_root(self) -> None:
        if not self._stopping:
            self.log.warning("root_replaced", root=os.fspath(self.root))
            self.recorder.note(WatchLost("root_replaced"))
            self.stop()

    def _check_state(self) -> None:
        """The state folder was removed or replaced: nobody finds this daemon any more, so it ends and says why.

        What is at its path now is another's: no mark is left there.
        """
        if self._stopping or _file_id(self.state_dir / "lock") == self._lock:
            return
        self.sound = False
        self.log.warning("state_folder_gone", state_dir=os.fspath(self.state_dir))
        # The log has probably gone with its folder; systemd keeps this.
        print(f"quired: the state folder {self.state_dir} was removed or replaced; this daemon ends.", file=sys.stderr)
        self.stop()

    # ── taking requests ──

    def _accept(self, incoming: Incoming) -> None:
        """Decode, find the tool and the caller; refuse at once what cannot be understood."""
        request = incoming.request
        if incoming.peer.uid != os.getuid():
            self.log.warning("foreign_uid", uid=incoming.peer.uid)
            return  # not ours to answer: the socket's mode should have kept it out
        if request is None:
            self.server.reply(incoming.identity, 0, Refused("schema_invalid", incoming.why).reply())
            return
        try:
            self._calls.append(self._call(incoming))
        except Refused as refused:
            self.server.reply(incoming.identity, request.id, refused.reply())
        except Exception:  # noqa: BLE001  whatever the frame held, the daemon goes on
            self.server.reply(incoming.identity, request.id, self._fault(request.tool))

    def _call(self, incoming: Incoming) -> Call:
        request = incoming.request
        assert request is not None
        if request.wire != WIRE and request.tool != SHUTDOWN.name:  # which the refusal tells it to ask for
            raise Refused(
                "schema_invalid",
                f"The client speaks wire version {request.wire}, this daemon ({VERSION}) version {WIRE}; "
                "run `quire down` and try again, so that both are of one installation.",
                "restart_daemon",
            )
        tool = TOOLS.get(request.tool) or _SERVED.get(request.tool)
        if tool is None:
            known = sorted(TOOLS.keys() | SERVICES.keys())
            nearest = did_you_mean(request.tool, known)
            message = f"There is no tool {request.tool[:80]!r}; there are {', '.join(known)}.{nearest}"
            raise Refused("unknown_tool", message)
        if tool.writes or tool.journals:
            self._asked_s = self.clock.mono_s()
        raw = bytes(request.args)
        params = calls.decode(tool, raw)
        return Call(
            incoming,
            tool,
            params,
            self._who(incoming.identity, incoming.peer, request.caller),
            raw,
            request.op[:16],
            str(getattr(params, "idempotency_key", "") or ""),
            self.clock.mono_s() + self.settings.edit.busy_wait_ms / 1000,
            request.deadline_ns,
        )

    def _who(self, connection: bytes, peer: Peer, caller: Any) -> Who:
        """The writer that this caller is in the journal; introduced there when it is new."""
        said = (caller.agent, caller.agent_session, caller.turn, caller.tool_call, caller.model)
        claimed = [plain_name(text) for text in said]
        identity = WriterIntroduced(0, peer.uid, peer.pid, self._pid_start(connection, peer.pid), *claimed)
        who = self._writers.get(identity)
        if who is None:
            writer = self.recorder.writer(identity)
            who = Who(writer, caller_key(peer.uid, claimed[0], claimed[1]), claimed[0], claimed[1])
            self._writers[identity] = who
        self.presence.called(who, connection, identity)
        return who

    def _pid_start(self, connection: bytes, pid: int) -> int:
        """When the peer's process began. Asked once a connection, which cannot pass to another process."""
        if len(self._pid_starts) > MOST_CONNECTIONS:
            self._pid_starts.clear()
        if connection not in self._pid_starts:
            self._pid_starts[connection] = pid_start(pid)
        return self._pid_starts[connection]

    # ── deciding ──

    def _decide_all(self) -> list[Going]:
        """Decide what can be decided now; what waits stays in the queue, in order."""
        now = self.clock.mono_s()
        waiting: deque[Call] = deque()
        going: list[Going] = []
        callers: set[bytes] = set()
        paths: set[str] = set()
        self._taken = set()
        while self._calls:
            call = self._calls.popleft()
            if (call.retry_s > now and not self._has_news(call)) or call.incoming.identity in callers:
                waiting.append(call)
                callers.add(call.incoming.identity)
                continue
            callers.add(call.incoming.identity)
            call.news_head = -1
            try:
                started = self._decide(call, paths)
            except _NotYet as later:
                call.retry_s = later.at_s
                waiting.append(call)
            except NeedsSearch as needs:
                if self._search(call, needs.search):
                    waiting.append(call)
            except Refused as refused:
                self._answer_refusal(call, refused)
            except StoreFailed as error:
                self.answer(call, self._store_failed(error))
            except Damaged as error:
                self.answer(call, self._damaged(error))
            except Exception:  # noqa: BLE001  one call's fault is that call's answer
                self.answer(call, self._fault(call.tool.name))
            else:
                if started is not None:
                    going.append(started)
        self._calls = waiting
        return going

    def _decide(self, call: Call, paths: set[str]) -> Going | None:
        """Gather and decide one call; answered here when nothing is to be written."""
        self._check_time(call)
        service = SERVICES.get(call.tool.name)
        if service is not None:
            service.run(call, self)
            return None
        if call.tool.writes:
            if self._read_only:
                raise Refused(
                    "journal_damaged", f"The journal takes no more records: {self._read_only}", "quire doctor"
                )
            if self.reserve.given_back:
                raise Refused(
                    "disk_full",
                    f"The disk of {self.state_dir} is full; its reserve was given back so that the past can be read "
                    "and `quire gc` can make room. Edits are taken again when there is space.",
                    "free_space",
                )
            self._take_turn(call)
            repeated = self._repeated(call)
            if repeated is not None:
                self.answer(call, repeated)
                return None
        if call.tool.catch_up:
            self._catch_up(call)
        files, kept_off, implied = self._gather(call, paths)
        self.presence.named(call.who, (now.path for now in files.values()))
        if not self._read_only:
            self.leasing.look()
            self.bursting.look()
        if call.tool.writes or call.tool.journals:
            self.recorder.introduce(call.who.writer)
        with self.recorder.history() as history:
            world = World(
                self.clock.now_ns(),
                call.who,
                self.settings,
                files,
                history,
                self.recorder.next_seq,
                self._first_event_ns,
                self.health() if call.tool.needs_health else {},
                self.grammars,
                call.found,
                self.presence.now() if call.tool.needs_presence else {},
                self.leasing.before(call),
                kept_off,
                implied,
            )
            decision = self._under_leases(call, world)
        require_room(len(decision.writes), most_open())
        self._wait_for_news(call, decision)
        if call.key and decision.reply.get("ok") and not decision.reply.get("dry_run"):
            kept = ReplyKept(call.key, call.arguments, msgspec.msgpack.encode(decision.reply))
            events: Sequence[Event] = (*decision.events, kept)
        else:
            events = decision.events
        lasting = bool(decision.writes) or bool(events and call.tool.writes and decision.reply.get("ok"))
        seqs = self._note(call, events, lasting)
        self.leasing.noted(call, events, seqs)
        self.bursting.noted(call, events, seqs)
        puts = {id(write.data): write for write in decision.writes if isinstance(write, Put)}
        for data in decision.blobs:
            self.recorder.note_blob(*_in_chain(puts.get(id(data)), data))
        if not decision.writes:
            if decision.blobs or lasting:
                self.recorder.commit()  # a success that is only a record is durable, too
            self.answer(call, dict(decision.reply))
            return None
        for write in decision.writes:
            paths.update(names(write))
        return Going(call, decision, seqs, seqs[0])

    def _under_leases(self, call: Call, world: World) -> Decision:
        """What follows from the call as leases stand. A claim that may wait for others is looked at again."""
        try:
            decision = decided(call.tool, call.params, world)
        except Refused as refused:
            later = self.leasing.wait(call, refused, world)
            if later is not None:
                raise _NotYet(later) from None
            raise
        self.leasing.require_caller(call)
        return decision

    def _note(self, call: Call, events: Sequence[Event], lasting: bool) -> tuple[Seq, ...]:
        """Note the events of one request as one batch; the operation id goes with the first."""
        batch = self.recorder.next_seq
        op = call.op if lasting else b""
        return tuple(
            self.recorder.note(event, call.who.writer, batch, op if i == 0 else b"") for i, event in enumerate(events)
        )

    def _check_time(self, call: Call) -> None:
        if call.deadline_ns and self.clock.now_ns() > call.deadline_ns:
            self.searching.cancel(call.ticket)
            raise Refused(
                "expired",
                f"{call.tool.name}: the caller's deadline had passed before its turn came; nothing was done.",
                "retry",
            )

    def _take_turn(self, call: Call) -> None:
        """One operation id and one idempotency key are decided once a turn; the second sees what came of the first.

        An edit into a folder that has been moved away, or beside a `.quire` that was removed, is refused.
        """
        if not self.workspace.stands():
            self._end_for_lost_root()
            message = (
                "The workspace's folder, or .quire in it, was replaced; this daemon ends, call again for a new one."
            )
            raise Refused("busy", message, "retry", retry_after_ms=500)
        taken = {(b"op", call.op)} if call.op else set()
        if call.key:
            taken.add((call.who.key, call.key.encode()))
        if taken & self._taken:
            raise _NotYet(self.clock.mono_s())
        self._taken |= taken

    def _repeated(self, call: Call) -> dict[str, Any] | None:
        """The answer to a call that was made before: by its operation id, or by its idempotency key."""
        with self.recorder.history() as history:
            batch = history.op(call.op) if call.op else None
            state = history.batch_state(batch) if batch is not None else "abandoned"
            if state != "abandoned":  # an abandoned one may be tried again: by us, after a lost race, or by the caller
                message = f"This operation was made before, as batch {batch}; it is not applied twice."
                return {"ok": True, "message": message, "outcome": "applied", "batch": batch, "repeated": True}
            if not call.key:
                return None
            kept = history.kept_reply(call.who.key, call.key)
        if kept is None or self.clock.now_ns() - kept[2] > calls.IDEMPOTENCY_HOURS * 3600 * 10**9:
            return None
        if kept[0] != call.arguments:
            raise Refused(
                "schema_invalid",
                f"idempotency_key {call.key!r} was used with other arguments; use a new key.",
                "new_key",
            )
        reply: dict[str, Any] = msgspec.msgpack.decode(kept[1])
        return reply

    def _wait_for_news(self, call: Call, decision: Decision) -> None:
        """`since` with `wait_ms` and nothing to tell: the call stays until something happens or its time is over.

        What its filters passed over is not looked at again: it goes on from there.
        """
        wait_ms = getattr(call.params, "wait_ms", 0) or 0
        reply = decision.reply
        if not wait_ms or reply.get("records", True) or not reply.get("ok") or reply.get("fresh"):
            return
        now = self.clock.mono_s()
        call.news_until_s = call.news_until_s or now + min(wait_ms / 1000, MOST_WAIT_S)
        if now < call.news_until_s and call.params.cursor is not None:
            call.params = msgspec.structs.replace(call.params, cursor=reply["cursor"])
            call.news_head = 0 if reply.get("more") else self.recorder.journal.head
            raise _NotYet(call.news_until_s)

    def _has_news(self, call: Call) -> bool:
        """Is there something that a call that waits for news has not looked at?"""
        return call.news_head >= 0 and call.news_head != self.recorder.journal.head

    def _catch_up(self, call: Call) -> None:
        """Wait until the watcher has told of everything that happened before this call. That is so once for all.

        So a call that stays for news is answered with the first, whatever else is to be looked at by then.
        """
        if call.caught_up:
            return
        now = self.clock.mono_s()
        if not call.cookie:
            call.cookie = self.watcher.cookie()
            call.give_up_s = now + CATCH_UP_S
        told = self.watcher.seen(call.cookie)
        patience_s = call.tool.settle_s if told else 0.0
        if now < call.give_up_s + patience_s and not (told and self.outside.idle()):
            raise _NotYet(now + RETRY_S)
        call.caught_up = True

    def _gather(self, call: Call, taken: set[str]) -> tuple[dict[str, FileNow], dict[str, str], Implied]:
        """The files that the call names, by the names that the caller used.

        Of those that it only implies (an undo, a restore) one that cannot be looked at, or must not be written, is
        missing, and the code of the refusal stands beside: the others do not wait for it, and the decision tells.
        """
        names = list(dict.fromkeys(call.tool.paths(call.params)))
        named = len(names)
        implied = Implied()
        if call.tool.implies is not None:
            with self.recorder.history() as history:
                implied = call.tool.implies(call.params, history, call.who)
            names = list(dict.fromkeys([*names, *implied.paths]))
        now = self.clock.mono_s()
        files: dict[str, FileNow] = {}
        kept_off: dict[str, str] = {}
        for number, name in enumerate(names):
            patient = now < call.give_up_s
            try:
                files[name] = self.gather.file(
                    name, call.tool.writes, unfinished_ok=not patient and not call.tool.writes
                )
            except HeldOpen:
                if patient:
                    raise _NotYet(now + RETRY_S) from None
                if number >= named:
                    self.gather.file(name, False, unfinished_ok=True)  # the journal knows at least that it changed
                    continue
                raise Refused(
                    "busy",
                    f"{name} is held open for writing by another program; try again.",
                    "retry",
                    retry_after_ms=100,
                    path=name,
                ) from None
            except Refused as refused:
                if number >= named:
                    kept_off[name] = refused.code
                    continue
                raise
            if files[name].path in taken:
                raise _NotYet(now)  # another request of this turn writes it: first that one
        return files, kept_off, implied

    # ── searches that decisions need ──

    def _search(self, call: Call, search: Search) -> bool:
        """Ask for `search`; the call waits for its answer. False when it has been answered instead."""
        self.searching.cancel(call.ticket)
        call.searches += 1
        if call.searches > MAX_SEARCHES:
            path = call.tool.paths(call.params)[0]
            message = f"{path} changes faster than the pattern can be searched for in it; try again."
            self._answer_refusal(call, Refused("busy", message, "retry", path=path, retry_after_ms=250))
            return False
        call.ticket = self.searching.ask(search, max(self.settings.limits.regex_ms, 1))
        call.searching = search
        left_s = (call.deadline_ns - self.clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        call.retry_s = self.clock.mono_s() + left_s + RETRY_S
        return True

    def _take_answers(self) -> None:
        """Let the searches go on; calls whose search has ended are decided in this turn."""
        for ticket, answer in self.searching.look(self.clock.mono_s()):
            for call in self._calls:
                if call.ticket == ticket and call.searching is not None:
                    call.found = {**call.found, call.searching: answer}
                    call.ticket, call.searching, call.retry_s = 0, None, 0.0

    def _end_searches(self) -> None:
        """The daemon stops: whoever waits for a search is told."""
        self.searching.close()
        for call in [call for call in self._calls if call.ticket]:
            self._calls.remove(call)
            message = "The daemon stops; the pattern was being searched for, and nothing was done."
            self._answer_refusal(call, Refused("busy", message, "retry", retry_after_ms=500))

    # ── performing ──

    def _perform_all(self, going: list[Going]) -> None:
        """Log and disk first, then the answers."""
        try:
            outcomes = self.performing.perform(going, self.settings.journal.durability == "strict")
        except StoreFailed as error:
            reply = self._store_failed(error)
            for one in going:
                self.answer(one.call, dict(reply))
            return
        except Damaged as error:
            reply = self._damaged(error)
            for one in going:
                self.answer(one.call, {**reply, "outcome": "unknown"})
            return
        for one, outcome in outcomes:
            self._answer_outcome(one, outcome)

    def _answer_outcome(self, one: Going, outcome: Outcome) -> None:
        call = one.call
        if isinstance(outcome, Done):
            reply = dict(one.decision.reply)
            if outcome.warnings:
                reply["warnings"] = [*reply.get("warnings", ()), *outcome.warnings]
            self.answer(call, reply)
        elif isinstance(outcome, Failed):
            self._answer_refusal(call, outcome.refused)
        elif isinstance(outcome, Overtaken):
            self._try_again(one)
        else:
            self.log.problem("perform", outcome.error)
            if isinstance(outcome.error, Damaged):
                self.answer(call, {**self._damaged(outcome.error), "outcome": "unknown"})
            elif isinstance(outcome.error, StoreFailed):
                self.answer(call, {**self._store_failed(outcome.error), "outcome": "unknown"})
            else:
                self.answer(call, {**self._fault(call.tool.name), "outcome": "unknown"})

    def _try_again(self, one: Going) -> None:
        """The call lost a race to an outside program: decide it again, on what is there now."""
        call = one.call
        call.lost += 1
        if call.lost > MAX_LOST:
            path = one.decision.writes[0].path
            message = f"{path} is rewritten by another program faster than it can be edited; try again."
            self._answer_refusal(call, Refused("busy", message, "retry", path=path, retry_after_ms=250))
        else:
            call.retry_s = self.clock.mono_s() + RETRY_S
            self._calls.appendleft(call)

    # ── answering ──

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        request = call.incoming.request
        assert request is not None
        self.leasing.answered(call)
        if self.collecting.warnings:
            body["warnings"] = [*body.get("warnings", ()), *self.collecting.warnings]
        _tell_encoding(body)
        if call.tool.writes:
            body.setdefault("outcome", "applied" if body.get("ok") and not body.get("dry_run") else "not_applied")
            if call.op:
                body.setdefault("op", call.op.hex())
        self.server.reply(call.incoming.identity, request.id, body)

    def _answer_refusal(self, call: Call, refused: Refused) -> None:
        """Refused before or after the decision; journaled for writing tools, as the handlers do for theirs."""
        if call.tool.writes and not self._read_only and refused.code not in ("expired", "schema_invalid"):
            path = next(iter(call.tool.paths(call.params)), "")
            self.recorder.introduce(call.who.writer)
            self.recorder.note(EditRefused(call.tool.name, path, refused.code, refused.message[:200]), call.who.writer)
        self.answer(call, refused.reply())

    def _store_failed(self, error: StoreFailed) -> dict[str, Any]:
        """The journal could not commit. A full disk passes; anything else makes it read-only, and that is said."""
        self.log.fault("store_failed")
        if error.disk_full:
            self.reserve.give_back()
            message = f"The journal's disk is full: {error}. Nothing was written."
            return Refused("disk_full", message, "free_space").reply()
        self._read_only = str(error)
        message = f"The journal could not be synced and is read-only now: {error}"
        return Refused("journal_damaged", message, "quire doctor").reply()

    def _damaged(self, error: Damaged) -> dict[str, Any]:
        """Something in the journal is not what it was. The next start checks it; of a damaged store, at once."""
        self.log.fault("damaged")
        self.sound = False
        action = "quire verify"
        if error.everywhere:
            self.stop()
            action = "retry"
        return Refused("journal_damaged", f"{str(error)[0].upper()}{str(error)[1:]}.", action).reply()

    def _fault(self, what: str) -> dict[str, Any]:
        log_id = secrets.token_hex(4)
        self.log.fault("fault", tool=what, log_id=log_id)
        return Refused(
            "fault",
            f"{what}: something unexpected happened; daemon.log has it under {log_id}.",
            "report",
            log_id=log_id,
        ).reply()

    # ── health and commands ──

    def health(self) -> dict[str, Any]:
        """What `status` tells."""
        coverage = self.outside.coverage()
        if self._bad_settings:
            reasons = [*coverage["reasons"], f"settings of before are in force: {self._bad_settings}"]
            coverage = {**coverage, "state": "degraded", "reasons": reasons}
        if self._read_only:
            coverage = {
                **coverage,
                "state": "degraded",
                "reasons": [*coverage.get("reasons", ()), f"journal read-only: {self._read_only}"],
            }
        return {
            "pid": os.getpid(),
            "epoch": self.server.epoch,
            "workspace": os.fspath(self.root),
            "state_dir": os.fspath(self.state_dir),
            "versions": {"daemon": VERSION, "journal_format": FORMAT, "wire": WIRE},
            "coverage": coverage,
            "capture": self.outside.progress(),
            "protection": _active(self.workspace.protection),
            "journal_bytes": self.recorder.journal.store.size_bytes(),
            "journal_versions": self.recorder.versions(),
            "undeliverable": self.server.undeliverable,
            "read_only": self._read_only,
            **({"progress": dict(self.progress)} if self.progress else {}),
            **self._salvaged(),
            "retention": {**self.collecting.usage, "reserve": self.reserve.json()},
        }

    def _salvaged(self) -> dict[str, Any]:
        """What the newest salvage of the journal lost, while that is news."""
        with self.recorder.history() as history:
            record = history.salvage()
        event = record.event() if record is not None else None
        if record is None or not isinstance(event, JournalSalvaged):
            return {}
        if self.clock.now_ns() - record.at_ns > SALVAGE_IS_NEWS_NS:
            return {}
        said = f"The journal was damaged and has been salvaged at {rfc3339(record.at_ns)}. {sentence(event)}"
        return {"salvaged": f"{said} The damaged one is kept as {self.state_dir / 'journal' / event.set_aside}."}

    def _reload(self) -> None:
        """The settings file changed: take it, or keep the last good settings and say why."""
        if self._read_settings is None:
            return
        try:
            self.settings = self.gather.settings = self._read_settings()
            self._bad_settings = ""
        except BadSettings as error:
            self._bad_settings = str(error)
        self.log.info("settings", problem=self._bad_settings)

    def settle(self) -> None:
        """Commit everything that is noted, and that the writes performed are on disk."""
        self.performing.settle()

    def look_at(self, paths: Sequence[str]) -> None:
        """Compare these paths (as on disk) with the journal soon."""
        for path in paths:
            self.outside.name(path, "scanned", self.clock.mono_s())

    def start_job(
        self,
        work: Callable[[], Callable[[], None]],
        what: str = "job",
        failed: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Run `work` on a worker thread; what it returns is called in the loop.

        A fault in `work` is logged, and the reply that says so given to `failed`, in the loop: somebody may wait.
        """

        def tell() -> None:
            body = self._fault(what)
            if failed is not None:
                self._jobs_done.put(lambda: failed(body))
                self.server.wake()

        def run() -> None:
            try:
                then = work()
            except CrawlCancelled:
                return  # the daemon stops
            except Exception:  # noqa: BLE001
                tell()
                return
            self._jobs_done.put(then)
            self.server.wake()

        self._jobs.submit(run)


WITH_PATHS = ("files", "records", "leases", "conflicts", "waiting", "released", "broken", "changed_since_your_read")
"""Lists in replies whose entries have a path."""


def _tell_encoding(body: dict[str, Any]) -> None:
    """Paths that are not UTF-8 go out percent-escaped, and say so; in the message, too."""
    lists = (body[name] for name in WITH_PATHS if isinstance(body.get(name), list))
    for one in (body, *(one for listed in lists for one in listed)):
        path = one.get("path") if isinstance(one, dict) else None
        if isinstance(path, str) and is_escaped(path):
            one["path"], one["path_encoding"] = percent_escaped(path), "percent"
            body["message"] = body.get("message", "").replace(path, percent_escaped(path))


def _active(protection: Protection) -> dict[str, bool]:
    """The protections as `status` and `doctor` tell them."""
    found: dict[str, bool] = msgspec.to_builtins(protection)
    del found["folds_case"], found["sync_many"]  # what the file system is like, not protections
    return found


def _file_id(path: Path) -> tuple[int, int] | None:
    """Which file stands at the path; None: none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _NotYet(Exception):
    """The call cannot be decided now; come back at `at_s` (monotonic)."""

    def __init__(self, at_s: float) -> None:
        super().__init__()
        self.at_s = at_s


def _in_chain(put: Put | None, data: bytes) -> tuple[bytes | Text, str | None]:
    """The bytes, as a text where there is one, and the path whose delta chain they belong to."""
    return (data, None) if put is None else (put.text or data, put.path)
