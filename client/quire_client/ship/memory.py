"""A store of objects in memory, for tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from quire_client.ship.objects import create_each


class MemoryObjects:
    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def create(self, key: str, data: bytes) -> bool:
        with self._lock:
            if key in self.held:
                return False
            self.held[key] = data
            return True

    def create_all(self, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        return create_each(self, objects)

    def get(self, key: str) -> bytes | None:
        return self.held.get(key)

    def keys(self, prefix: str, after: str = "") -> Iterator[str]:
        yield from sorted(key for key in self.held if key.startswith(prefix) and key > after)

    def folders(self, prefix: str) -> set[str]:
        return {key[len(prefix) :].partition("/")[0] for key in self.keys(prefix)}

    def close(self) -> None:
        pass
