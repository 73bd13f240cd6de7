"""Detection of the protections of kernel and file system: each is tried on a file in `.quire/tmp`."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from typing import Final

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.confine import RULES
from quire_daemon.workspace.types import Protection

_ABSENT: Final = (
    errno.ENOSYS,
    errno.EINVAL,
    errno.EOPNOTSUPP,
    errno.EPERM,  # a seccomp filter that does not know the call
    errno.EACCES,
    errno.EISDIR,  # from a kernel without O_TMPFILE
    errno.ENOENT,
)


_FULL: Final = (errno.ENOSPC, errno.EDQUOT)

_SYNCED_WHOLE: Final = ("ext4", "xfs", "tmpfs")
"""File systems whose syncfs writes and waits like fsync; FUSE may do nothing."""


def can_openat2(folder: int) -> bool:
    try:
        fd = syscalls.openat2(folder, b".", syscalls.O_PATH, RULES)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    os.close(fd)
    return True


def find_protection(tmp: int, prefix: str, has_openat2: bool) -> Protection:
    """Return the protections that work in the folder `tmp`, tried on files whose names begin with `prefix`. Raises
    OSError if nothing can be written.
    """
    one, two = f"{prefix}a", f"{prefix}b"
    try:
        made = _made(tmp, one)  # written through this descriptor only: another program may have replaced the name
        try:
            stamps = _where_there_is_room(_stamps_stores, made)
            fine_stamps = _where_there_is_room(_stamps_finely, made)
        finally:
            os.close(made)
        os.close(_made(tmp, two))
        return Protection(
            lease=_can_lease(tmp, one),
            exchange=_can_exchange(tmp, one, two),
            openat2=has_openat2,
            tmpfile=_can_tmpfile(tmp, f"{prefix}c"),
            stamps=stamps,
            fine_stamps=fine_stamps,
            sync_many=_can_sync_many(tmp),
            folds_case=_folds_case(tmp, one),
        )
    finally:
        for name in (one, two, f"{prefix}c"):
            _unlink_if_there(tmp, name)


def none_but(has_openat2: bool) -> Protection:
    """Return the protections of a workspace that cannot be written: openat2 if `has_openat2`, and no others."""
    return Protection(lease=False, exchange=False, openat2=has_openat2, tmpfile=False, stamps=False, fine_stamps=False)


def _made(tmp: int, name: str) -> int:
    return os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=tmp)


def _unlink_if_there(tmp: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=tmp)
    except FileNotFoundError:
        return


def _can_lease(tmp: int, name: str) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=tmp)
    try:
        if syscalls.take_lease(fd) is not True:
            return False
        stands = syscalls.lease_stands(fd)
        syscalls.give_lease_back(fd)
        return stands
    finally:
        os.close(fd)


def _can_exchange(tmp: int, one: str, two: str) -> bool:
    try:
        syscalls.rename_flags(tmp, one, tmp, two, syscalls.EXCHANGE)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    return True


def _can_tmpfile(tmp: int, name: str) -> bool:
    if not syscalls.O_TMPFILE:
        return False
    try:
        fd = os.open(".", syscalls.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=tmp)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise
    try:
        syscalls.name_unnamed(fd, tmp, name)
    except OSError as error:
        if error.errno in _ABSENT:  # no /proc
            return False
        raise
    finally:
        os.close(fd)
    return True


def _where_there_is_room(holds: Callable[[int], bool], fd: int) -> bool:
    try:
        return holds(fd)
    except OSError as error:
        if error.errno in _FULL:
            return False
        raise


def _stamps_stores(fd: int) -> bool:
    """True if a store into a mapping that was read before changes mtime; tmpfs may map such a page writable at once."""
    os.pwrite(fd, b"x", 0)
    with mmap.mmap(fd, 1) as mapped:
        read = mapped[0]
        os.utime(fd, ns=(0, 0))
        mapped[0] = read ^ 1
    return os.fstat(fd).st_mtime_ns != 0


def _stamps_finely(fd: int) -> bool:
    seen = set()
    rounds = 16  # within one tick of the coarse clock
    for _ in range(rounds):
        os.pwrite(fd, b"x", 0)
        seen.add(os.fstat(fd).st_ctime_ns)
    return len(seen) == rounds


def _folds_case(tmp: int, name: str) -> bool:
    try:
        os.stat(name.upper(), dir_fd=tmp, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _can_sync_many(tmp: int) -> bool:
    """True if syncfs is reliable: the file system waits, and the kernel (5.8 or later) reports write errors."""
    system = os.uname()
    try:
        release = tuple(int(number) for number in system.release.split("-")[0].split(".")[:2])
    except ValueError:
        return False
    return system.sysname == "Linux" and release >= (5, 8) and _file_system(tmp) in _SYNCED_WHOLE


def _file_system(fd: int) -> str:
    """Return the file system's type from /proc/self/mountinfo; "" if unknown. A line is `36 35 98:0 /root /mount/point
    options [more…] - ext4 /dev/sda options`.
    """
    device = os.fstat(fd).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            lines = [line.split() for line in mounts]
    except OSError:
        return ""
    return next((words[words.index("-") + 1] for words in lines if words[2] == wanted and "-" in words), "")
