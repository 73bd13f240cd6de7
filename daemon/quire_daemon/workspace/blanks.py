"""Files without a name and without content, made ahead on another thread for a request of many writes.

To make an inode can take the file system longer than all else that a write asks of it. ext4 without a journal passes
over each of those that were removed in the last minutes: 6 µs where there were none, 250 to 500 µs of the processor
after an agent's burst of edits, each of which removes one. It needs no interpreter. So where it is slow (`performing`
tries a few) it is done on another thread while the loop still finds out what will be written; where it is not, two
threads that take turns cost more than that. What was made for nothing leaves nothing behind: it never had a name.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final

from quire_daemon.workspace import kernel

MOST: Final = 1024
"""At most so many stand ready: each is a descriptor."""


class Blanks:
    """Those that stand ready. `make` is for any thread, all else for one."""

    def __init__(self, tmp: int) -> None:
        """`tmp`: the folder in whose file system they are."""
        self.tmp = tmp
        self._ready: deque[int] = deque()
        self._wanted = 0

    def want(self, count: int) -> bool:
        """So many will be needed. Is there something to `make`?"""
        self._wanted = max(self._wanted, min(count, MOST))
        return len(self._ready) < self._wanted

    def make(self) -> None:
        """Make them. What the disk or the system refuses is for who needs one to meet."""
        while len(self._ready) < self._wanted:
            try:
                self._ready.append(blank(self.tmp))
            except OSError:
                return

    def take(self) -> int:
        """One of them, or one that is made now. Raises OSError."""
        self._wanted = max(self._wanted - 1, 0)
        try:
            return self._ready.popleft()
        except IndexError:
            return blank(self.tmp)

    def drop(self) -> None:
        """None is needed any more."""
        self._wanted = 0
        while self._ready:
            os.close(self._ready.popleft())

    def __len__(self) -> int:
        return len(self._ready)


def blank(tmp: int) -> int:
    """A file without a name. Raises OSError."""
    return os.open(".", kernel.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=tmp)
