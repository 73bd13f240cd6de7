"""LRU cache by blob address; as an address is a hash of the content, entries never become invalid."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """Most recently used values, up to a total weight of `bound`; `weight` returns that of a value, and one above
    `heaviest` is not kept. For one thread.
    """

    def __init__(self, bound: int, weight: Callable[[V], int], heaviest: int | None = None) -> None:
        self._bound = bound
        self._weight = weight
        self._heaviest = bound if heaviest is None else heaviest
        self._held: OrderedDict[bytes, V] = OrderedDict()
        self._weighs = 0

    def find(self, blob: bytes) -> V | None:
        value = self._held.get(blob)
        if value is not None:
            self._held.move_to_end(blob)
        return value

    def forget(self, blob: bytes) -> None:
        value = self._held.pop(blob, None)
        self._weighs -= 0 if value is None else self._weight(value)

    def keep(self, blob: bytes, value: V) -> None:
        """Add `value` unless too heavy, evicting the least recently used values."""
        size = self._weight(value)
        if blob in self._held or size > self._heaviest:
            return
        self._held[blob] = value
        self._weighs += size
        while self._weighs > self._bound:
            self._weighs -= self._weight(self._held.popitem(last=False)[1])
