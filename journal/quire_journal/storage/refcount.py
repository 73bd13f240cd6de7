"""What a store has open, and who still uses it: it may be replaced while readers are under way.

An environment that was replaced is closed by its last user. After a fork the child must touch none of it: a commit on
the parent's environment corrupts it, and LMDB does not stop it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from quire_journal.storage.port import StoreFailure


class Closes(Protocol):
    """An environment, as far as it matters here."""

    def close(self) -> None: ...


class RefCounted:
    """Something that is open, and how many need it."""

    def __init__(self, env: Closes) -> None:
        self.closes = env
        self.users = 1  # its open snapshots, and the store that has not given it back; the last one closes it


C = TypeVar("C", bound=RefCounted)


class InUse(Generic[C]):
    """The one that is present, and those that were replaced and not given back yet. Any thread may call."""

    def __init__(self, opened: C) -> None:
        self._present: C | None = opened
        self._replaced: list[C] = []
        self._lock = threading.Lock()  # over the counts, too
        self._process = os.getpid()

    def get(self) -> C:
        """The present one. Raises `StoreFailure` when the store is closed, `RuntimeError` after a fork."""
        if self._present is None:
            raise StoreFailure("the store is closed")
        if os.getpid() != self._process:
            raise RuntimeError("the store was opened by another process; open it again after a fork")
        return self._present

    def enter(self) -> C:
        """The present one, which stays open until the caller says `leave`."""
        with self._lock:
            opened = self.get()
            opened.users += 1
            return opened

    def leave(self, opened: C) -> None:
        """One user less; the last one closes it."""
        with self._lock:
            opened.users -= 1
            if opened.users:
                return
        opened.closes.close()

    @contextmanager
    def used(self) -> Iterator[C]:
        """The present one, which stays open for the time of the block."""
        opened = self.enter()
        try:
            yield opened
        finally:
            self.leave(opened)

    def replace(self, opened: C) -> None:
        """From now on `opened` is the present one."""
        with self._lock:
            self._replaced.append(self.get())
            self._present = opened

    def surrender(self) -> C:
        """The present one, which is another's from now on."""
        opened = self.get()
        self._present = None
        return opened

    def give_back(self) -> None:
        """Close those that were replaced, each when its last user has ended."""
        with self._lock:
            replaced, self._replaced = self._replaced, []
        for opened in replaced:
            self.leave(opened)

    def close(self) -> None:
        """Close all of them, in use or not. Idempotent."""
        with self._lock:
            present, self._present = self._present, None
            replaced, self._replaced = self._replaced, []
        if os.getpid() == self._process:
            for opened in (*replaced, *([present] if present is not None else [])):
                opened.closes.close()
