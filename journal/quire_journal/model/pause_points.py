"""Pause points: places where long work can yield."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

_AT_ONCE: Final = 1024

_CALLED: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


def pause() -> None:
    """Call the function set by `pausing`, if any, which may raise to end the work. For steps of ten microseconds or
    more.
    """
    called = _CALLED.get()
    if called is not None:
        called()


@contextmanager
def pausing(called: Callable[[], None]) -> Iterator[None]:
    """Let `pause` on this thread call `called` in this block."""
    token = _CALLED.set(called)
    try:
        yield
    finally:
        _CALLED.reset(token)


def paced(items: Iterable[T]) -> Iterator[T]:
    """Yield all items, with a pause before each 1,024."""
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        pause()
        yield from some
