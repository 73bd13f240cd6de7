"""Long work in time slices, on a thread that runs only while its owner waits.

Two locks pass control. The owner calls `go_on` and blocks; the work returns control at its first `pause` after its
slice, or at its end. So only one of them runs at a time, and the work needs no locks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from quire_journal.storage import Thread

T = TypeVar("T")

Pause = Callable[[], None]
"""Called by the work between its steps; returns when it may continue."""


class FiberDropped(BaseException):
    """Raised by `pause` in work that its owner has cancelled by `drop`."""


class Fiber(Generic[T]):
    def __init__(self, work: Callable[[Pause], T], mono_s: Callable[[], float]) -> None:
        self._work, self._mono_s = work, mono_s
        self._may_work, self._may_own = threading.Lock(), threading.Lock()
        self._may_work.acquire()
        self._may_own.acquire()
        self._until_s = 0.0
        self._is_dropped = False
        self._result: T | None = None
        self._error: BaseException | None = None
        self.ended = False
        Thread(self._run, "fiber")

    def go_on(self, slice_s: float) -> bool:
        """Run the work for about `slice_s` seconds; return True if it has ended."""
        if not self.ended:
            self._until_s = self._mono_s() + slice_s
            self._may_work.release()
            self._may_own.acquire()
        return self.ended

    def drop(self) -> None:
        """Cancel the work: its next `pause` raises `FiberDropped`."""
        self._is_dropped = True
        self.go_on(0.0)
        self._error = None  # the error would keep the frame of `_run` alive

    def result(self) -> T:
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # the traceback would keep this frame alive
        return self._result  # type: ignore[return-value]  # it has ended, without an error

    def _pause(self) -> None:
        if self._mono_s() >= self._until_s:
            self._may_own.release()
            self._may_work.acquire()
            if self._is_dropped:
                raise FiberDropped

    def _run(self) -> None:
        self._may_work.acquire()
        try:
            if not self._is_dropped:
                self._result = self._work(self._pause)
        except BaseException as error:  # noqa: BLE001  any error is the owner's
            self._error = error
        finally:
            self.ended = True
            self._may_own.release()
