"""Consistent reads of whole files, without waiting for writers.

Under a read lease no program has the file open for writing or mapped writable, so a lease unbroken around the read
proves that the bytes belong together. Without leases (another user's file without CAP_LEASE, some file systems): stat,
read, stat, and no change for `RACY_NS` before.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import Beneath, close
from quire_daemon.workspace.types import (
    FileBusy,
    FileVanished,
    Image,
    NotRegular,
    Protection,
    Signature,
    TooLarge,
)
from quire_journal.model import Refusal

RACY_NS: Final = 12_000_000
"""Age of a change in ns after which no later change shares its timestamp: three ticks of 4 ms, the longest
usual ones.
"""

_FUTURE_NS: Final = 2_000_000_000  # timestamps further ahead come from a clock that was set back
_CHUNK: Final = 1 << 20


def read_all(fd: int, expected: int) -> bytes:
    """Return all bytes of `fd` from the start; `expected` is their likely number."""
    parts: list[bytes] = []
    at = 0
    while True:
        part = os.pread(fd, max(expected - at, 0) + 1 if at <= expected else _CHUNK, at)
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)
        at += len(part)


class Held(msgspec.Struct, gc=False):
    """An open file, under a read lease if possible; its user must `drop` it."""

    fd: int
    signature: Signature
    leased: bool

    def stands(self) -> bool:
        """True if no program has opened the file for writing since our open; without a lease, True if size and mtime
        are unchanged.
        """
        if self.leased:
            return syscalls.lease_stands(self.fd)
        now = os.fstat(self.fd)
        return (now.st_size, now.st_mtime_ns) == (self.signature.size, self.signature.mtime_ns)

    def refresh(self) -> Signature:
        """Read the signature again, after our own rename or chmod."""
        self.signature = Signature.of(os.fstat(self.fd))
        return self.signature

    def hand_over(self) -> Held:
        """Return a new `Held` with the descriptor; this one then has none."""
        given = Held(self.fd, self.signature, self.leased)
        self.fd = -1
        return given

    def drop(self) -> None:
        """Give the lease back and close. Idempotent."""
        if self.fd < 0:
            return
        fd, self.fd = self.fd, -1
        with suppress(OSError):  # close releases the lease anyway
            if self.leased:
                syscalls.give_lease_back(fd)
        close(fd)


class FileReader:
    def __init__(self, beneath: Beneath, protection: Protection, wall_ns: Callable[[], int]) -> None:
        """`wall_ns`: time in ns of the clock that stamps files."""
        self._beneath = beneath
        self._protection = protection
        self._wall_ns = wall_ns

    def hold(self, path: str) -> Held:
        """Open and lease the file `path`. Raises FileBusy, FileVanished, NotRegular, Refusal."""
        return self.hold_fd(self._beneath.open_file(path), path)

    def hold_fd(self, fd: int, path: str) -> Held:
        """Lease the open file `fd` as `hold` does, and take it over; it is closed on an error. Raises FileBusy,
        OSError.
        """
        try:
            leased = syscalls.take_lease(fd) if self._protection.lease else None
            signature = Signature.of(os.fstat(fd))
            if leased is False or (leased is None and self._is_fresh(signature)):
                raise FileBusy(path)
        except BaseException:
            os.close(fd)
            raise
        return Held(fd, signature, leased is True)

    def _is_fresh(self, signature: Signature) -> bool:
        # ctime, not mtime: programs can set mtime to anything
        age = self._wall_ns() - signature.ctime_ns
        return -_FUTURE_NS < age < RACY_NS

    def settles(self, signature: Signature) -> bool:
        """True if any later change of the file will alter `signature`, just read. See `Image.settled`."""
        given = self._protection
        return given.stamps and (given.fine_stamps or not self._is_fresh(signature))

    def read(self, path: str, limit: int, unfinished_ok: bool) -> Image:
        """Read the file `path` consistently, up to `limit` bytes; with `unfinished_ok` also one open for writing.
        Raises FileBusy, FileVanished, NotRegular, TooLarge, Refusal.
        """
        try:
            held = self.hold(path)
        except FileBusy:
            if not unfinished_ok:
                raise
            return self._read_unfinished(path, limit)
        try:
            data = self._bytes(held, path, limit)
            if held.stands():
                return Image(data, held.signature, self.settles(held.signature), finished=True)
        finally:
            held.drop()
        if not unfinished_ok:
            raise FileBusy(path)
        return self._read_unfinished(path, limit)

    def _bytes(self, held: Held, path: str, limit: int) -> bytes:
        if held.signature.size > limit:
            raise TooLarge(path, held.signature.size)
        return read_all(held.fd, held.signature.size)

    def _read_unfinished(self, path: str, limit: int) -> Image:
        fd = self._beneath.open_file(path)
        try:
            signature = Signature.of(os.fstat(fd))
            data = self._bytes(Held(fd, signature, leased=False), path, limit)
        finally:
            os.close(fd)
        return Image(data[:limit], signature, settled=False, finished=False)

    def is_unchanged(self, path: str, signature: Signature) -> bool:
        """True if `path` still matches a settled `signature`; False when in doubt."""
        if not self._protection.stamps:
            return False
        try:
            held = self.hold(path)
        except (FileBusy, FileVanished, NotRegular, Refusal):
            return False
        try:
            return held.signature == signature and held.stands()
        finally:
            held.drop()
