"""What the database's file looked like after the last commit: so a start after a kill can tell that nobody touched it.

The end of a process, however sudden, does not damage a database. A commit writes pages that nothing leads to, and then
the one that leads to them; what was written is in the kernel's memory, whoever wrote it, and reaches the disk in its
time. Only the end of the machine can lose or tear pages, or somebody who writes to the file. So a file is as sound as
the daemon left it when the machine has not been started anew since (its boot id), and it has the size and the time of
change that it had after the last commit. A process that was killed within a commit left a later time of change: such a
one is believed when it lies within the longest that a commit takes.

The image is a few bytes in a file of its own, written over before and after each commit, never synced: on another boot
it is worth nothing. It holds a checksum, and what it cannot be written to is not believed either.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
import zlib
from pathlib import Path
from typing import Final, NamedTuple

NAME: Final = "afterimage"
"""Of the file, in the folder of the journal."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

_LAYOUT: Final = struct.Struct("<8s36sBB2xQQQQQ")
_MAGIC: Final = b"quire-ai"
_SUM: Final = struct.Struct("<I")

_EARLY_NS: Final = 100_000_000
"""The kernel's time of change may lie behind our clock by this much."""

_LONGEST_COMMIT_NS: Final = 30_000_000_000

PROVEN_S: Final = 60.0
"""A daemon that has lived so long on a journal that was not checked has shown that it can be lived on."""


class Looks(NamedTuple):
    """What tells that a file has not been touched since."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, data: Path | str) -> Looks:
        """Raises `OSError`."""
        found = os.stat(data)
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def looks_of(data: Path | str) -> Looks | None:
    """The looks of a file; None where it cannot be seen."""
    try:
        return Looks.of(data)
    except OSError:
        return None


class Image(NamedTuple):
    """An afterimage that was found."""

    boot: str
    unproven: bool  # left by a daemon that had not checked the journal either, and died young
    begun_ns: int  # a commit was going on since then; 0: none was
    looks: Looks


def boot_id() -> str:
    """Names the time since the machine was started; "" where the system does not say."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def read(path: Path) -> Image | None:
    """The image in the file; None where there is none that can be believed."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    if len(found) != _LAYOUT.size + _SUM.size or _SUM.unpack_from(found, _LAYOUT.size)[0] != zlib.crc32(
        found[: _LAYOUT.size]
    ):
        return None
    magic, boot, unproven, committing, begun_ns, *looks = _LAYOUT.unpack_from(found)
    if magic != _MAGIC:
        return None
    return Image(boot.rstrip(b"\0").decode("ascii", "replace"), bool(unproven), begun_ns * committing, Looks(*looks))


def fits(image: Image, boot: str, now: Looks) -> bool:
    """Is the file as the process left it that wrote the image?"""
    if not boot or image.boot != boot or image.looks[:2] != now[:2]:
        return False
    if image.looks == now:
        return True
    changed_ns = now.mtime_ns - image.begun_ns
    return bool(image.begun_ns) and now.size >= image.looks.size and -_EARLY_NS <= changed_ns <= _LONGEST_COMMIT_NS


class Afterimage:
    """Keeps the image of one database up to date. Never raises: what it cannot say is not believed later."""

    def __init__(self, path: Path, data: Path, unproven: bool) -> None:
        """`path`: of the image; `unproven`: the journal was not checked at this start."""
        self._data = os.fspath(data)
        self._path = path
        self._boot = boot_id().encode("ascii", "replace")[:36]
        self._unproven_until_s = time.monotonic() + PROVEN_S if unproven else 0.0
        self._looks = Looks(0, 0, 0, 0)
        self._file = -1
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        self.committed()

    def committing(self) -> None:
        """The file is written to from now on."""
        self._write(time.time_ns())

    def committed(self, looks: Looks | None = None) -> None:
        """It is not any more, and has these `looks`, where they have been looked at."""
        self._looks = looks or looks_of(self._data) or Looks(0, 0, 0, 0)
        self._write(0)

    def drop(self) -> None:
        """Leave none, from now on."""
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def close(self) -> None:
        """No more commits come. The image stays: who closes in good order leaves a better mark."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, begun_ns: int) -> None:
        if self._file < 0:
            return
        unproven = time.monotonic() < self._unproven_until_s
        said = _LAYOUT.pack(_MAGIC, self._boot, unproven, bool(begun_ns), begun_ns, *self._looks)
        try:
            os.pwrite(self._file, said + _SUM.pack(zlib.crc32(said)), 0)
        except OSError:
            self.drop()
