"""Threads whose start cannot hang, alone and in pools.

`threading.Thread.start` waits without limit for a sign of the new thread. A thread that finds no memory for its first
call ends without the sign (https://github.com/python/cpython/issues/140746), and the caller waits forever. Here the
wait ends with the thread, too: the interpreter then drops the arguments of the thread, which a weak reference tells.
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
"""Seconds between two looks at whether a thread that gives no sign has ended."""

T = TypeVar("T")

_alive: Final[set[Thread]] = set()


def alive() -> list[Thread]:
    """The threads that have not ended; `threading.enumerate` does not list them."""
    return [*_alive]


class Thread:
    """A thread, at work from the moment that it is made. It keeps no process from its end."""

    __slots__ = ("__weakref__", "_begun", "_ended", "_work", "name")

    def __init__(
        self, work: Callable[[], None], name: str, begin: Callable[..., Any] = _thread.start_new_thread
    ) -> None:
        """Raises `RuntimeError` where the system has no more threads, or no memory for one."""
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
        """The thread has not ended."""
        return self._ended.locked()

    def join(self, timeout: float = -1) -> bool:
        """Wait until the thread has ended; False when it has not in so many seconds."""
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
    """An object that nobody but the new thread holds."""

    __slots__ = ("__weakref__",)


class Pool:
    """At most so many threads; each begins with the first work for which no other is free."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._lock = threading.Lock()  # over what follows
        self._threads: list[Thread] = []
        self._left = 0  # work that has not ended
        self._is_closed = False
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, work: Callable[[], None]) -> None:
        """Have `work`, which raises nothing, done. Raises `RuntimeError`, and forgets it, where there is no thread."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pool is closed")
            if len(self._threads) <= self._left and len(self._threads) < self._most:
                self._begin()
            self._left += 1
            self._queue.put(work)

    def close(self, drop: bool = False) -> None:
        """Wait for all work, or, with `drop`, for that which has begun. Idempotent."""
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
            with suppress(BaseException):  # of a call for which there is no memory; the thread serves on
                work()
            del work
            with self._lock:
                self._left -= 1


def side_by_side(act: Callable[[T], None], things: Sequence[T], most: int, name: str) -> None:
    """`act` on each thing, on this thread and on as many others as there can be, `most` in all.

    Raises the error of the first thing that has one; then some may be left out.
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
    except RuntimeError:  # no more threads: those that there are do the work
        pass
    serve()
    for thread in others:
        thread.join()
    if errors:
        raise errors[min(errors)]
    for at in sorted(left):  # of a thread that ended within its work
        act(things[at])
