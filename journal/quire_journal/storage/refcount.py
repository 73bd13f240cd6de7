"""Reference counts of open environments, which a compaction may replace while readers run. The last user closes a
replaced environment. A forked child must not use an environment: its commit would corrupt the parent's database.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from quire_journal.storage.port import StoreFailure


class Closes(Protocol):
    def close(self) -> None: ...


class RefCounted:
    def __init__(self, env: Closes) -> None:
        self.closes = env
        self.users = 1  # open snapshots, and the store itself; the last user closes the environment


C = TypeVar("C", bound=RefCounted)


class InUse(Generic[C]):
    """A store's present environment, and its replaced environments that are not closed yet. Thread-safe."""

    def __init__(self, opened: C) -> None:
        self._present: C | None = opened
        self._replaced: list[C] = []
        self._lock = threading.Lock()  # also guards the counts
        self._process = os.getpid()

    def get(self) -> C:
        """Return the present environment. Raises `StoreFailure` if the store is closed, `RuntimeError` after a fork."""
        if self._present is None:
            raise StoreFailure("the store is closed")
        if os.getpid() != self._process:
            raise RuntimeError("the store was opened by another process; open it again after a fork")
        return self._present

    def enter(self) -> C:
        """Return the present environment, kept open until `leave`. Raises `StoreFailure` and
        `RuntimeError`, as `get`.
        """
        with self._lock:
            opened = self.get()
            opened.users += 1
            return opened

    def leave(self, opened: C) -> None:
        """End one use of an environment; its last use closes it."""
        with self._lock:
            opened.users -= 1
            if opened.users:
                return
        opened.closes.close()

    @contextmanager
    def used(self) -> Iterator[C]:
        opened = self.enter()
        try:
            yield opened
        finally:
            self.leave(opened)

    def replace(self, opened: C) -> None:
        with self._lock:
            self._replaced.append(self.get())
            self._present = opened

    def surrender(self) -> C:
        opened = self.get()
        self._present = None
        return opened

    def give_back(self) -> None:
        """Close the replaced environments, each when its last user ends."""
        with self._lock:
            replaced, self._replaced = self._replaced, []
        for opened in replaced:
            self.leave(opened)

    def close(self) -> None:
        with self._lock:
            present, self._present = self._present, None
            replaced, self._replaced = self._replaced, []
        if os.getpid() == self._process:
            for opened in (*replaced, *([present] if present is not None else [])):
                opened.closes.close()
