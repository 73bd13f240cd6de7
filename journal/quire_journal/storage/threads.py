"""Threads whose start cannot hang, alone and in pools. `threading.Thread.start` waits without limit, also for a thread
that ended silently for want of memory (https://github.com/python/cpython/issues/140746).
"""

from __future__ import annotations

import _thread
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from quire_journal.model import NO_THREAD

LOOK_S: Final = 0.05
"""Seconds between checks whether a thread that has not begun has ended."""

T = TypeVar("T")

_alive: Final[set[Thread]] = set()


def alive() -> list[Thread]:
    """Return the running threads of this module, which `threading.enumerate` does not list."""
    return [*_alive]


class Thread:
    """Daemon thread, running from its construction."""

    __slots__ = ("__weakref__", "_begun", "_ended", "_work", "name")

    def __init__(
        self, work: Callable[[], None], name: str, begin: Callable[..., Any] = _thread.start_new_thread
    ) -> None:
        """Run `work` on a thread that `begin` starts. Raises `RuntimeError` if the system has no more threads, or no
        memory for one.
        """
        self.name, self._work = name, work
        self._begun, self._ended = threading.Lock(), threading.Lock()
        self._begun.acquire()
        self._ended.acquire()
        argument = _Argument()
        is_there = weakref.ref(argument)
        begin(self._run, (argument,))
        del argument
        while not self._begun.acquire(timeout=LOOK_S):
            if is_there() is None and not self._begun.acquire(blocking=False):
                raise RuntimeError(NO_THREAD)

    def is_alive(self) -> bool:
        return self._ended.locked()

    def join(self, timeout: float = -1) -> bool:
        """Wait for the end; False after `timeout` seconds."""
        ended = self._ended.acquire(timeout=timeout)
        if ended:
            self._ended.release()
        return ended

    def _run(self, _: _Argument) -> None:
        _alive.add(self)
        self._begun.release()
        try:
            self._work()
        finally:
            _alive.discard(self)
            self._ended.release()


class _Argument:
    __slots__ = ("__weakref__",)


class Pool:
    """Pool of at most `most` threads; each starts when no other is free."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._lock = threading.Lock()  # guards the fields below
        self._threads: list[Thread] = []
        self._left = 0  # submitted work that has not ended
        self._is_closed = False
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise. Raises `RuntimeError`, and drops the work, if the pool is closed or has no
        thread.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pool is closed")
            if len(self._threads) <= self._left and len(self._threads) < self._most:
                self._begin()
            self._left += 1
            self._queue.put(work)

    def close(self, drop: bool = False) -> None:
        """Wait for all work, or with `drop` only for work that has begun. Idempotent."""
        with self._lock:
            self._is_closed = True
            while drop:
                try:
                    self._queue.get_nowait()
                except Empty:
                    break
            for _ in self._threads:
                self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _begin(self) -> None:
        try:
            self._threads.append(Thread(self._serve, self._name))
        except RuntimeError:
            if not self._threads:
                raise

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            with suppress(BaseException):  # a call without memory must not end the thread
                work()
            del work
            with self._lock:
                self._left -= 1


def side_by_side(act: Callable[[T], None], things: Sequence[T], most: int, name: str) -> None:
    """Call `act` on each thing, on this thread and others, `most` in all. Raises the error of the first thing that
    failed; some things may then be left out.
    """
    left, errors, order = {*range(len(things))}, dict[int, BaseException](), iter(range(len(things)))

    def serve() -> None:
        for at in order:
            if errors:
                return
            try:
                act(things[at])
            except BaseException as error:  # noqa: BLE001  raised below, by the caller's thread
                errors[at] = error
            left.discard(at)

    others: list[Thread] = []
    try:
        while len(others) < min(most, len(things)) - 1:
            others.append(Thread(serve, name))
    except RuntimeError:  # no more threads: the existing ones do the work
        pass
    serve()
    for thread in others:
        thread.join()
    if errors:
        raise errors[min(errors)]
    for at in sorted(left):  # left over by a thread that died
        act(things[at])
