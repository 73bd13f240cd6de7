"""Jobs: long work on worker threads, with results handled in the main loop."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from quire_journal.model import limits
from quire_journal.storage import Pool


class Cancellation(Exception):
    """Raised by work that stops with the daemon. Its partial result must not be used."""


Job = Callable[[], Callable[[], None]]

Failed = Callable[[Exception], None]

Guarded = Callable[[str, Callable[[], None]], None]
"""Calls a function; an error is logged under the given name, not raised."""


class StartJob(Protocol):
    def __call__(self, work: Job, what: str, failed: Failed | None = None) -> None: ...


class Jobs:
    """Worker threads. `wake` is called when the loop is to fetch a result."""

    def __init__(
        self,
        wake: Callable[[], None],
        guarded: Guarded,
        publish: Callable[[], None] = lambda: None,
        workers: int = 2,
        keeps: bool = True,
    ) -> None:
        """`publish` runs before each job, so that the job reads the loop's state of the journal. If no thread can be
        started, a job waits for one (`keeps`), or fails.
        """
        self._wake, self._guarded, self._publish, self._keeps = wake, guarded, publish, keeps
        self._workers = Pool(workers, "job")
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._kept: deque[Callable[[], None]] = deque()  # work waiting for the first thread

    def begin(self) -> None:
        """Start one thread now, because later the system may refuse new threads."""
        self._submit(_nothing)

    def start(self, work: Job, what: str, failed: Failed | None = None) -> None:
        """Run `work` on a worker thread, and the function that it returns in the loop. `failed` gets an error of
        either, except `Cancellation`; `what` names the job in the log.
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
        return bool(self._kept)

    def take_results(self) -> None:
        while self._kept and self._submit(self._kept[0]):
            self._kept.popleft()
        while not self._done.empty():
            self._done.get()()

    def close(self) -> None:
        self._workers.close(drop=True)


def brought(work: Job) -> Callable[[], None] | None:
    """Run `work` and return the function to run in the loop. After an error, that function raises it; after
    `Cancellation` there is none.
    """
    try:
        return work()
    except Cancellation:
        return None
    except Exception as error:  # noqa: BLE001  any error is reported in the loop
        return partial(_raise, error)


def ended(then: Callable[[], None], failed: Failed | None) -> None:
    """Run `then`, the function that a job returned. An error goes to `failed`; if that is None, it is raised."""
    try:
        then()
    except Exception as error:
        if failed is None:
            raise
        failed(error)


def _nothing() -> None: ...


def _raise(error: Exception) -> None:
    raise error
