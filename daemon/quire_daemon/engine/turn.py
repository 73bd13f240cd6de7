"""One pass of the main loop, from new requests to their replies.

Theory of operation. One thread takes turns. A turn has these steps, each in its own module:

    admit    a request becomes a call, with its tool and its caller (`admission`), and waits in the queue (`call_queue`)
    observe  outside changes are read: git, the watcher's events, results of threads (`App` lists these looks)
    decide   the call's files are gathered (`gather`) and reconciled with the journal (`request_files`); the tool
             decides, and the records are added to the next commit (`decide`)
    commit   the records and new bytes of all decisions go into the write-ahead log, synced; meanwhile the new bytes
             are written into temporary files and synced (`perform`, `stage`)
    swap     each temporary file replaces the file that the decision saw, if that is unchanged (`perform`)
    respond  the reply is sent (`respond`); then the writes of the next call are swapped
    settle   the next commit is to record that the writes are on disk (`inflight`); the log is folded into the tables
             and views of the journal (`Performer.fold`); chores are done

So no reply says `ok` to work that a kill -9 could undo, and nothing is displaced that the log does not hold. Within
`decide`, an outside change is committed when a look at the file finds it, and a decision without writes before its
reply. After a lost race, the records are abandoned in the log, then the call is decided again. A start completes the
writes that have no recorded outcome (`startup.recovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from quire_daemon.commit import FailurePolicy, InFlight, InFlightWrite, Recorder
from quire_daemon.config import LiveSettings
from quire_daemon.core import Call, IncomingRequest
from quire_daemon.engine.admission import Admission
from quire_daemon.engine.call_queue import CallQueue
from quire_daemon.engine.perform import MANY, DiskFailure, Done, InPart, LostRace, Outcome, Performer
from quire_daemon.engine.respond import Responder
from quire_daemon.watch import Watcher
from quire_journal.model import Refusal, limits
from quire_journal.storage import StoreFailure

MOST_QUIET_WRITES: Final = 64
"""Number of short writes up to which the watcher pauses until all are answered. The kernel queues events meanwhile, up
to 16,384.
"""


ASKING_S: Final = 0.1
"""Seconds after a request about a file for which writes of many files have shorter slices."""

Step = Callable[[], None]


class Turn:
    def __init__(
        self,
        admission: Admission,
        queue: CallQueue,
        execution: Execution,
        in_flight: InFlight,
        mono_s: Callable[[], float],
        admitted: Callable[[Call], None],
        observe: Sequence[Step],
        settle: Sequence[Step],
    ) -> None:
        """`admitted` is called with each new call; `observe` and `settle` are the steps of every turn."""
        self._admission, self._queue, self._execution = admission, queue, execution
        self._in_flight, self._mono_s, self._admitted = in_flight, mono_s, admitted
        self._observations, self._settlements = observe, settle

    def take(self, incoming: Sequence[IncomingRequest]) -> None:
        self._admit(incoming)
        self._observe()
        decided = self._queue.decide()
        self._carry_out(decided)
        self._settle()

    def _admit(self, incoming: Sequence[IncomingRequest]) -> None:
        for one in incoming:
            call = self._admission.accept(one)
            if call is not None:
                self._admitted(call)
                self._queue.take(call)

    def _observe(self) -> None:
        for look in self._observations:
            look()

    def _carry_out(self, decided: Sequence[InFlightWrite]) -> None:
        goes_on = self._execution.goes_on  # long writes that begin in this turn go on in the next
        if decided:
            self._execution.begin(decided)
        self._in_flight.turn_over()
        if goes_on:
            self._execution.go_on(hurried=self._mono_s() - self._admission.asked_s < ASKING_S)

    def _settle(self) -> None:
        for step in self._settlements:
            step()


class Execution:
    def __init__(
        self,
        performer: Performer,
        recorder: Recorder,
        in_force: LiveSettings,
        watcher: Watcher,
        waiting: CallQueue,
        responder: Responder,
        failures: FailurePolicy,
    ) -> None:
        self._performer, self._recorder, self._in_force, self._watcher = performer, recorder, in_force, watcher
        self._waiting, self._responder, self._failures = waiting, responder, failures

    @property
    def goes_on(self) -> bool:
        return self._performer.patience_s() is not None

    def begin(self, going: Sequence[InFlightWrite]) -> None:
        """Commit and perform decisions, then answer their calls; `go_on` answers long ones."""
        try:
            outcomes = self._performer.perform(going, self._in_force.now.journal.durability == "strict")
        except Exception as error:  # noqa: BLE001  nothing was written; also where no thread can begin
            # If the log has a call's records from an earlier commit, or from this one though its sync failed, the next
            # start performs the writes: that caller gets `unknown`, the others `not_applied`.
            nothing_told = isinstance(error, StoreFailure) and not error.unsure
            told_again = self._is_told_as_not_made(error)
            for one in going:
                untold = told_again or (nothing_told and self._recorder.failure(one.commit) is not None)
                told = self._failures.told if untold else self._failures.left_open
                self._responder.answer(one.call, told(one.call.tool.name, error))
            return
        short = sum(len(one.decision.writes) for one in going if len(one.decision.writes) < MANY)
        with self._watcher.quiet() if short <= MOST_QUIET_WRITES else nullcontext():
            for one, outcome in outcomes:
                self._answer(one, outcome)

    def _is_told_as_not_made(self, error: Exception) -> bool:
        """Return True if a limit of the system (such as threads) stopped the turn before its first write, and the log
        now records that no file was written.
        """
        if isinstance(error, StoreFailure) or not limits.reached(error):
            return False
        try:
            self._performer.commit_noted()
        except Exception:  # noqa: BLE001  a later commit records it; until then the outcome is unknown
            return False
        return True

    def go_on(self, hurried: bool) -> None:
        with self._watcher.quiet():  # the slice causes few events, and their reader would slow it down
            ended = [*self._performer.go_on(hurried)]
        for one, outcome in ended:
            self._answer(one, outcome)

    def finish(self) -> None:
        """Finish all long writes, and answer their calls."""
        for one, outcome in self._performer.finish():
            self._answer(one, outcome)

    def _answer(self, one: InFlightWrite, outcome: Outcome) -> None:
        call = one.call
        if isinstance(outcome, Done):
            reply: dict[str, Any] = dict(one.decision.reply)
            if outcome.warnings:
                reply["warnings"] = [*reply.get("warnings", ()), *outcome.warnings]
            self._responder.answer(call, reply)
        elif isinstance(outcome, DiskFailure) and isinstance(outcome.error, Refusal):
            self._responder.refuse(call, outcome.error)
        elif isinstance(outcome, DiskFailure):
            self._responder.answer(call, self._failures.told(call.tool.name, outcome.error))
        elif isinstance(outcome, LostRace):
            self._try_again(one, outcome.paths)
        elif isinstance(outcome, InPart):
            self._responder.answer(call, self._failures.in_part(call.tool.name, outcome.error, outcome.paths))
        elif outcome.in_doubt:
            self._responder.answer(call, self._failures.in_doubt(call.tool.name, outcome.error))
        else:
            self._responder.answer(call, self._failures.left_open(call.tool.name, outcome.error))

    def _try_again(self, one: InFlightWrite, paths: Sequence[str]) -> None:
        call, writes = one.call, len(one.decision.writes)
        if call.lost.lose(paths, several=writes > 1, long=writes >= MANY):
            self._waiting.again(call)
            return
        path = paths[0]
        message = f"{path} is rewritten by another program faster than it can be edited; try again."
        self._responder.refuse(call, Refusal("busy", message, "retry", path=path, retry_after_ms=250))
