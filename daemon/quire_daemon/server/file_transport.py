"""Server side of the file transport: requests and replies as files, for callers in sandboxes that block sockets
(`quire_journal.model.file_transport`).

The file watcher reports new requests; if it misses them, one `fstat` a second finds them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quire_daemon.workspace import own_folder
from quire_journal.model import CALLER, LOCK, MAX_BYTES, REQUEST, SPOOL_FOLDER, caller_file, reply_file, unfinished_file
from quire_journal.workspaces import LockHolder

PREFIX: Final = b"spool:"
"""Prefix of the identities of callers that use files; no socket identity has it."""

MOST: Final = 64
KEPT_S: Final = 600.0
"""Seconds after which unread replies and unfinished files are deleted."""


class Spool:
    def __init__(self, root: Path, epoch: str, now_ns: Callable[[], int]) -> None:
        """Create and lock the folder. Raises `OSError` if a link is in its place or another user or daemon has it.
        After `BlockingIOError` try again, because a client may only have tested the lock.
        """
        self._now_ns = now_ns
        self._folder = _folder(root)
        self._root = root
        self._lock = -1
        self._rung = True  # requests may be there already
        self._seen_ns = 0
        self._stuck: set[str] = set()  # request names that cannot be removed, to be read only once
        try:
            self._lock = self._take_lock(epoch)
        except BaseException:
            self.close()
            raise

    def ring(self) -> None:
        self._rung = True

    def take(self) -> list[tuple[bytes, int, bytes | str]]:
        """Read and delete new request files; return (identity, request id, bytes of the request) for each. In place of
        an unreadable request's bytes stands a sentence.
        """
        if not self._rung:
            return []
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:  # no descriptor is left: try again in the next turn
            return []
        self._rung = False
        taken: list[tuple[bytes, int, bytes | str]] = []
        for name in names:
            found = REQUEST.fullmatch(name)
            if found is None:
                self._sweep(name)
            elif len(taken) == MOST:
                self._rung = True
            elif name not in self._stuck and (frame := self._read(name)) is not None:
                taken.append((PREFIX + found[1].encode(), int(found[2]), frame))
        return taken

    def look(self) -> bool:
        """True if requests may be there: the folder changed since the last call, or some are left from the last
        `take`.
        """
        with contextlib.suppress(OSError):
            changed_ns = os.fstat(self._folder).st_mtime_ns
            if changed_ns != self._seen_ns:
                self._seen_ns, self._rung = changed_ns, True
        return self._rung

    def stands(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._folder), os.lstat(self._root.joinpath(*SPOOL_FOLDER)))
        except OSError:
            return False

    def reply(self, identity: bytes, request_id: int, frame: bytes) -> bool:
        name = reply_file(identity.removeprefix(PREFIX).decode("ascii"), request_id)
        part = unfinished_file(name)
        try:
            fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=self._folder)
            with os.fdopen(fd, "wb") as file:
                file.write(frame)
            os.rename(part, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(part, dir_fd=self._folder)
            return False
        return True

    def reaches(self, identity: bytes) -> bool:
        """True if the caller still holds its file lock."""
        return self._held(caller_file(identity.removeprefix(PREFIX).decode("ascii")))

    def close(self) -> None:
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                os.unlink(LOCK, dir_fd=self._folder)
            os.close(self._lock)
            self._lock = -1
        if self._folder >= 0:
            with contextlib.suppress(OSError):
                if self.stands():
                    os.rmdir(self._root.joinpath(*SPOOL_FOLDER))
            os.close(self._folder)
            self._folder = -1

    def _take_lock(self, epoch: str) -> int:
        self._drop_old_lock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(LOCK, flags, 0o600, dir_fd=self._folder)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(fd, json.dumps(LockHolder(os.getpid(), epoch, "")._asdict()).encode(), 0)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _drop_old_lock(self) -> None:
        try:
            fd = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(LOCK, dir_fd=self._folder)
        finally:
            os.close(fd)

    def _read(self, name: str) -> bytes | str | None:
        """Read and delete a request file; return its bytes, an error sentence, or None if the caller removed it."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                found = os.fstat(fd)
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
                    return "a request is a file of the workspace's owner, with one name"
                if found.st_size > MAX_BYTES:
                    return f"the request has {found.st_size} bytes; as a file it may have {MAX_BYTES}"
                return _read_all(fd, found.st_size)
            finally:
                os.close(fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"the request cannot be read: {error.strerror or error}"
        finally:
            self._remove(name)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._folder)
        except FileNotFoundError:
            return
        except OSError:
            self._stuck.add(name)

    def _held(self, name: str) -> bool:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _sweep(self, name: str) -> None:
        if name == LOCK or (name.endswith(CALLER) and self._held(name)):
            return
        with contextlib.suppress(OSError):
            if self._now_ns() - os.lstat(name, dir_fd=self._folder).st_mtime_ns > KEPT_S * 1e9:
                os.unlink(name, dir_fd=self._folder)


def _folder(root: Path) -> int:
    fd = own_folder(root, "/".join(SPOOL_FOLDER))
    try:
        found = os.fstat(fd)
        if found.st_uid != os.getuid():
            raise PermissionError(f"{'/'.join(SPOOL_FOLDER)} belongs to another user (uid {found.st_uid})")
        if found.st_mode & 0o077:
            os.fchmod(fd, 0o700)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _read_all(fd: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
