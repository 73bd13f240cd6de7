"""Long work: one contract, with the threads that the daemon has and without."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from in_turn import JobsInTurn

from quire_daemon.workers.pool import Failed, Guarded, Job, Jobs

pytest.register_assert_rewrite("contracts.jobs")
from contracts.jobs import JobsContract, Loop  # noqa: E402


class TestInTurn(JobsContract):
    def take(self, guarded: Guarded, work: Job, what: str, failed: Failed | None) -> None:
        jobs = JobsInTurn(guarded)
        jobs.start(work, what, failed)
        jobs.take_results()


class TestOnThreads(JobsContract):
    def take(self, guarded: Guarded, work: Job, what: str, failed: Failed | None) -> None:
        jobs, begun = Jobs(lambda: None, guarded), threading.Event()

        def noted() -> Callable[[], None]:
            begun.set()
            return work()

        jobs.start(noted, what, failed)
        assert begun.wait(10)
        jobs.close()  # which waits for what has begun
        jobs.take_results()


def test_work_for_which_there_is_no_thread_is_done_when_there_is_one() -> None:
    """In a container, say, that has as many threads as it may. Whoever began it has nothing to take back."""
    loop, begun = Loop(), threading.Event()
    jobs = Jobs(lambda: None, loop.guarded)

    def work() -> Callable[[], None]:
        begun.set()
        return lambda: loop.tell("then")

    usual = threading.stack_size(1 << 47)  # no process has room for it
    try:
        jobs.start(work, "work")
        jobs.take_results()
    finally:
        threading.stack_size(usual)
    assert not begun.is_set()
    jobs.take_results()
    assert begun.wait(10)
    jobs.close()
    jobs.take_results()
    assert loop.told == ["then"]


def test_the_loop_is_woken_when_work_has_ended() -> None:
    woken, loop = threading.Event(), Loop()
    jobs = Jobs(woken.set, loop.guarded)
    jobs.start(lambda: lambda: loop.tell("then"), "work")
    assert woken.wait(10)
    jobs.take_results()
    assert loop.told == ["then"]
    jobs.close()
