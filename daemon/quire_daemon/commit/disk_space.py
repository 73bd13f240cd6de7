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

from quire_journal.storage import FULL_BELOW_BYTES, free_bytes

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
