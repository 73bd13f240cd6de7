"""A reserve of the disk: a file in the state folder that is given back when the disk is full.

With its space the journal can still answer, note what happens, and drop what the settings let go (LMDB needs new pages
even to delete). Edits are refused until there is room for the reserve again.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any, Final

from quire_daemon.clock import Clock
from quire_journal.history import to_the_second
from quire_journal.storage import FULL_BELOW_BYTES, StoreFailure, free_bytes

ROOM_BYTES: Final = 8 << 20
"""Free space beside the reserve, without which it is not taken."""


class Reserve:
    """The file; 0 bytes: none is wanted."""

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size
        self.given_back = False

    @property
    def folder(self) -> Path:
        """On whose disk it is."""
        return self._path.parent

    def take(self) -> None:
        """Take it, unless it is there already or the disk has no room. A disk that cannot reserve has no reserve."""
        if self._size <= 0 or self._held():
            return
        try:
            if free_bytes(self._path.parent) < self._size + ROOM_BYTES:
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):  # not on macOS
                    os.posix_fallocate(descriptor, 0, self._size)
            finally:
                os.close(descriptor)
            if not self._held():  # one that packs what is empty; its file would be written anew at each start
                raise OSError(errno.ENOTSUP, "it reserves nothing")
        except OSError:
            with contextlib.suppress(OSError):  # whatever it is that stands there, there is no reserve
                self._path.unlink()
            return
        self.given_back = False

    def make_room(self) -> None:
        """Give it back if the disk is full: before a start, which opens the log and finishes what was left.

        Also a larger one than is wanted by now: it is made anew (`take`).
        """
        with contextlib.suppress(OSError):
            if free_bytes(self._path.parent) < FULL_BELOW_BYTES:
                self.give_back()
            elif self._path.stat().st_size > self._size:
                self._path.unlink()

    def give_back(self) -> None:
        """The disk is full: its space is for the journal now."""
        if self._held():
            self._path.unlink(missing_ok=True)
            self.given_back = self._size > 0  # else nothing would ever be taken again

    def json(self) -> dict[str, Any]:
        """As `status` and `doctor` tell it."""
        return {"bytes": self._size, "held": self._held(), "given_back": self.given_back}

    def _held(self) -> bool:
        try:
            return self._path.stat().st_blocks * 512 >= self._size
        except OSError:
            return False


FULL_S: Final = 60.0
"""After the last commit that found the disk full it has room again, if it takes anything."""


class FullDisk:
    """What commits found, since one found no room. Where files find none, a few records may."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since_ns = 0  # of the first commit that found no room; 0: there is room
        self._bytes = 0  # of files, in the smallest of those that had any
        self._last_s = 0.0  # monotonic: when the last of them was
        self._takes_some = False  # were smaller ones made since?

    @property
    def full(self) -> bool:
        """Did the last commits find no room?"""
        return bool(self._since_ns)

    def failed(self, error: BaseException, size: int) -> None:
        """A commit with so many bytes of files failed."""
        if isinstance(error, StoreFailure) and error.disk_full:
            before = self._bytes if self._since_ns else 0
            self._bytes = min(size, before) if size and before else size or before
            self._since_ns = self._since_ns or self._clock.now_ns()
            self._last_s = self._clock.mono_s()

    def taken(self, size: int) -> None:
        """One was made. What found no room is tried again soon."""
        if not self._since_ns:
            return
        self._takes_some = True
        if size >= self._bytes or self._clock.mono_s() - self._last_s > FULL_S:
            self._since_ns, self._takes_some = 0, False

    def told(self) -> str:
        """Why the journal takes no records at the moment, and since when; "" where it does."""
        if not self._since_ns:
            return ""
        since = to_the_second(self._since_ns)
        taken = "nothing but a few records" if self._takes_some else "nothing"
        return (
            f"the journal has taken {taken} since {since}, when its disk was full; what is there is recorded with room"
        )
