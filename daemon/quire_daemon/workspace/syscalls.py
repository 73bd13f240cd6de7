"""The calls of the kernel that Python does not wrap: openat2, renameat2, syncfs, leases, naming an unnamed file.

Sources: openat2(2), rename(2), open(2) (O_TMPFILE), fcntl(2) (leases). The numbers are those of x86_64 and of the
generic table (aarch64, riscv64). A call that this system does not have raises OSError(ENOSYS); `capabilities.py`
finds out once which there are, and callers choose the documented fallback by `Protection`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
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
"""Are there descriptors that open nothing, and the way from them to open ones (`reopen`)? Not on macOS, nor where a
sandbox has no /proc."""

O_PATH: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)  # a plain descriptor does for folders
O_TMPFILE: Final[int] = getattr(os, "O_TMPFILE", 0)

_RENAMEAT2: Final = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
_ENCODING: Final = sys.getfilesystemencoding()  # as `os.fsencode`, in one call where that takes four
_HAS_LEASES: Final = hasattr(fcntl, "F_SETLEASE")
_RING: Final = int(signal.SIGURG)

_OPENAT2: Final = 437  # the same everywhere: younger than the common table


class _OpenHow(ctypes.Structure):
    """struct open_how."""

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
    # `[...]` makes a new function object each time, so that these argument types are its own
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
    """renameat2 as a function of (folder, name, folder, name, flags); None where the number is not known."""
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
    return _check(_openat2()(_OPENAT2, folder, path, _how(flags, resolve), _HOW_BYTES))


def rename_flags(from_folder: int, name: str, to_folder: int, to: str, flags: int) -> None:
    """renameat2 with NOREPLACE or EXCHANGE. Raises OSError (ENOSYS, EINVAL: not here; EXDEV: another mount)."""
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
        # link(2) never replaces either; for an instant the file has both names
        os.link(name, to, src_dir_fd=from_folder, dst_dir_fd=to_folder, follow_symlinks=False)
        os.unlink(name, dir_fd=from_folder)


def name_unnamed(fd: int, folder: int, name: str) -> None:
    """Give an O_TMPFILE inode a name. The way by /proc needs no capability, AT_EMPTY_PATH would."""
    os.link(magic_link(fd), name, dst_dir_fd=folder, follow_symlinks=True)


def sync_file_system(fd: int) -> None:
    """Everything that is dirty on the file system of `fd`, to the disk: files without a name, too. Raises OSError."""
    _check(_syncfs()(fd))


def magic_link(fd: int) -> str:
    """A path to the very inode of `fd`, for calls that take no descriptor, or none of O_PATH."""
    return f"/proc/self/fd/{fd}"


def reopen(fd: int, flags: int) -> int:
    """Open the very inode that the O_PATH descriptor `fd` stands for. Raises OSError.

    It is there as long as `fd` is: what is missing, then, is /proc, and that says nothing of the file.
    """
    try:
        return os.open(magic_link(fd), flags | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.ENOSYS, "there is no /proc any more, which was there at the start") from None


def take_lease(fd: int) -> bool | None:
    """Take a read lease.

    True: held. False: somebody has it open in a way that forbids it. None: no leases here (not our file and no
    CAP_LEASE, or the file system has none).

    A broken lease signals its holder, by default with SIGIO, which kills. SIGURG is asked for instead, because its
    default is to be ignored: that holds for this descriptor alone, in any thread, and leaves the process's own
    handlers as they are. The loop listens, so that nobody has to wait; `lease_stands` is asked where it matters.
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
    """Whether the read lease on `fd` is still unbroken: nobody opened the file for writing since it was taken."""
    return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def give_lease_back(fd: int) -> None:
    """Let waiting writers go on.

    Always said aloud, not left to close(2): a child forked meanwhile shares the open file, and the lease would
    live on in it.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno != errno.EAGAIN:  # there was none any more
            raise


def flock_holder(fd: int) -> int:
    """The process that holds the flock on this file; 0 where nobody does, or /proc/locks does not say who."""
    found = os.fstat(fd)
    file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii", errors="replace") as table:
            rows = [row.split() for row in table]
    except OSError:
        return 0
    return next((int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == file), 0)
