"""Long work (scans, checks, collections) on worker threads, with results delivered in the loop.

`failed` of the work is told, in the loop, of an error of the work or of its result's handling; other errors are handled
like all background work (`guarded`).
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
    """The work was cancelled; its part proves no absence."""


Job = Callable[[], Callable[[], None]]

Failed = Callable[[Exception], None]

Guarded = Callable[[str, Callable[[], None]], None]
"""Calls a named function; its errors are logged and end nothing."""


class StartJob(Protocol):
    """Runs a job on a worker thread (`Jobs.start`)."""

    def __call__(self, work: Job, what: str, failed: Failed | None = None) -> None: ...


class Jobs:
    """The running work and its results. `wake` ends the loop's wait."""

    def __init__(
        self,
        wake: Callable[[], None],
        guarded: Guarded,
        publish: Callable[[], None] = lambda: None,
        workers: int = 2,
        keeps: bool = True,
    ) -> None:
        """`publish` is called before each work, so that its thread reads what the loop reads. With `keeps`, work
        without a free thread waits for one; otherwise it fails.
        """
        self._wake, self._guarded, self._publish, self._keeps = wake, guarded, publish, keeps
        self._workers = Pool(workers, "job")
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._kept: deque[Callable[[], None]] = deque()  # work waiting for the first thread

    def begin(self) -> None:
        """Start one thread now: later none may be available."""
        self._submit(_nothing)

    def start(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread and its result in the loop. `what` names it in the log; `failed` is told of an
        error of either. `Cancellation` is neither.
        """

        def run() -> None:
            then = brought(work)
            if then is not None:
                self._done.put(partial(self._guarded, what, partial(ended, then, failed)))
                self._wake()

        self._publish()
        if self._submit(run):
            return
        if self._keeps:
            self._kept.append(run)
        else:
            none = partial(_raise, limits.refusal("threads", what))
            self._done.put(partial(self._guarded, what, partial(ended, none, failed)))
            self._wake()

    def _submit(self, run: Callable[[], None]) -> bool:
        try:
            self._workers.submit(run)
        except RuntimeError:
            return False
        return True

    @property
    def waits(self) -> bool:
        """True if work waits and no thread can be started."""
        return bool(self._kept)

    def take_results(self) -> None:
        """In the loop: call the results of finished work."""
        while self._kept and self._submit(self._kept[0]):
            self._kept.popleft()
        while not self._done.empty():
            self._done.get()()

    def close(self) -> None:
        """Wait for running work; drop the rest."""
        self._workers.close(drop=True)


def brought(work: Job) -> Callable[[], None] | None:
    """The result of `work`, or a function that raises its error; None if the daemon stops."""
    try:
        return work()
    except Cancellation:
        return None
    except Exception as error:  # noqa: BLE001  whatever it is, it is the loop's to tell
        return partial(_raise, error)


def ended(then: Callable[[], None], failed: Failed | None) -> None:
    """In the loop: handle a result, and tell `failed` of an error. Raises the error without `failed`."""
    try:
        then()
    except Exception as error:
        if failed is None:
            raise
        failed(error)


def _nothing() -> None: ...


def _raise(error: Exception) -> None:
    raise error
