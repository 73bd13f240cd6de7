"""Lock: the flock that a daemon holds for life, one for each journal. Imports only the standard library."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_journal.workspaces.layout import Place, open_own

LOCK_PATIENCE_S: Final = 0.5
"""Seconds for which a lock is retried, as readers test it by taking it shared."""


class LockHolder(NamedTuple):
    """Announcement of the holder of the lock. pid 0: not announced yet."""

    pid: int
    epoch: str
    socket: str
    doing: str = ""  # work before the daemon listens, as a phrase


class Lock:
    """flock held by this process until closed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def announce(self, running: LockHolder) -> None:
        text = json.dumps(running._asdict()).encode()
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, text, 0)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def take_lock(path: Path, patience_s: float = LOCK_PATIENCE_S) -> Lock | None:
    """Take the flock on `path`, trying for `patience_s`, and erase an earlier announcement. None if another process
    holds it or `quire forget` removed the file. Raises WorkspaceRefused if it is no regular file.
    """
    fd = open_own(path, os.O_RDWR)
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(fd)
                return None
            time.sleep(0.01)
        except BaseException:
            os.close(fd)
            raise
        else:
            if not _stands(fd, path):
                os.close(fd)
                return None
            os.ftruncate(fd, 0)
            return Lock(fd)


@contextlib.contextmanager
def hold_lock(path: Path, patience_s: float = LOCK_PATIENCE_S) -> Iterator[Lock | None]:
    """Hold the lock of `take_lock` for a block; yields None if the lock is not available."""
    lock = take_lock(path, patience_s)
    try:
        yield lock
    finally:
        if lock is not None:
            lock.close()


def running(place: Place) -> LockHolder | None:
    """Return the daemon that holds the lock; None if none does. Announcements of dead daemons are ignored."""
    fd = look_into(place)
    if fd < 0:
        return None
    try:
        return _parse_running(os.pread(fd, 4096, 0)) if is_held(fd) else None
    finally:
        os.close(fd)


def look_into(place: Place) -> int:
    """Return a descriptor of the lock file for `is_held`; -1 if it cannot be opened."""
    try:
        return os.open(place.lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)  # even a FIFO
    except OSError:
        return -1


def is_held(fd: int) -> bool:
    """True if another process holds the lock on this file. One or two system calls."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _stands(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except OSError:
        return False


def _parse_running(text: bytes) -> LockHolder:
    try:
        fields: Any = json.loads(text)
        return LockHolder(int(fields["pid"]), str(fields["epoch"]), str(fields["socket"]), str(fields.get("doing", "")))
    except (ValueError, KeyError, TypeError):
        return LockHolder(0, "", "")  # the holder has not announced itself
