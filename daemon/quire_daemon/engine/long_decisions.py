"""Long decisions, made in slices between which other calls are served.

Theory of operation. A decision is a pure function, so one that takes more than a few milliseconds is aborted and begun
again in a `Fiber` on a snapshot of the journal. Each turn of the loop gives one slice to one fiber. The work pauses at
reads of the journal (`PausingTransaction`) and comparisons of texts (`quire_journal.model.pause_points`). The result is
valid for the snapshot (`LongThought.head`); `decide` checks that its files are unchanged. A purge restarts every fiber.
If the system gives no thread, the decision is made in one piece.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from quire_daemon.commit import Recorder
from quire_daemon.core import Call, LongThought, Wait
from quire_daemon.watch import RETRY_S
from quire_daemon.workers import Fiber, Pause
from quire_journal.history import History
from quire_journal.model import pause, pausing
from quire_journal.storage import ReadTransaction

T = TypeVar("T")

SLICE_S: Final = 0.004

TRIED_S: Final = 0.003
"""Seconds after which a decision in the loop is begun again in a fiber."""

MOST_TRIED_S: Final = 0.004
"""Seconds of one turn for all decisions tried in the loop."""

MOST_THOUGHTS: Final = 8
"""Number of a call's outdated results, after which its decision is made in one piece."""

MOST_FIBERS: Final = 32
"""Maximum number of fibers; each is a thread with a snapshot of the journal."""


class TooLong(BaseException):
    """Aborts a decision that takes too long in the loop."""


class PausingTransaction:
    """Read transaction that calls `pause` at each `get`, `values` and scanned pair."""

    def __init__(self, reading: ReadTransaction) -> None:
        self._reading = reading
        self.known: dict[Any, Any] = reading.known

    def get(self, table: str, key: bytes) -> bytes | None:
        pause()
        return self._reading.get(table, key)

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for pair in self._reading.scan(table, start, stop, reverse):
            pause()
            yield pair

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        pause()
        return self._reading.values(table, start, most)

    def count(self, table: str) -> int:
        return self._reading.count(table)

    def empty(self, table: str) -> bool:
        return self._reading.empty(table)

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        return self._reading.packed(pack, at, size)


class LongDecisions:
    """Runs long decisions in slices. Only for the main loop's thread."""

    def __init__(
        self, recorder: Recorder, mono_s: Callable[[], float], begin_fiber: Callable[..., Fiber[Any]] = Fiber
    ) -> None:
        self._recorder, self._clock, self._mono_s = recorder, recorder.clock, mono_s
        self._begin_fiber = begin_fiber
        self._going: deque[tuple[Call, LongThought]] = deque()  # the next fiber to run is first
        self._left_s = MOST_TRIED_S  # seconds left in this turn for decisions tried in the loop

    def begin_turn(self) -> None:
        """Give one slice to the next fiber; if it ends, its call is decided in this turn."""
        self._left_s = MOST_TRIED_S
        if self._going:
            call, thought = self._going.popleft()
            if thought.fiber.go_on(SLICE_S):
                call.retry_s = 0.0
            else:
                self._going.append((call, thought))

    def patience_s(self) -> float | None:
        """Return the seconds until the loop must run again: 0.0 while a long decision runs, None without one."""
        return 0.0 if self._going else None

    def think(self, call: Call, about: object, work: Callable[[History, bool], T]) -> tuple[T, int] | Wait:
        """Return the result of `work` and the newest record that it saw, or a `Wait` while it runs. Raises what `work`
        raises.

        Work begun for another value of `about` (its inputs, such as files) is dropped. The second argument of `work` is
        True in a fiber, during which the journal may advance.
        """
        thought = call.thought
        if thought is not None and (thought.about != about or thought.purges != self._recorder.purges):
            self.give_up(call)
            thought = None
        if thought is None:
            return self._try(call, about, work)
        if not thought.ended:
            return Wait(self._deadline_s(call))
        call.thought = None
        return thought.fiber.result(), thought.head

    def thought_in_vain(self, call: Call) -> None:
        """Count an outdated result of the call; after `MOST_THOUGHTS` of them its decision is made in one piece."""
        call.thoughts += 1

    def _try(self, call: Call, about: object, work: Callable[[History, bool], T]) -> tuple[T, int] | Wait:
        if call.thoughts >= MOST_THOUGHTS:
            return self._in_one_piece(work)
        began_s = self._mono_s()
        if self._left_s <= 0.0:
            return Wait(began_s)
        until_s = began_s + TRIED_S

        def limit() -> None:
            if self._mono_s() >= until_s:
                raise TooLong

        try:
            with self._recorder.history_apart(PausingTransaction) as history, pausing(limit):
                return work(history, False), self._recorder.journal.head
        except TooLong:
            return self._begin(call, about, work)
        finally:
            self._left_s -= self._mono_s() - began_s

    def _in_one_piece(self, work: Callable[[History, bool], T]) -> tuple[T, int]:
        with self._recorder.history_apart(PausingTransaction) as history:
            return work(history, False), self._recorder.journal.head

    def _begin(self, call: Call, about: object, work: Callable[[History, bool], T]) -> tuple[T, int] | Wait:
        if len(self._going) >= MOST_FIBERS:
            return Wait(self._mono_s() + RETRY_S)

        def run(called: Pause) -> T:
            with self._recorder.history_apart(PausingTransaction) as history, pausing(called):
                return work(history, True)

        self._recorder.journal.publish()  # other threads see only published records
        try:
            fiber = self._begin_fiber(run, self._mono_s)
        except RuntimeError:  # the system gives no thread, perhaps for long: a wait could last until the deadline
            return self._in_one_piece(work)
        fiber.go_on(0.0)  # the fiber takes its snapshot of the journal now
        call.thought = LongThought(about, fiber, self._recorder.journal.head, self._recorder.purges)
        self._going.append((call, call.thought))
        return Wait(self._deadline_s(call))

    def _deadline_s(self, call: Call) -> float:
        left_s = (call.deadline_ns - self._clock.now_ns()) / 1e9 if call.deadline_ns else float("inf")
        return self._mono_s() + left_s + RETRY_S

    def give_up(self, call: Call) -> None:
        thought, call.thought = call.thought, None
        if thought is not None:
            thought.fiber.drop()
            self._going = deque(one for one in self._going if one[1] is not thought)

    def close(self) -> None:
        for call, _ in [*self._going]:
            self.give_up(call)
