"""System calls that Python does not wrap: openat2, renameat2, statx, syncfs, leases, naming an O_TMPFILE.

Sources: openat2(2), rename(2), statx(2), open(2) (O_TMPFILE), fcntl(2) (leases). Call numbers are those of x86_64 and
the generic table (aarch64, riscv64). A missing call raises OSError(ENOSYS); callers choose the fallback by
`Protection`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import struct
import sys
from functools import cache, partial
from typing import Any, Final

NOREPLACE: Final = 1
EXCHANGE: Final = 2
_SWAP_DARWIN: Final = 2  # RENAME_SWAP of renameatx_np
_EXCL_DARWIN: Final = 4  # RENAME_EXCL

NO_XDEV: Final = 0x01
NO_MAGICLINKS: Final = 0x02
NO_SYMLINKS: Final = 0x04
BENEATH: Final = 0x08

HAS_PATH_FDS: Final = hasattr(os, "O_PATH") and os.path.exists("/proc/self/fd")
"""True if O_PATH descriptors and `reopen` work: not on macOS, nor without /proc."""

O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)  # a plain descriptor serves for folders
O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)

_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
_ENCODING: Final = sys.getfilesystemencoding()  # same as `os.fsencode`, with one call instead of four
_HAS_LEASES: Final = hasattr(fcntl, "F_SETLEASE")
_RING: Final = int(signal.SIGURG)

_STATX: Final = struct.Struct("=I76xqI164x")  # stx_mask and stx_btime of `struct statx`
_STATX_BTIME: Final = 0x800
_AT_FDCWD: Final = -100
_AT_SYMLINK_NOFOLLOW: Final = 0x100

_OPENAT2: Final = 437  # the same on every architecture: younger than the common table


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW_BYTES: Final = ctypes.sizeof(_OpenHow)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _how(flags: int, resolve: int) -> _OpenHow:
    return _OpenHow(flags | os.O_CLOEXEC, 0, resolve)


@cache
def _openat2() -> Any:
    # `[...]` makes a new function object, with its own argument types
    call = _libc()["syscall"]
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_OpenHow), ctypes.c_size_t)
    call.restype = ctypes.c_long
    return call


@cache
def _syncfs() -> Any:
    call = _libc()["syncfs"]
    call.argtypes = (ctypes.c_int,)
    call.restype = ctypes.c_int
    return call


@cache
def _rename() -> Any:
    """Return renameat2 as a function of (folder, name, folder, name, flags); None if its number is unknown."""
    names = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if sys.platform == "darwin":
        call = _libc()["renameatx_np"]
        call.argtypes = names
        return call
    number = _RENAMEAT2.get(platform.machine())
    if number is None:
        return None
    call = _libc()["syscall"]
    call.argtypes = (ctypes.c_long, *names)
    call.restype = ctypes.c_long
    return partial(call, number)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def openat2(folder: int, path: bytes, flags: int, resolve: int) -> int:
    """Open `path` from `folder` under the RESOLVE_* rules. Raises OSError (EXDEV, ELOOP: the rules forbid it)."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "openat2")
    fd: int = _openat2()(_OPENAT2, folder, path, _how(flags, resolve), _HOW_BYTES)
    return fd if fd >= 0 else _check(fd)


def rename_flags(from_folder: int, name: str, to_folder: int, to: str, flags: int) -> None:
    """Call renameat2 with NOREPLACE or EXCHANGE. Raises OSError (ENOSYS, EINVAL: unsupported; EXDEV: another mount)."""
    call = _rename()
    if call is None:
        raise OSError(errno.ENOSYS, "renameat2")
    if sys.platform == "darwin":
        flags = _SWAP_DARWIN if flags == EXCHANGE else _EXCL_DARWIN
    before, after = name.encode(_ENCODING, "surrogateescape"), to.encode(_ENCODING, "surrogateescape")
    _check(call(from_folder, before, to_folder, after, flags))


def rename_new(from_folder: int, name: str, to_folder: int, to: str) -> None:
    """Rename to a name that must not exist. Raises FileExistsError, FileNotFoundError, other OSError."""
    try:
        rename_flags(from_folder, name, to_folder, to, NOREPLACE)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        # link(2) never replaces, either; for an instant the file has both names
        os.link(name, to, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)
        os.unlink(name, dir_fd=from_folder)


def name_unnamed(fd: int, folder: int, name: str) -> None:
    """Name the O_TMPFILE inode `fd` through /proc, which needs no capability."""
    os.link(magic_link(fd), name, dst_dir_fd=folder, follow_symlinks=True)


def sync_file_system(fd: int) -> None:
    """Write all dirty data of the file system of `fd` to disk. Raises OSError."""
    _check(_syncfs()(fd))


def born_ns(path: str) -> int:
    """Return the creation time of a file in ns; 0 if it is missing or the time unknown."""
    if sys.platform != "linux":
        try:
            found = os.stat(path, follow_symlinks=False)
        except OSError:
            return 0
        return int(getattr(found, "st_birthtime", 0) * 1e9)
    told = ctypes.create_string_buffer(_STATX.size)
    if _libc()["statx"](_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, told):
        return 0
    mask, seconds, nanoseconds = _STATX.unpack(told.raw)
    return seconds * 1_000_000_000 + nanoseconds if mask & _STATX_BTIME else 0


def magic_link(fd: int) -> str:
    """Return a path to the inode of `fd`, for calls that take no (O_PATH) descriptor."""
    return f"/proc/self/fd/{fd}"


def reopen(fd: int, flags: int) -> int:
    """Return a new descriptor for the inode of the O_PATH descriptor `fd`. Raises OSError; ENOSYS if /proc is
    missing.
    """
    try:
        return os.open(magic_link(fd), flags | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.ENOSYS, "there is no /proc any more, which was there at the start") from None


def take_lease(fd: int) -> bool | None:
    """Take a read lease. True: taken. False: another open of the file forbids it. None: no leases (another user's file
    without CAP_LEASE, or the file system).

    F_SETSIG sets SIGURG, for which the loop listens, as the signal of a broken lease: by default it is ignored, while
    SIGIO kills.
    """
    if not _HAS_LEASES:
        return None
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, _RING)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return False
        if error.errno in (errno.EINVAL, errno.EACCES, errno.ENOLCK, errno.EOPNOTSUPP):
            return None
        raise
    return True


def lease_stands(fd: int) -> bool:
    """True if no program opened the file for writing since the read lease on `fd` was taken."""
    return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def give_lease_back(fd: int) -> None:
    """Release the lease, so that waiting writers continue. close(2) is not enough: a child forked meanwhile shares the
    file.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno != errno.EAGAIN:  # there was no lease any more
            raise


def flock_holder(fd: int) -> int:
    """Return the pid of the holder of the file's flock; 0 if none or unknown."""
    found = os.fstat(fd)
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as table:
            rows = [row.split() for row in table]
    except OSError:
        return 0
    return next((int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == file), 0)
