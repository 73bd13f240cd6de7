"""Afterimage: the state of the database file after the last commit, so that a start after a kill can skip the check.

Killing a process does not damage a database: LMDB writes new pages before the page that refers to them, and the kernel
writes both out. Only the end of the machine, or another program, can damage the file. It is sound if the boot id is the
same, and size and mtime are those of the last commit. After a kill within a commit, a later mtime is accepted, within
the longest time of a commit.

The image is a small file with a checksum, written before and after each commit and never synced. An image that could
not be written is not believed.
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
"""Name of the file in the folder of the journal."""

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

_LAYOUT: Final = struct.Struct("<8s36sBB2xQQQQQ")
_MAGIC: Final = b"quire-ai"
_SUM: Final = struct.Struct("<I")

_EARLY_NS: Final = 100_000_000
"""Most ns by which the kernel's mtime may be behind our clock."""

_LONGEST_COMMIT_NS: Final = 30_000_000_000

PROVEN_S: Final = 60.0
"""After this uptime an unchecked journal is considered proven: a later crash is not blamed on it."""


class Looks(NamedTuple):
    """Identity, size and mtime of a file."""

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
    """The looks of a file; None if it cannot be read."""
    try:
        return Looks.of(data)
    except OSError:
        return None


class Image(NamedTuple):
    """A stored afterimage."""

    boot: str
    unproven: bool  # left by a daemon that had not checked the journal and ran less than `PROVEN_S`
    begun_ns: int  # start of a commit that was running; 0: none
    looks: Looks


def boot_id() -> str:
    """The kernel's boot id; "" if unknown."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def read(path: Path) -> Image | None:
    """The image in the file; None if missing or damaged."""
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
    """True if the file is as the writer of the image left it."""
    if not boot or image.boot != boot or image.looks[:2] != now[:2]:
        return False
    if image.looks == now:
        return True
    changed_ns = now.mtime_ns - image.begun_ns
    return bool(image.begun_ns) and now.size >= image.looks.size and -_EARLY_NS <= changed_ns <= _LONGEST_COMMIT_NS


class Afterimage:
    """Keeps the image of one database up to date. Never raises: an image that could not be written is not believed."""

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
        """Record that a commit begins."""
        self._write(time.time_ns())

    def committed(self, looks: Looks | None = None) -> None:
        """Record that the commit ended, with the `looks` of the file if known."""
        self._looks = looks or looks_of(self._data) or Looks(0, 0, 0, 0)
        self._write(0)

    def drop(self) -> None:
        """Remove the image for good."""
        self.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def close(self) -> None:
        """Stop. The image stays: a clean close leaves a better mark elsewhere."""
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
