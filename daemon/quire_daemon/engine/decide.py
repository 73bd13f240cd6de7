"""Decision about a call: gather its files, let its tool decide, and add its records to the next commit.

The outcome is an `InFlightWrite`; a `Response`, if no file is written; a `Handover` to a service; or a `Wait` (for
files, the watcher, new records, a lease, a search, git, or a long decision).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from quire_daemon.checks import SyntaxChecker
from quire_daemon.commit import FailurePolicy, InFlightWrite, ProvisionalSeqs, RecordChunks
from quire_daemon.core import Call, Decision, LookProgress, NeedsCommits, Put, Wait, World, Write
from quire_daemon.engine.announced_calls import AnnouncedCalls
from quire_daemon.engine.burst_expiry import BurstExpiry
from quire_daemon.engine.gather import Gatherer, WatcherBarrier
from quire_daemon.engine.idempotency import answered_before, to_keep
from quire_daemon.engine.kept_reads import KeptReads
from quire_daemon.engine.lease_queue import LeaseQueue
from quire_daemon.engine.long_decisions import LongDecisions
from quire_daemon.engine.perform import MANY, most_open, require_room
from quire_daemon.engine.presence import Presence
from quire_daemon.engine.respond import BEHIND
from quire_daemon.engine.searches import DeferredCommits, DeferredSearches
from quire_daemon.maintenance import SERVICES, ServiceHost
from quire_daemon.tools import decided
from quire_daemon.tools.leases import warnings
from quire_daemon.tools.undo import PlanTokens
from quire_daemon.watch import RETRY_S, Observer, RootGuard
from quire_daemon.workers.regex import NeedsSearch
from quire_journal.history import History
from quire_journal.model import EditRefused, Event, ReadServed, Refusal, Seq, WrittenApart
from quire_journal.storage import StoreFailure
from quire_journal.text import Text
from quire_journal.views import TOOL_WRITES

_READ_ONLY: Final = "read_only"

MOST_WAIT_S: Final = 60.0  # upper bound of `wait_ms` of a call


class Response(msgspec.Struct, frozen=True):
    reply: dict[str, Any]


class Handover(msgspec.Struct, frozen=True):
    """Outcome: a service (`SERVICES`) has taken the call, and answers it later."""


class Decider:
    """Decides calls. Only for the main loop's thread."""

    def __init__(
        self,
        host: ServiceHost,
        observer: Observer,
        gatherer: Gatherer,
        barrier: WatcherBarrier,
        lease_queue: LeaseQueue,
        burst_expiry: BurstExpiry,
        announced_calls: AnnouncedCalls,
        presence: Presence,
        failures: FailurePolicy,
        standing: RootGuard,
        long_decisions: LongDecisions,
        searches: DeferredSearches,
        commits: DeferredCommits,
        grammars: SyntaxChecker,
    ) -> None:
        self._host, self._observer, self._recorder, self._clock = host, observer, observer.recorder, host.clock
        self._gatherer, self._barrier = gatherer, barrier
        self._lease_queue, self._burst_expiry, self._presence = lease_queue, burst_expiry, presence
        self._announced_calls = announced_calls
        self._failures, self._standing, self._searches = failures, standing, searches
        self._long_decisions, self._numbers = long_decisions, ProvisionalSeqs.drawn()
        self._commits, self._grammars, self.kept_reads = commits, grammars, KeptReads(observer)
        self._taken: set[tuple[bytes, bytes]] = set()  # operation ids and idempotency keys of this turn
        self._plans = PlanTokens()
        self._left: tuple[tuple[int, int], object] = (0, 0), None  # (newest record, purges), what a decision left
        self._first_event_ns = 0

    def open(self) -> None:
        """Read the time of the first record, from which deprecation windows count."""
        with self._recorder.history() as history:
            first = history.record(1)
        self._first_event_ns = first.at_ns if first else self._clock.now_ns()

    def begin_turn(self) -> None:
        """Begin a turn: release all operation ids and keys but those in flight, and run long decisions for one time
        slice.
        """
        self._taken = self._observer.in_flight.operations
        self._long_decisions.begin_turn()

    def decide(self, call: Call) -> InFlightWrite | Response | Wait | Handover:
        """Return the outcome of a call (see the head of the module). Raises `Refusal` if it is declined."""
        if (kept := self.kept_reads.find(call)) is not None:
            self._presence.named(call.who, (kept.path,))
            return Response(dict(kept.reply))
        with self._recorder.history():  # one read transaction for all queries, until a commit
            return self._decide(call)

    def _decide(self, call: Call) -> InFlightWrite | Response | Wait | Handover:
        call.params = self._plans.meant(call.params)
        self._gatherer.name_inside(call)
        service = SERVICES.get(call.tool.name)
        if service is not None:
            service.run(call, self._host)
            return Handover()
        if call.tool.writes:
            self._failures.require_edits_taken()
            self._standing.require_root()
            if (wait := self._reserve_marks(call)) is not None:
                return wait
        if not call.caught_up:
            if call.tool.catch_up and (wait := self._barrier.wait(call)) is not None:
                return wait
            if call.tool.all_noted:
                self._commit_noted()
        if call.tool.writes:
            repeated = self._answered_before(call)
            if repeated is not None:
                return Response(repeated)
        if call.thought is not None and call.thought.about == _READ_ONLY and call.thought.ended:
            looks = LookProgress()
        else:
            looked = self._gatherer.looks(call)
            if isinstance(looked, Wait):
                return looked
            looks = looked
            self._make_known(call, looks)
        decision = self._decision(call, looks)
        if isinstance(decision, Wait):
            return decision
        decision = replace(decision, reply=self._plans.shortened(decision.reply))
        if call.who.apart and any(isinstance(event, TOOL_WRITES) for event in decision.events):
            decision = replace(decision, events=[*decision.events, WrittenApart(call.who.apart)])
        if decision.writes:
            self._require_that_it_can_be_written(decision.writes)
            if self._numbers.has(decision.writes[0].seq):
                return self._numbered(call, decision, looks)
        self.kept_reads.keep(call, looks.files.get(getattr(call.params, "path", "")), decision)
        return self._wait_for_news(call, decision) or self._going(call, decision)

    def _make_known(self, call: Call, looks: LookProgress) -> None:
        self._presence.named(call.who, [now.path for now in looks.files.values()])
        if not self._failures.read_only:
            self._look_at_connections()
        if (call.tool.writes or call.tool.journals) and not self._failures.read_only:
            self._recorder.introduce(call.who.writer)

    def _decision(self, call: Call, looks: LookProgress) -> Decision | Wait:
        """Return the tool's decision, or a `Wait` if it needs a search, git or more time. Raises `Refusal`."""
        try:
            if call.tool.long:
                return self._thought_out(call, looks)
            with self._recorder.history() as history:
                return self._under_leases(call, self._world(call, looks, history))
        except NeedsSearch as needs:
            return self._searches.wait(call, needs.search)
        except NeedsCommits as needs:
            return self._commits.wait(call, needs.files)

    def _thought_out(self, call: Call, looks: LookProgress) -> Decision | Wait:
        """Return the decision of a tool that may take long (`long_decisions`), or a `Wait`. A decision to write is
        begun again if one of its files has changed meanwhile.
        """

        def work(history: History, apart: bool) -> Decision:
            world = replace(self._world(call, looks, history), files=files)
            return decided(call.tool, call.params, replace(world, next_seq=self._numbers.first) if apart else world)

        files = dict(looks.files)
        carried_out = call.tool.writes and not any(getattr(call.params, name, False) for name in ("plan", "dry_run"))
        about = (looks.asked, *files.items(), *looks.kept_off.items()) if carried_out else _READ_ONLY
        if call.thought is not None and call.thought.about != about:
            self._long_decisions.thought_in_vain(call)
        thought = self._long_decisions.think(call, about, work)
        if isinstance(thought, Wait):
            call.looks = looks
            return thought
        decision, head = thought
        if decision.left is not None:
            self._left = (head, self._recorder.purges), decision.left
        return decision

    def _in_portions(self, call: Call, decision: Decision) -> InFlightWrite:
        keep = partial(to_keep, call) if call.key else None
        portions = RecordChunks(decision, self._numbers, self._recorder, call.who.writer, call.op, keep)
        batch, commit = self._recorder.next_seq, self._recorder.next_commit
        portions.note()
        going = InFlightWrite(call, decision, (), batch, commit, portions)
        self._observer.in_flight.decided(going)
        return going

    def _numbered(self, call: Call, decision: Decision, looks: LookProgress) -> InFlightWrite | Response:
        """Return the decision as an outcome, with final record numbers for provisional ones, after a check of its
        writes against current leases. Raises `Refusal`.
        """
        with self._recorder.history() as history:
            world = self._world(call, looks, history)
            held = [one for one in history.leases() if one.expires_ns > world.now_ns]
            if held:
                warnings(decision.writes, held, world)
        if len(decision.writes) >= MANY:
            return self._in_portions(call, decision)
        seqs = range(self._recorder.next_seq, self._recorder.next_seq + len(decision.events))
        events = [self._numbers.event(event, seqs) for event in decision.events]
        writes = [self._numbers.write(write, seqs) for write in decision.writes]
        reply = self._numbers.reply(decision.reply, seqs)
        return self._going(call, Decision(reply, events, writes, decision.blobs, emptied=decision.emptied))

    def _answered_before(self, call: Call) -> dict[str, Any] | None:
        try:
            self._observer.in_flight.tell_before_repeat(call)
        except StoreFailure as error:
            return self._failures.left_open(call.tool.name, error)
        with self._recorder.history() as history:
            return answered_before(call, history, self._clock.now_ns(), self._observer.in_flight.batches)

    def _world(self, call: Call, looks: LookProgress, history: History) -> World:
        if self._left[0] != (int(history.head()), self._recorder.purges):
            self._left = (0, 0), None
        return World(
            now_ns=self._clock.now_ns(),
            who=call.who,
            settings=self._observer.settings,
            files=looks.files,
            history=history,
            next_seq=self._recorder.next_seq,
            first_event_ns=self._first_event_ns,
            health=self._health(call),
            grammars=self._grammars,
            found=call.found,
            commits=self._commits.answer,
            git=self._commits.answer,
            commits_awaited=self._commits.awaited(call),
            present=self._presence.now() if call.tool.needs_presence else {},
            queue=self._lease_queue.before(call),
            kept_off=looks.kept_off,
            implied=looks.implied,
            landed=self._observer.in_flight.landed,
            being_written=self._observer.in_flight.batches,
            unsure=self._failures.unsure or bool(self._recorder.journal.unfolded),
            announced=self._announced_calls.told,
            left=self._left[1],
        )

    def _require_that_it_can_be_written(self, writes: Sequence[Write]) -> None:
        if why := self._observer.workspace.read_only:
            path = writes[0].path
            message = (
                f"{path} cannot be written: this checkout can only be read ({why.lower()}). Nothing was changed. "
                "Make it writable for the daemon's user, and call again."
            )
            raise Refusal("permission_denied", message, "check_permissions", path=path)
        if len(writes) > 1:
            require_room(len(writes), most_open())

    def _going(self, call: Call, decision: Decision) -> InFlightWrite | Response:
        done = bool(decision.reply.get("ok")) and not decision.reply.get("dry_run")
        if call.key and done and not self._failures.read_only:
            events: Sequence[Event] = (*decision.events, to_keep(call, decision.reply))
        else:
            events = self._worth_noting(call, decision.events)
        lasting = bool(decision.writes) or bool(events and call.tool.writes and decision.reply.get("ok"))
        seqs = self._note(call, events, lasting)
        writes = decision.writes if decision.blobs else ()
        puts = {id(write.data): write for write in writes if isinstance(write, Put)}
        for data in decision.blobs:
            self._recorder.note_blob(*_in_chain(puts.get(id(data)), data))
        if not decision.writes:
            if decision.blobs or lasting:
                self._recorder.commit()  # a success without file writes must be durable, too
            # after the commit: if it fails, other records get these numbers
            self._lease_queue.noted(call, events, seqs)
            self._burst_expiry.noted(call, events, seqs)
            self._announced_calls.noted(events)
            if decision.announced is not None and events:
                self._announced_calls.begin(decision.announced)
            return Response(dict(decision.reply))
        going = InFlightWrite(call, decision, seqs, seqs[0], self._recorder.next_commit)
        self._observer.in_flight.decided(going)
        return going

    def _health(self, call: Call) -> dict[str, Any]:
        if call.tool.needs_health:
            return self._host.health()
        if not call.tool.needs_coverage:
            return {}
        coverage = self._host.coverage()
        if call.behind:
            coverage |= {"state": "degraded", "reasons": [*coverage["reasons"], BEHIND]}
        return {"coverage": coverage}

    def _under_leases(self, call: Call, world: World) -> Decision | Wait:
        try:
            decision = decided(call.tool, call.params, world)
        except Refusal as refused:
            wait = self._lease_queue.wait(call, refused, world)
            if wait is None:
                raise
            return wait
        self._lease_queue.require_caller(call)
        return decision

    def _worth_noting(self, call: Call, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events to record: none while the journal is read-only, no repeated read, no refusal beyond the
        rate limit.
        """
        writer = call.who.writer
        if self._failures.read_only:
            return ()
        if not call.tool.writes:
            events = [event for event in events if not self._recorder.told(event, writer)]
        if any(isinstance(event, EditRefused) for event in events) and not self._recorder.takes_refusal(writer):
            return [event for event in events if isinstance(event, ReadServed)]
        return events

    def _note(self, call: Call, events: Sequence[Event], lasting: bool) -> tuple[Seq, ...]:
        batch = self._recorder.next_seq
        op = call.op if lasting else b""
        note, writer = self._recorder.note, call.who.writer
        return tuple([note(event, writer, batch, b"" if i else op) for i, event in enumerate(events)])

    def _reserve_marks(self, call: Call) -> Wait | None:
        """Reserve the call's operation id and key for this turn. Returns None, or a `Wait` if another call has reserved
        one of them.
        """
        marks = call.marks
        if marks & self._taken:
            # a call of many writes holds its marks over several turns (`inflight`)
            return Wait(self._clock.mono_s() + RETRY_S)
        self._taken |= marks
        return None

    def _wait_for_news(self, call: Call, decision: Decision) -> Wait | None:
        """Return a `Wait` if a `since` call has found no record and its `wait_ms` are not over, else None. The call's
        cursor advances past filtered records.
        """
        wait_ms = getattr(call.params, "wait_ms", 0) or 0
        reply = decision.reply
        if not wait_ms or reply.get("records", True) or not reply.get("ok") or reply.get("fresh"):
            return None
        now = self._clock.mono_s()
        call.news_until_s = call.news_until_s or now + min(wait_ms / 1000, MOST_WAIT_S)
        if now < call.news_until_s and call.params.cursor is not None:
            call.params = msgspec.structs.replace(call.params, cursor=reply["cursor"])
            call.news_head = 0 if reply.get("more") else self._recorder.journal.head
            return Wait(call.news_until_s)
        return None

    def _look_at_connections(self) -> None:
        """End leases and bursts whose connection has closed."""
        try:
            noted = self._lease_queue.look(), self._burst_expiry.look()
        except StoreFailure as error:
            self._failures.store_failed(error)
            return
        if any(noted) and self._commit_noted():
            self._lease_queue.forget_gone()
            self._burst_expiry.forget_gone()

    def _commit_noted(self) -> bool:
        """Commit pending events and return True; False if the store fails, or the journal is read-only already."""
        if self._failures.read_only:
            return False
        try:
            if self._recorder.waiting:
                self._recorder.commit()
        except StoreFailure as error:
            self._failures.store_failed(error)
            return False
        return True

    def give_up(self, call: Call) -> None:
        self._searches.give_up(call)
        self._long_decisions.give_up(call)

    def stop_work(self) -> None:
        """Stop searches, questions to git and long decisions; their calls stay in the queue."""
        for work in (self._searches, self._commits, self._long_decisions):
            work.close()

    def close(self) -> None:
        self._grammars.close()


def _in_chain(put: Put | None, data: bytes) -> tuple[bytes | Text, str | None]:
    return (data, None) if put is None else (put.text or data, put.path)
