"""Pause points: places where long work can yield, and properties that may be computed across one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final, Generic, TypeVar, overload

T = TypeVar("T")

_AT_ONCE: Final = 1024

_CALLED: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


def pause() -> None:
    """Call the function set by `pausing`, which may raise to end the work; without a function, do nothing. Made to be
    called between steps of ten microseconds or more.
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
    """Yield all items, with a call of `pause` before each 1,024."""
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        pause()
        yield from some


class cached_property(Generic[T]):
    """Property that is computed at its first use and then kept, as in functools, but without the lock of Python 3.11: a
    computation that pauses would block all other work. Two threads may compute the value at once; the later result is
    kept.
    """

    def __init__(self, made: Callable[[Any], T]) -> None:
        self._made, self.__doc__ = made, made.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._made(instance)
        return found
