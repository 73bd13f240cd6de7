"""Where long work stands still for a moment, if whoever began it wants that.

Functions of values that go through much call `pause` now and then. What that does is said once, around all of the work
(`paced`), and holds for the thread that says it; where nobody has said anything, it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")

_AT_ONCE: Final = 1024
"""Steps of less than a microsecond."""

_CALLED: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


def pause() -> None:
    """Between two steps of some ten microseconds or more. Raises what ends the work."""
    called = _CALLED.get()
    if called is not None:
        called()


@contextmanager
def pausing(called: Callable[[], None]) -> Iterator[None]:
    """The block's work pauses so."""
    token = _CALLED.set(called)
    try:
        yield
    finally:
        _CALLED.reset(token)


def paced(items: Iterable[T]) -> Iterator[T]:
    """All of them, with a pause now and then."""
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        pause()
        yield from some
