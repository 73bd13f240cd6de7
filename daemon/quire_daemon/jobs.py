"""Long work (tree scans, checks, collections): it runs on worker threads, and its result comes back into the loop."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from quire_daemon.crawl import CrawlCancelled

Job = Callable[[], Callable[[], None]]
"""Work for a worker thread; what it returns is called in the loop."""

Failed = Callable[[dict[str, Any]], None]
"""What is told, in the loop, that a job has faulted: the reply that says so."""


class Jobs:
    """The work under way, and what it has brought. `wake` ends the loop's wait; `fault` logs one and is its reply."""

    def __init__(self, wake: Callable[[], None], fault: Callable[[str], dict[str, Any]]) -> None:
        self._wake, self._fault = wake, fault
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="job")
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def start(self, work: Job, what: str = "job", failed: Failed | None = None) -> None:
        """Run `work` on a worker thread. A fault in it is logged by the name `what`, and `failed` is told: somebody
        may wait.
        """

        def run() -> None:
            try:
                then = work()
            except CrawlCancelled:
                return  # the daemon stops
            except Exception:  # noqa: BLE001
                body = self._fault(what)
                if failed is None:
                    return
                self._done.put(lambda: failed(body))
            else:
                self._done.put(then)
            self._wake()

        self._workers.submit(run)

    def take_results(self) -> None:
        """In the loop: call what finished work has left to be called."""
        while not self._done.empty():
            self._done.get()()

    def close(self) -> None:
        """Wait for what runs; what has not begun never does."""
        self._workers.shutdown(wait=True, cancel_futures=True)
