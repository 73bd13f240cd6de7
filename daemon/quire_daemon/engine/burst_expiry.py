"""Expiry of bursts: ends bursts whose connection or process has ended, and records the end of expired ones.

Membership in a burst depends on record times (`quire_journal.views.bursts`), not on when the end is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.core import AnnouncedCall, Call
from quire_daemon.ops import ProcessId
from quire_daemon.server import CONNECTION, ConnectionBound, Connections
from quire_daemon.tools.evidence import CallEnd, by_its_command, verdicts
from quire_journal.model import OUTSIDE, BurstBegun, BurstEnded, Event, WriteAttributed, WriterId, journal_path
from quire_journal.views import PROCESS, RUN, Burst, claiming, over

SOON_NS: Final = 60_000_000_000
"""Nanoseconds for which a call without a reported end counts as running."""

STAMP_NS: Final = 12_000_000
"""Nanoseconds by which a file's time stamp may lag behind the clock (a kernel tick is 10 ms)."""


PATIENCE_NS: Final = 30_000_000_000
"""Longest delay in nanoseconds between the end of a process and of its burst, in which its last writes are found."""


class BurstExpiry:
    def __init__(
        self,
        server: Connections,
        recorder: Recorder,
        clock: Clock,
        has_ended: Callable[[ProcessId], bool],
        idle: Callable[[], bool],
    ) -> None:
        """`has_ended` says whether a process has ended. `idle` returns True if all outside writes found so far are
        journaled.
        """
        self._recorder, self._clock, self._has_ended, self._idle = recorder, clock, has_ended, idle
        self._bound = ConnectionBound(server, clock)  # burst → connection
        self._processes: dict[int, ProcessId] = {}  # by burst
        self._ended_ns: dict[int, int] = {}  # burst → when its process was found to have ended
        self._gone: Sequence[int] = ()  # bursts whose connections had ended at the last look

    def open(self) -> None:
        """Load the processes of open bursts, and end bursts bound to connections of an earlier run."""
        with self._recorder.history() as history:
            bursts = list(history.open_bursts())
            writers = {burst.number: history.writer(burst.writer) for burst in bursts if burst.bind == PROCESS}
        self._processes = {number: (one.pid, one.pid_start) for number, one in writers.items() if one is not None}
        for burst in bursts:
            if burst.bind == CONNECTION:
                self._recorder.note(BurstEnded(burst.number, "daemon"), WriterId(burst.writer))

    def noted(self, call: Call, events: Sequence[Event], seqs: Sequence[int]) -> None:
        for event, seq in zip(events, seqs, strict=True):
            if isinstance(event, BurstBegun) and event.bind == CONNECTION:
                self._bound[seq] = call.incoming.identity
            elif isinstance(event, BurstBegun) and event.bind == PROCESS and call.who.process is not None:
                self._processes[seq] = call.who.process
            elif isinstance(event, BurstEnded):
                self._bound.pop(event.burst, None)
                self._forget_process(event.burst)

    def open_runs(self, owner: bytes) -> dict[int, ProcessId]:
        """Return burst → process of each open `quire run` of the owner; a run whose process is unknown is left out."""
        if not self._processes:
            return {}
        with self._recorder.history() as history:
            runs = [one.number for one in history.open_bursts() if one.form == RUN and one.owner == owner]
        return {number: self._processes[number] for number in runs if number in self._processes}

    def hint(self, path: str, at_ns: int) -> str:
        """Return label and writer of the open burst that covers an outside write to `path` (as on disk) at `at_ns`; ""
        if no burst covers it, or several do.
        """
        with self._recorder.history() as history:
            bursts = [burst for burst in history.open_bursts() if burst.open_at(at_ns)]
            taking = claiming([burst for burst in bursts if burst.began_ns <= at_ns + STAMP_NS], (journal_path(path),))
            if len(taking) != 1:
                return ""
            return f"{taking[0].label or taking[0].form} ({history.named(taking[0].writer)})"

    def look(self) -> bool:
        """Add the end of bursts of ended connections to the next commit, and return True if there are any. After the
        commit, call `forget_gone`.
        """
        self._gone = self._bound.gone()
        if not self._gone:
            return False
        with self._recorder.history() as history:
            bursts = [burst for burst in history.open_bursts() if burst.number in self._gone]
        for burst in bursts:
            self._recorder.note(BurstEnded(burst.number, CONNECTION), WriterId(burst.writer))
        return True

    def forget_gone(self) -> None:
        self._bound.forget(self._gone)

    def tidy(self) -> None:
        """Add the end of all expired or ended bursts to the next commit."""
        self.look()
        self._look_at_processes()
        with self._recorder.history() as history:
            bursts = history.open_bursts()
        now_ns = self._clock.now_ns()
        for burst in bursts:
            if over(burst.expires_ns, now_ns):
                self._bound.pop(burst.number, None)
                for found in self._found(burst, now_ns):
                    self._recorder.note(found)
                self._recorder.note(BurstEnded(burst.number, "ttl"), OUTSIDE)

    def _look_at_processes(self) -> None:
        """End the bursts of ended processes, once their last writes are journaled or `PATIENCE_NS` have passed, and
        record who made these writes.
        """
        now_ns = self._clock.now_ns()
        for number, process in list(self._processes.items()):
            if number not in self._ended_ns:
                if self._has_ended(process):
                    self._ended_ns[number] = now_ns  # its last writes may be found later
            elif self._idle() or now_ns > self._ended_ns[number] + PATIENCE_NS:
                self._end_with_process(number, now_ns)
                self._forget_process(number)

    def _end_with_process(self, number: int, now_ns: int) -> None:
        with self._recorder.history() as history:
            burst = history.burst(number)
            if burst is None or burst.ended:
                return
            call = AnnouncedCall(number, burst.writer, burst.paths, (), burst.command)
            found = verdicts(CallEnd(burst, call, now_ns), history, by_its_command) if burst.outside else []
        for attributed in found:
            self._recorder.note(attributed)
        self._recorder.note(BurstEnded(number, PROCESS), WriterId(burst.writer))

    def _forget_process(self, number: int) -> None:
        self._processes.pop(number, None)
        self._ended_ns.pop(number, None)

    def _found(self, burst: Burst, now_ns: int) -> Sequence[WriteAttributed]:
        if not burst.outside or not (burst.paths or burst.command):
            return ()
        call = AnnouncedCall(burst.number, burst.writer, burst.paths, (), burst.command)
        end = CallEnd(burst, call, now_ns, until_ns=burst.began_ns + SOON_NS, is_reported=False)
        with self._recorder.history() as history:
            return verdicts(end, history, by_its_command)
