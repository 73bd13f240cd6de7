"""Long work (tree scans, checks, collections): it runs on worker threads, and its result comes back into the loop.

So do its errors, in one way: whoever began the work is told of an error in the loop, be it one of the work or of what
was done with its result, and nobody needs to catch anything on a thread. What that one raises in turn, and the errors
of work of which nobody wants to be told, go the way of all background work of the loop (`guarded`).
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from quire_journal.model import limits
from quire_journal.storage import Pool


class Cancellation(Exception):
    """`cancelled` said so. What was yielded is a part: nothing may be concluded from what is missing."""


Job = Callable[[], Callable[[], None]]
"""Work for a worker thread; what it returns is called in the loop."""

Failed = Callable[[Exception], None]
"""Is told, in the loop, of the error that a job ended with."""

Guarded = Callable[[str, Callable[[], None]], None]
"""Calls something of that name; its errors are logged and end nothing."""


class StartJob(Protocol):
    """Runs a job on a worker thread (`Jobs.start`)."""

    def __call__(self, work: Job, what: str, failed: Failed | None = None) -> None: ...


class Jobs:
    """The work under way, and what it has brought. `wake` ends the loop's wait."""

    def __init__(self, wake: Callable[[], None], guarded: Guarded, workers: int = 2, keeps: bool = True) -> None:
        """`keeps`: work for which there is no thread at all waits for one. Otherwise it fails, for a caller waits."""
        self._wake, self._guarded, self._keeps = wake, guarded, keeps
        self._workers = Pool(workers, "job")
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._kept: deque[Callable[[], None]] = deque()  # work that waits for the first thread

    def begin(self) -> None:
        """Have one of the threads now: later there may be none to be had, and work would wait for it."""
        self._submit(_nothing)

    def start(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread, and in the loop what it returns. `what` is its name in the log.

        `failed` is told of an error of either. Work that ends because the daemon stops (`Cancellation`) brings
        nothing and fails nobody.
        """

        def run() -> None:
            then = brought(work)
            if then is not None:
                self._done.put(partial(self._guarded, what, partial(ended, then, failed)))
                self._wake()

        if self._submit(run):
            return
        if self._keeps:
            self._kept.append(run)
        else:
            none = partial(_raise, limits.refusal("threads", what))
            self._done.put(partial(self._guarded, what, partial(ended, none, failed)))
            self._wake()

    def _submit(self, run: Callable[[], None]) -> bool:
        """False: there is no thread at all, and none can be started."""
        try:
            self._workers.submit(run)
        except RuntimeError:
            return False
        return True

    @property
    def waits(self) -> bool:
        """Is there work for which no thread can be started?"""
        return bool(self._kept)

    def take_results(self) -> None:
        """In the loop: call what finished work has left to be called."""
        while self._kept and self._submit(self._kept[0]):
            self._kept.popleft()
        while not self._done.empty():
            self._done.get()()

    def close(self) -> None:
        """Wait for what runs; what has not begun never will."""
        self._workers.close(drop=True)


def brought(work: Job) -> Callable[[], None] | None:
    """What `work` left to be called, which raises the error that it ended with; None: the daemon stops."""
    try:
        return work()
    except Cancellation:
        return None
    except Exception as error:  # noqa: BLE001  whatever it is, it is the loop's to tell
        return partial(_raise, error)


def ended(then: Callable[[], None], failed: Failed | None) -> None:
    """In the loop: do what is to be done with a result, and tell `failed` of an error. Raises what nobody is told."""
    try:
        then()
    except Exception as error:
        if failed is None:
            raise
        failed(error)


def _nothing() -> None:
    """For a thread that is to be begun."""


def _raise(error: Exception) -> None:
    raise error
