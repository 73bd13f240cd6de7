"""Queue of waiting lease claims, and release of leases whose connection has ended.

A waiting claim is decided again every `AGAIN_S`, after earlier claims, and granted only if its caller is still
connected. ZeroMQ does not report the end of a connection, but sending on it fails then. So before a decision that a
bound lease could change, its connection is sent a reply without a request (`Server.reaches`), which clients drop. A
lease may outlive its connection by `LOOK_S`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quire_daemon.clock import Clock
from quire_daemon.commit import Recorder
from quire_daemon.core import Call, Wait, World
from quire_daemon.server import CONNECTION, ConnectionBound, Connections
from quire_daemon.tools.leases import ClaimParams, wanted_lease
from quire_journal.model import OUTSIDE, Event, LeaseExpired, LeaseGranted, LeaseReleased, Refusal, WriterId
from quire_journal.views import Lease

AGAIN_S: Final = 0.02  # seconds between two decisions of a waiting claim

_ENDED: Final = "connection_ended"


class LeaseQueue:
    def __init__(self, server: Connections, recorder: Recorder, clock: Clock) -> None:
        self._server, self._recorder, self._clock = server, recorder, clock
        self._queue: dict[int, Lease] = {}  # id of the call → wanted lease, in order of arrival
        self._bound = ConnectionBound(server, clock)  # lease → connection
        self._gone: Sequence[int] = ()  # leases whose connections had ended at the last look
        self._unknown = False  # True if the introduction of a waiting caller may not be committed yet

    def open(self) -> None:
        """Release the leases bound to connections of an earlier run."""
        with self._recorder.history() as history:
            for lease in history.leases():
                if lease.bind == CONNECTION and not lease.broken:
                    self._release(lease)

    # ── the queue ──

    def before(self, call: Call) -> Sequence[Lease]:
        """Return the leases wanted by claims that wait before `call` in the queue; by all, if `call` does not wait."""
        ahead = []
        for waiting, lease in self._queue.items():
            if waiting == id(call):
                break
            ahead.append(lease)
        return ahead

    def wait(self, call: Call, refused: Refusal, world: World) -> Wait | None:
        """Return a `Wait` if a claim, `refused` for a held lease, still has time to wait for it; else None."""
        if refused.code != "lease_held" or not isinstance(call.params, ClaimParams) or not call.params.wait_ms:
            return None
        now = self._clock.mono_s()
        if id(call) not in self._queue:
            if call.params.renew is not None:
                return None
            self._queue[id(call)] = wanted_lease(call.params, world)
            call.news_until_s = now + call.params.wait_ms / 1000
            self._unknown = True
        if now >= call.news_until_s:
            refused.details["waited_ms"] = call.params.wait_ms
            return None
        return Wait(min(now + AGAIN_S, call.news_until_s))

    def require_caller(self, call: Call) -> None:
        """Raise `Refusal` if the caller of a waiting claim is no longer connected."""
        if id(call) in self._queue and not self._server.reaches(call.incoming.identity):
            raise Refusal("expired", f"{call.tool.name}: its caller has gone; nothing was done.", "retry")

    def answered(self, call: Call) -> None:
        self._queue.pop(id(call), None)

    # ── connections and time ──

    def noted(self, call: Call, events: Sequence[Event], seqs: Sequence[int]) -> None:
        """Remember the connection of each granted lease that ends with its connection."""
        for event, seq in zip(events, seqs, strict=True):
            if isinstance(event, LeaseGranted) and event.bind == CONNECTION:
                self._bound[seq] = call.incoming.identity

    def look(self) -> bool:
        """Add the release of leases of ended connections to the next commit; return True if there is something to
        commit, also a new waiting caller's identity. After the commit, call `forget_gone`.
        """
        noted, self._unknown = self._unknown, False
        self._gone = self._bound.gone()
        if not self._gone:
            return noted
        with self._recorder.history() as history:
            leases = [history.lease(number) for number in self._gone]
        for lease in leases:
            if lease is not None and not lease.broken:
                self._release(lease)
        return True

    def forget_gone(self) -> None:
        self._bound.forget(self._gone)

    def tidy(self) -> None:
        """Add the end of expired leases to the next commit, and forget connections of ended leases."""
        with self._recorder.history() as history:
            leases = history.leases()
        for number in {*self._bound} - {lease.number for lease in leases}:
            del self._bound[number]
        for lease in leases:
            if lease.over_at(self._clock.now_ns()):
                self._recorder.note(LeaseExpired(lease.number, lease.path), OUTSIDE)

    def _release(self, lease: Lease) -> None:
        self._recorder.note(LeaseReleased(lease.number, lease.path, _ENDED), WriterId(lease.writer))
