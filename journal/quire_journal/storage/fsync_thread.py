"""One thread that waits for fsync in place of the loop, one small write at a time.

A pool costs a future for each item, and its threads contend for one lock. Rejected: io_submit(2) syncs on the calling
processor, and the median of a turn with an edit rose from 4 to 9 ms.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from quire_journal.storage.threads import Thread

NAME: Final = "sync"


class Sync:
    """Work of the thread, with its result."""

    __slots__ = ("_ended", "_error", "_work")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._ended = threading.Lock()
        self._ended.acquire()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  as a future does
            self._error = error

    def end(self) -> None:
        self._ended.release()

    def done(self) -> bool:
        return not self._ended.locked()

    def wait(self) -> None:
        with self._ended:
            pass

    def result(self) -> None:
        """Wait; raise what the work raised."""
        self.wait()
        if self._error is not None:
            raise self._error


def done(work: Callable[[], None]) -> Sync:
    """Work done by the caller itself, as a finished `Sync`."""
    sync = Sync(work)
    sync.run()
    sync.end()
    return sync


class Syncer:
    """The thread, started by the first work. For the loop's thread only."""

    def __init__(self) -> None:
        self._now: Sync | None = None
        self._come = threading.Lock()  # released when work arrives, or at the end
        self._come.acquire()
        self._thread: Thread | None = None

    def begin(self, work: Callable[[], None]) -> Sync | None:
        """Start the work; None while other work runs."""
        if self._now is not None:
            return None
        if self._thread is None:
            try:
                self._thread = Thread(self._serve, NAME)
            except RuntimeError:  # no more threads: do the work here
                return done(work)
        sync = self._now = Sync(work)
        self._come.release()
        return sync

    def close(self) -> None:
        """Wait for running work, and end the thread. Idempotent."""
        now = self._now
        if now is not None:
            now.wait()
        if self._thread is not None:
            self._come.release()
            self._thread.join()
            self._thread = None

    def _serve(self) -> None:
        while True:
            self._come.acquire()
            sync = self._now
            if sync is None:
                return
            sync.run()
            self._now = None
            sync.end()
