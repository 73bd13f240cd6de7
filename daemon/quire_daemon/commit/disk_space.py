"""Reserve of disk space: one file in the state folder for all journals, deleted when the disk is full.

The daemon can then still answer, record events and collect garbage (LMDB needs new pages even to delete). Edits are
refused until there is room for the file again.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from quire_daemon.clock import Clock
from quire_journal.history import to_the_second
from quire_journal.storage import FULL_BELOW_BYTES, StoreFailure, free_bytes

ROOM_BYTES: Final = 8 << 20
"""Bytes that must stay free after the reserve file is created."""


class Reserve:
    """The reserve file, shared by daemons; size 0 disables it."""

    def __init__(self, path: Path, size: int, free: Callable[[Path], int] = free_bytes) -> None:
        self._path, self._size, self._free = path, size, free
        self.given_back = False
        self._seen = False  # the file was there, and this daemon has not deleted it

    @property
    def folder(self) -> Path:
        return self._path.parent

    def take(self) -> None:
        """Create the file if there is room. If any daemon has deleted the file, this daemon refuses edits until the
        file exists again.
        """
        if self._size <= 0:
            return
        if self._held():
            self._seen, self.given_back = True, False
            return
        self.given_back = self.given_back or self._seen
        try:
            if self._free(self._path.parent) < self._size + ROOM_BYTES:
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(descriptor, 0, self._size)
            finally:
                os.close(descriptor)
            if not self._held():  # a file system that compresses zeros; the file would be rewritten at each start
                raise OSError(errno.ENOTSUP, "it reserves nothing")
        except OSError:
            with contextlib.suppress(OSError):  # something else is at the path: no reserve
                self._path.unlink()
            return
        self._seen, self.given_back = True, False

    def make_room(self) -> None:
        """Delete the file if the disk is full or the file too large, at a start before the journal is opened."""
        with contextlib.suppress(OSError):
            if self._free(self._path.parent) < FULL_BELOW_BYTES:
                self.give_back()
            elif self._path.stat().st_size > self._size:
                self._path.unlink()

    def give_back(self) -> None:
        if self._held() or self._seen:
            self._path.unlink(missing_ok=True)
            self.given_back = self._size > 0  # with size 0, `take` never resets it

    def json(self) -> dict[str, Any]:
        return {"bytes": self._size, "held": self._held(), "given_back": self.given_back}

    def _held(self) -> bool:
        try:
            return self._path.stat().st_blocks * 512 >= self._size
        except OSError:
            return False


FULL_S: Final = 60.0
"""Seconds after the last commit without space until the disk no longer counts as full."""


class FullDisk:
    """State of the journal's disk, from failed and successful commits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ns = 0  # of the first commit without room; 0: there is room
        self._bytes = 0  # of files, in the smallest failed commit
        self._last_s = 0.0  # monotonic time of the last one
        self._takes_some = False  # smaller commits have succeeded since

    @property
    def full(self) -> bool:
        return bool(self._since_ns)

    def failed(self, error: BaseException, size: int) -> None:
        """Record a failed commit with file contents of `size` bytes, if its error says that the disk is full."""
        if isinstance(error, StoreFailure) and error.disk_full:
            before = self._bytes if self._since_ns else 0
            self._bytes = min(size, before) if size and before else size or before
            self._since_ns = self._since_ns or self._clock.now_ns()
            self._last_s = self._clock.mono_s()

    def taken(self, size: int) -> None:
        """Record a commit of `size` bytes. The disk no longer counts as full if the commit is as large as the failed
        one, or `FULL_S` seconds have passed.
        """
        if not self._since_ns:
            return
        self._takes_some = True
        if size >= self._bytes or self._clock.mono_s() - self._last_s > FULL_S:
            self._since_ns, self._takes_some = 0, False

    def told(self) -> str:
        """Return a sentence that says since when the disk is full; "" if it has room."""
        if not self._since_ns:
            return ""
        since = to_the_second(self._since_ns)
        taken = "nothing but a few records" if self._takes_some else "nothing"
        return (
            f"the journal has taken {taken} since {since}, when its disk was full; what is there is recorded with room"
        )
