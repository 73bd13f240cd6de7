"""Decisions that think long: one slice of one of them a turn, each on the journal as it was when it began."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
import pytest

from quire_daemon.clock import SystemClock
from quire_daemon.commit.recorder import Recorder
from quire_daemon.core.call import Call, IncomingRequest, Peer, Wait
from quire_daemon.core.decision import Who
from quire_daemon.engine.long_decisions import MOST_FIBERS, SLICE_S, TRIED_S, LongDecisions
from quire_daemon.tools.table import TOOLS
from quire_daemon.workers.fiber import Fiber, FiberDropped, Pause
from quire_journal.history.history import History
from quire_journal.journal import Journal
from quire_journal.model.events import EditRefused
from quire_journal.model.ids import WriterId
from quire_journal.model.messages import Request
from quire_journal.model.pause_points import paced, pause, pausing
from quire_journal.storage.memory import MemoryStore
from quire_journal.storage.threads import alive

STEPS = 10


class Ticking:
    """Each look at the clock takes a slice and more."""

    now_s = 1000.0

    def __call__(self) -> float:
        self.now_s += SLICE_S + TRIED_S
        return self.now_s


class Scene:
    def __init__(self) -> None:
        self.recorder = Recorder(Journal.open(MemoryStore(), 1), SystemClock())
        self.long_decisions = LongDecisions(self.recorder, Ticking())
        self.note()

    def note(self) -> None:
        """One more record."""
        self.recorder.note(EditRefused("edit", "f", "stale", "no"))
        self.recorder.commit()

    def call(self, deadline_ns: int = 0) -> Call:
        incoming = IncomingRequest(b"ann", Peer(1000, 1), Request(1, "log"))
        params = msgspec.convert({}, TOOLS["log"].params)
        return Call(incoming, TOOLS["log"], params, Who(WriterId(1), b"k" * 8), b"", "", 0.0, deadline_ns)

    def think(self, call: Call, work: Callable[[History, bool], int]) -> int | None:
        """The answer; None while it is not there."""
        thought = self.long_decisions.think(call, "it", work)
        return None if isinstance(thought, Wait) else thought[0]


@pytest.fixture
def scene() -> Iterator[Scene]:
    it = Scene()
    yield it
    it.long_decisions.close()


def counting(steps: list[str], name: str = "it") -> Callable[[History, bool], int]:
    """Work that reads the journal some times; what it says is the newest record that it knows of."""

    def work(history: History, apart: bool) -> int:
        for _ in range(STEPS):
            history.record(1)
            steps.append(name)
        return history.head()

    return work


def test_what_takes_no_longer_than_a_try_is_answered_at_once(scene: Scene) -> None:
    scene.long_decisions = LongDecisions(scene.recorder, lambda: 0.0)
    steps: list[str] = []
    assert scene.think(scene.call(), counting(steps)) == 1
    assert len(steps) == STEPS
    assert scene.long_decisions.patience_s() is None


def test_each_turn_goes_one_step_on_and_the_loop_does_not_rest_meanwhile(scene: Scene) -> None:
    call, steps = scene.call(), list[str]()
    went: list[int] = []
    while scene.think(call, counting(steps)) is None:
        assert scene.long_decisions.patience_s() == 0.0
        before = len(steps)
        scene.long_decisions.begin_turn()
        went.append(len(steps) - before)
    assert max(went) == 1
    assert sum(went) >= STEPS - 1
    assert scene.long_decisions.patience_s() is None


def test_a_thought_is_about_the_journal_as_it_was_when_it_began(scene: Scene) -> None:
    call, work = scene.call(), counting([])
    assert scene.think(call, work) is None
    scene.note()
    while (head := scene.think(call, work)) is None:
        scene.long_decisions.begin_turn()
    assert (head, scene.recorder.journal.head) == (1, 2)


def test_those_who_think_take_turns(scene: Scene) -> None:
    ann, ben, steps = scene.call(), scene.call(), list[str]()
    for call, name in ((ann, "ann"), (ben, "ben")):
        scene.think(call, counting(steps, name))
        scene.long_decisions.begin_turn()
    steps.clear()
    for _ in range(STEPS):
        scene.long_decisions.begin_turn()
    assert abs(steps.count("ann") - steps.count("ben")) <= 1
    assert {*steps} == {"ann", "ben"}


def test_who_is_tried_when_others_have_used_up_the_turn_is_tried_in_the_next(scene: Scene) -> None:
    """However many begin to think in one turn, everybody else waits for two tries at most."""
    begun: list[str] = []
    calls = [scene.call() for _ in range(5)]
    for n, call in enumerate(calls):
        scene.think(call, counting(begun, str(n)))
    tried = len([call for call in calls if call.thought is not None])
    assert tried == 1
    scene.long_decisions.begin_turn()
    scene.think(calls[1], counting(begun, "1"))
    assert calls[1].thought is not None


def test_no_more_threads_are_begun_than_there_may_be(scene: Scene) -> None:
    calls = [scene.call() for _ in range(MOST_FIBERS + 3)]
    for call in calls:
        scene.think(call, counting([]))
        scene.long_decisions.begin_turn()
        if call.thought is None:
            break
    assert len([thread for thread in alive() if thread.name == "fiber"]) <= MOST_FIBERS


def test_a_long_decision_without_a_thread_is_made_in_one_piece(scene: Scene) -> None:
    def no_thread(*_: object) -> Fiber[int]:
        raise RuntimeError("no thread or process can be started")

    scene.long_decisions = LongDecisions(scene.recorder, Ticking(), no_thread)
    steps: list[str] = []
    assert scene.think(scene.call(), counting(steps)) == 1
    assert steps[-STEPS:] == ["it"] * STEPS
    assert scene.long_decisions.patience_s() is None


def test_an_error_is_raised_where_the_answer_is_asked_for(scene: Scene) -> None:
    def work(history: History, apart: bool) -> int:
        history.record(1)
        history.record(1)
        raise ValueError("no")

    call = scene.call()
    for _ in range(STEPS):
        if call.thought is None or not call.thought.ended:
            scene.think(call, work)
            scene.long_decisions.begin_turn()
    with pytest.raises(ValueError, match="no"):
        scene.think(call, work)


def test_who_needs_no_answer_any_more_leaves_nothing_behind(scene: Scene) -> None:
    """A thread, and a state of the journal that a collection would have to keep."""
    ended: list[BaseException] = []

    def work(history: History, apart: bool) -> int:
        try:
            while True:
                history.record(1)
        except BaseException as error:
            ended.append(error)
            raise

    call = scene.call()
    scene.think(call, work)
    assert call.thought is not None
    scene.long_decisions.give_up(call)
    assert [type(error) for error in ended][-1] is FiberDropped
    assert (call.thought, scene.long_decisions.patience_s()) == (None, None)


def test_what_was_thought_before_a_purge_is_thought_anew(scene: Scene) -> None:
    call, steps = scene.call(), list[str]()
    while scene.think(call, counting(steps)) is None and len(steps) < STEPS:
        scene.long_decisions.begin_turn()
    scene.recorder.purges += 1
    assert scene.think(call, counting(steps)) is None
    assert call.thought is None or not call.thought.ended


def test_of_two_that_share_a_baton_one_runs_and_never_both() -> None:
    going: list[str] = []

    def work(called: Pause) -> int:
        for _ in range(3):
            going.append("work")
            called()
        return 7

    fiber = Fiber(work, Ticking())
    while not fiber.go_on(0.0):
        going.append("owner")
    assert going == ["work", "owner"] * 3
    assert fiber.result() == 7


def test_a_fiber_that_is_dropped_before_it_began_does_nothing() -> None:
    begun: list[str] = []
    fiber = Fiber(lambda called: begun.append("begun"), Ticking())
    fiber.drop()
    fiber.drop()
    assert (begun, fiber.ended) == ([], True)


def test_work_pauses_where_it_is_told_to_and_else_not() -> None:
    paused: list[int] = []
    pause()
    with pausing(lambda: paused.append(1)):
        pause()
        assert [*paced(range(3000))] == [*range(3000)]
    pause()
    assert len(paused) == 4
