"""Queue of unanswered calls, and choice of the calls that a turn decides.

In one turn, each connection has one call decided, and each path has one writer (`gather`). The connection's next call
waits until the first one's files are on disk (`inflight`) and its reply can be sent (`socket`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from quire_daemon.commit import FailurePolicy, InFlight, InFlightWrite, Recorder
from quire_daemon.core import Call, Wait
from quire_daemon.engine.decide import Decider, Handover, Response
from quire_daemon.engine.respond import Responder
from quire_daemon.maintenance import SHUTDOWN
from quire_daemon.tools import FIELD, beside
from quire_daemon.watch import RETRY_S
from quire_journal.model import Refusal

MOST_CALLS: Final = 4096  # waiting calls
MOST_OF_ONE: Final = 256  # waiting calls of one connection: a flooding caller is refused before it crowds out others
LARGE_BYTES: Final = 64 << 10  # arguments of this size count towards MOST_BYTES; MOST_CALLS bounds smaller ones
MOST_BYTES: Final = 256 << 20  # total of the large arguments of waiting calls


class CallQueue:
    def __init__(
        self,
        decider: Decider,
        in_flight: InFlight,
        recorder: Recorder,
        responder: Responder,
        failures: FailurePolicy,
    ) -> None:
        self._decider, self._in_flight, self._recorder, self._clock = decider, in_flight, recorder, recorder.clock
        self._responder, self._failures = responder, failures
        self._calls: deque[Call] = deque()
        self._of: Counter[bytes] = Counter()  # number of waiting calls by connection

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def take(self, call: Call) -> None:
        """Add a call, or answer it `busy` if the queue is full. The call `shutdown` is always added."""
        full = self._full(call) if call.tool.name != SHUTDOWN.name else ""
        if full:
            message = f"{call.tool.name}: {full} wait for their turn already; nothing was done."
            self._responder.answer(call, Refusal("busy", message, "retry", retry_after_ms=1000).reply())
        else:
            self._calls.append(call)
            self._of[call.incoming.identity] += 1

    def _full(self, call: Call) -> str:
        if len(self._calls) >= MOST_CALLS:
            return f"{MOST_CALLS} calls"
        if self._of[call.incoming.identity] >= MOST_OF_ONE:
            return f"{MOST_OF_ONE} calls of this connection"
        size = _size(call)
        if size < LARGE_BYTES:
            return ""
        waiting = sum(large for large in map(_size, self._calls) if large >= LARGE_BYTES)
        return f"calls with {waiting >> 20} MiB" if waiting + size > MOST_BYTES else ""

    def again(self, call: Call) -> None:
        """Put a call that lost a race to another program at the head of the queue, to be decided again. Its long
        decision counts as outdated.
        """
        call.retry_s, call.thoughts = self._clock.mono_s() + RETRY_S, call.thoughts + 1
        self._calls.appendleft(call)

    def next_look_s(self, now: float) -> float:
        """Return the monotonic time at which the next waiting call can be decided, at most 60 s after `now`. Calls of
        connections with a write in flight or unread replies do not count.
        """
        behind, at = self._behind(), now + 60
        for call in self._calls:
            if call.incoming.identity not in behind:
                behind.add(call.incoming.identity)
                at = min(at, now if self._has_news(call) else call.retry_s or now)
        return at

    def decide(self) -> list[InFlightWrite]:
        now = self._clock.mono_s()
        waiting: deque[Call] = deque()
        going: list[InFlightWrite] = []
        callers = self._behind()
        self._decider.begin_turn()
        try:
            self._decide_each(now, callers, waiting, going)
        except MemoryError as error:  # no memory for a reply; earlier decisions of this turn are still performed
            self._failures.limited("decide", "memory", error)
        finally:
            self._calls = waiting + self._calls
            self._of = Counter([call.incoming.identity for call in self._calls])
        return [*filter(self._is_noted, going)]

    def _decide_each(self, now: float, callers: set[bytes], waiting: deque[Call], going: list[InFlightWrite]) -> None:
        while self._calls:
            call = self._calls.popleft()
            if (call.retry_s > now and not self._has_news(call)) or call.incoming.identity in callers:
                waiting.append(call)
                callers.add(call.incoming.identity)
                continue
            callers.add(call.incoming.identity)
            call.news_head = -1
            try:
                match outcome := self._decide(call):
                    case Wait(until_s):
                        call.retry_s = until_s
                        waiting.append(call)
                    case Response(reply):
                        self._responder.answer(call, reply)
                    case InFlightWrite():
                        going.append(outcome)
            except Refusal as refused:
                self._responder.refuse(call, refused)
            except Exception as error:  # noqa: BLE001  a fault in one call becomes the answer to that call
                told = self._failures.left_open if self._in_flight.is_untold(call) else self._failures.told
                self._responder.answer(call, told(call.tool.name, error))

    def _behind(self) -> set[bytes]:
        return self._in_flight.callers.union(self._responder.unread)

    def _is_noted(self, one: InFlightWrite) -> bool:
        """Return True if the records of this write still await their commit. If the failed commit of another call
        dropped them, answer the call with the error and return False.
        """
        failure = self._recorder.failure(one.commit)
        if failure is not None:
            self._responder.answer(one.call, self._failures.told(one.call.tool.name, failure))
        return failure is None

    def _has_news(self, call: Call) -> bool:
        return call.news_head >= 0 and call.news_head != self._recorder.journal.head

    def _decide(self, call: Call) -> InFlightWrite | Response | Wait | Handover:
        try:
            self._check_time(call)
            return self._decider.decide(call)
        except Refusal as refused:
            if FIELD not in refused.details:
                with self._recorder.history() as history:
                    refused.details = beside(refused.details, call.who.key, history)
            raise

    def _check_time(self, call: Call) -> None:
        if call.deadline_ns and self._clock.now_ns() > call.deadline_ns:
            self._decider.give_up(call)
            raise Refusal(
                "expired",
                f"{call.tool.name}: the caller's deadline had passed before its turn came; nothing was done.",
                "retry",
            )

    def end(self) -> None:
        """Refuse the waiting calls that write, search or have a long decision, as the daemon stops."""
        thought = [call for call in self._calls if call.thought is not None]
        self._decider.stop_work()
        for call in self._calls:
            if call.tool.writes or call.ticket or call in thought:
                message = f"{call.tool.name}: the daemon stops before this call's turn came; nothing was done."
                self._responder.refuse(call, Refusal("busy", message, "retry", retry_after_ms=500))
        self._calls.clear()


def _size(call: Call) -> int:
    request = call.incoming.request
    return 0 if request is None else len(memoryview(request.args))
