"""Threads that begin or say that they cannot, and pools of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire_journal.model import limits
from quire_journal.storage.threads import Pool, Thread, alive, side_by_side

TOO_MUCH = 1 << 47
"""Bytes of a stack for which no process has room."""


def stillborn(run: Callable[..., None], given: tuple[object, ...]) -> None:
    """Begin a thread that has no memory for its first call: it ends without a word."""


def test_a_thread_that_dies_before_its_first_step_is_told_and_not_waited_for() -> None:
    with pytest.raises(RuntimeError) as caught:
        Thread(lambda: None, "stillborn", stillborn)
    assert limits.reached(caught.value) == "threads"
    assert "stillborn" not in [thread.name for thread in alive()]


STRACED = """
import sys
from quire_journal.storage.threads import side_by_side
print("ready", flush=True)
sys.stdin.readline()
side_by_side(lambda thing: None, [1, 2], 2, "beside")
print("done", flush=True)
"""


@pytest.mark.real
@pytest.mark.parametrize("when", range(1, 4))
def test_work_is_done_whichever_allocation_of_its_new_thread_fails(when: int, tmp_path: Path) -> None:
    """The first call of a new thread takes memory from the system: a failure there once hung the daemon for good."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    fault = ["-e", "trace=mmap", "-e", f"inject=mmap:error=ENOMEM:when={when}"]
    with subprocess.Popen(
        [sys.executable, "-c", STRACED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        words = [strace, "-f", "-p", str(process.pid), "-o", str(tmp_path / "strace.out"), *fault]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            told = tracer.stderr.readline()
            try:
                said, _ = process.communicate("\n", timeout=20)
            finally:
                process.kill()
    if "attached" not in told:
        pytest.skip("strace may trace no process here")
    assert said == "done\n"


def test_a_thread_that_has_ended_is_not_alive_any_more() -> None:
    gate = threading.Event()
    thread = Thread(lambda: none(gate.wait()), "waits")
    assert thread.is_alive()
    assert thread in alive()
    assert not thread.join(0)
    gate.set()
    assert thread.join(10)
    assert not thread.is_alive()
    assert thread not in alive()


def none(_: object) -> None:
    """A value that is not wanted."""


def test_a_pool_has_no_more_threads_than_it_needs_nor_than_it_may() -> None:
    pool, gate, begun = Pool(2, "pooled"), threading.Event(), threading.Semaphore(0)

    def work() -> None:
        begun.release()
        gate.wait()

    def count() -> int:
        return len([thread for thread in alive() if thread.name == "pooled"])

    assert count() == 0
    pool.submit(work)
    assert count() == 1
    pool.submit(work)
    pool.submit(work)
    assert count() == 2
    assert begun.acquire(timeout=10)
    gate.set()
    pool.close()
    pool.close()
    assert begun.acquire(timeout=10)
    assert begun.acquire(timeout=10)  # the third, too
    assert count() == 0


def test_a_pool_that_drops_its_work_does_none_that_has_not_begun() -> None:
    pool, gate, begun, done = Pool(1, "pooled"), threading.Event(), threading.Event(), list[int]()

    def work() -> None:
        begun.set()
        gate.wait()
        done.append(0)

    pool.submit(work)
    pool.submit(lambda: done.append(1))
    assert begun.wait(10)
    Thread(lambda: pool.close(drop=True), "closes")
    while True:
        try:
            pool.submit(lambda: None)
        except RuntimeError:  # it is closed
            break
    gate.set()
    pool.close()
    assert done == [0]


def test_a_pool_without_any_thread_says_so_and_forgets_the_work() -> None:
    pool, done = Pool(2, "pooled"), list[str]()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        without_threads(lambda: pool.submit(lambda: done.append("lost")))
    pool.submit(lambda: done.append("kept"))
    pool.close()
    assert done == ["kept"]


def test_a_pool_that_can_have_no_further_thread_leaves_the_work_to_those_that_it_has() -> None:
    pool, gate, done = Pool(2, "pooled"), threading.Event(), list[str]()
    pool.submit(lambda: none(gate.wait()))
    without_threads(lambda: pool.submit(lambda: done.append("later")))
    gate.set()
    pool.close()
    assert done == ["later"]


def test_work_that_raises_takes_no_thread_with_it() -> None:
    pool, done = Pool(1, "pooled"), list[str]()

    def fail() -> None:
        raise MemoryError

    pool.submit(fail)
    pool.submit(lambda: done.append("after"))
    pool.close()
    assert done == ["after"]


def without_threads(act: Callable[[], Any]) -> None:
    """`act` where no thread can be started."""
    usual = threading.stack_size(TOO_MUCH)
    try:
        act()
    finally:
        threading.stack_size(usual)


def test_all_things_are_done_side_by_side_and_with_no_further_thread_too() -> None:
    done: list[int] = []
    side_by_side(done.append, range(40), 4, "beside")
    assert sorted(done) == [*range(40)]
    without_threads(lambda: side_by_side(done.append, range(40, 50), 4, "beside"))
    assert sorted(done) == [*range(50)]


def test_the_error_of_the_first_thing_that_has_one_is_raised() -> None:
    met = threading.Barrier(2)

    def fail(thing: int) -> None:
        met.wait(10)
        raise OSError(thing, "failed")

    with pytest.raises(OSError, match="failed") as caught:
        side_by_side(fail, [7, 8], 2, "beside")
    assert caught.value.errno == 7
