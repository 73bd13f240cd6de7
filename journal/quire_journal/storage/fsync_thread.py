"""One thread that waits for the disk in the place of the loop: one small write at a time.

A pool of threads does it too, and is there for more than one. But each item of a pool costs a future with its
condition, and its idle threads wait for one lock: who gets the item wakes the next of them, who finds nothing. With the
interpreter's lock to be handed on each time, a sync took the loop's turn away 5 times; here it is twice.

Rejected: to ask the kernel (io_submit(2), IOCB_CMD_FSYNC), which needs no interpreter. It syncs on the processor that
asked, so in the place of the loop and not beside it: 10 context switches fewer, and the median of a turn with an edit
rose from 4 to 9 ms on a busy machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from quire_journal.storage.threads import Thread

NAME: Final = "sync"


class Sync:
    """Work that is under way."""

    __slots__ = ("_ended", "_error", "_work")

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._ended = threading.Lock()
        self._ended.acquire()

    def run(self) -> None:
        """Do it; what it raises is for who asks for the result."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001  as a future does
            self._error = error

    def end(self) -> None:
        """It is done."""
        self._ended.release()

    def done(self) -> bool:
        """Has it ended? As a future says it."""
        return not self._ended.locked()

    def wait(self) -> None:
        """Until it is done."""
        with self._ended:
            pass

    def result(self) -> None:
        """Wait for it. Raises what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error


def done(work: Callable[[], None]) -> Sync:
    """The same for work that the caller does itself, so that either can be waited for in one way."""
    sync = Sync(work)
    sync.run()
    sync.end()
    return sync


class Syncer:
    """The thread. It begins with the first work. For the loop's thread only."""

    def __init__(self) -> None:
        self._now: Sync | None = None
        self._come = threading.Lock()  # released when there is work, or the end
        self._come.acquire()
        self._thread: Thread | None = None

    def begin(self, work: Callable[[], None]) -> Sync | None:
        """Begin with it; None while there is other work."""
        if self._now is not None:
            return None
        if self._thread is None:
            try:
                self._thread = Thread(self._serve, NAME)
            except RuntimeError:  # there can be no more threads: the disk is waited for here
                return done(work)
        sync = self._now = Sync(work)
        self._come.release()
        return sync

    def close(self) -> None:
        """Wait for what is under way, and end the thread. Idempotent."""
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
