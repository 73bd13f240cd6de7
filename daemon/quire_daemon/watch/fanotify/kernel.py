"""System calls of fanotify: events of a whole file system that name the writing process.

Folders and files are named by handles (type, inode, generation), which survive renames and are not reused, so no file
is opened for an event. The mark is on the whole file system, because marks on folders miss early writes into a new
folder. Uninteresting folders get an ignore mark, which the kernel may drop. Mode changes are not requested, because
each removal causes one.

Sources: fanotify(7), fanotify_init(2), fanotify_mark(2), open_by_handle_at(2). Needs Linux 6.0 (ignore marks),
CAP_SYS_ADMIN (for processes) and CAP_DAC_READ_SEARCH (to open folders by handle), in the first user namespace.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

MODIFIED: Final = 0x2
CLOSED: Final = 0x8  # was open for writing
CREATED: Final = 0x100
DELETED: Final = 0x200
RENAMED: Final = 0x10000000
OF_A_FOLDER: Final = 0x40000000
OVERFLOW: Final = 0x4000
_CHILDREN: Final = 0x08000000

_CLOEXEC, _NONBLOCK = 0x1, 0x2
_UNLIMITED_MARKS: Final = 0x20
_NAMES_ALL: Final = 0x200 | 0x400 | 0x800 | 0x1000  # file, folder and name, and the file also for name changes
_INIT: Final = _CLOEXEC | _NONBLOCK | _UNLIMITED_MARKS | _NAMES_ALL  # FAN_CLASS_NOTIF is 0

_ADD, _FLUSH = 0x1, 0x80
_FILE_SYSTEM: Final = 0x100
_IGNORE: Final = 0x400 | 0x40 | 0x200  # until memory is short

_DROPPED: Final = MODIFIED | CLOSED | CREATED | DELETED
_MASK: Final = _DROPPED | RENAMED | OF_A_FOLDER

_FILE, _FOLDER_AND_NAME, _FROM, _TO = 1, 2, 10, 12  # kinds of records after an event

_EVENT: Final = struct.Struct("=IBBHQii")  # length, version, reserved, length of this, mask, descriptor, process
_INFO: Final = struct.Struct("=BBH")  # kind, padding, length
_HANDLE: Final = struct.Struct("=Ii")  # bytes, type
_VERSION: Final = 3
_FSID_BYTES: Final = 8

_AT_FDCWD: Final = -100
_MOST_HANDLE_BYTES: Final = 128
READ_BYTES: Final = 1 << 16

LOCAL: Final = {
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0xF2F52010: "f2fs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
}
"""Local file systems, by magic number; a network file system reports no writes of other machines."""


class KernelEvent(NamedTuple):
    """Kernel event about a name in a folder. Folders and files are handles, b"" if unknown."""

    mask: int
    pid: int  # 0: in another namespace
    folder: bytes = b""
    name: bytes = b""
    file: bytes = b""
    to_folder: bytes = b""  # target of a rename
    to_name: bytes = b""


def parsed(told: bytes) -> Iterator[KernelEvent]:
    """Parse events. Raises `OSError` for an unknown format."""
    at, end = 0, len(told)
    while at < end:
        length, version, _, head, mask, _, pid = _EVENT.unpack_from(told, at)
        if version != _VERSION:
            raise OSError(errno.EPROTO, f"fanotify events of version {version}")
        folder = name = file = to_folder = to_name = b""
        info, at = at + head, at + length
        while info < at:
            kind, _, size = _INFO.unpack_from(told, info)
            begin = info + _INFO.size + _FSID_BYTES
            info += size
            many, _ = _HANDLE.unpack_from(told, begin)
            behind = begin + _HANDLE.size + many
            if kind == _FILE:
                file = told[begin:behind]
            elif kind in (_FOLDER_AND_NAME, _FROM):
                folder, name = told[begin:behind], told[behind:info].partition(b"\0")[0]
            elif kind == _TO:
                to_folder, to_name = told[begin:behind], told[behind:info].partition(b"\0")[0]
        yield KernelEvent(mask, pid, folder, name, file, to_folder, to_name)


class Fanotify:
    """Events of a folder's file system. The constructor raises `OSError` if they are unsupported."""

    def __init__(self, root: bytes) -> None:
        self.root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            kind = _kind_of_file_system(self.root_fd)
            if kind not in LOCAL:
                raise OSError(errno.EOPNOTSUPP, f"not on a file system of this kind (0x{kind:x})")
            self.fd = _check(_libc().fanotify_init(_INIT, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            os.close(self.root_fd)
            raise
        try:
            self._mark(_ADD | _FILE_SYSTEM, _MASK, self.root_fd)
            self._mark(_ADD | _IGNORE, 0x1, self.root_fd)  # an unused mark, to test support
            os.close(self._opened(_handle_of(self.root_fd)))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        os.close(self.fd)
        os.close(self.root_fd)

    def read(self) -> list[KernelEvent]:
        try:
            return list(parsed(os.read(self.fd, READ_BYTES)))
        except BlockingIOError:
            return []

    def path_of(self, folder: bytes) -> bytes | None:
        """Return the path below the root (b"": the root) of a folder given by its file handle; None if it is missing or
        outside. The kernel then ignores a folder outside. Raises `OSError` if the handle cannot be opened for another
        reason.
        """
        try:
            fd = self._opened(folder)
        except OSError as error:
            if error.errno in (errno.ESTALE, errno.ENOENT):
                return None
            raise
        try:
            path, top = _path_of(fd), _path_of(self.root_fd)
            if path == top:
                return b""
            if path.startswith(top.rstrip(b"/") + b"/") and _same(path, fd):
                return path[len(top.rstrip(b"/")) + 1 :]
            self._ignore(fd)
            return None
        finally:
            os.close(fd)

    def ignore(self, folder: bytes) -> None:
        """Make the kernel ignore a folder's content, if possible."""
        try:
            fd = self._opened(folder)
        except OSError:
            return
        try:
            self._ignore(fd)
        finally:
            os.close(fd)

    def ignore_none(self) -> None:
        self._mark(_FLUSH, 0, _AT_FDCWD)

    def _ignore(self, fd: int) -> None:
        try:
            self._mark(_ADD | _IGNORE, _DROPPED | OF_A_FOLDER | _CHILDREN, fd)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.ENOENT, errno.EXDEV):
                raise

    def _opened(self, folder: bytes) -> int:
        return _check(_libc().open_by_handle_at(self.root_fd, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def _mark(self, flags: int, mask: int, fd: int) -> None:
        _check(_fanotify_mark()(self.fd, flags, mask, fd, b"." if fd >= 0 else b"/"))


def _path_of(fd: int) -> bytes:
    return os.readlink(b"/proc/self/fd/%d" % fd)


def _same(path: bytes, fd: int) -> bool:
    try:
        there, here = os.lstat(path), os.fstat(fd)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _handle_of(fd: int) -> bytes:
    wanted = ctypes.create_string_buffer(_HANDLE.pack(_MOST_HANDLE_BYTES, 0), _HANDLE.size + _MOST_HANDLE_BYTES)
    mount = ctypes.c_int()
    _check(_libc().name_to_handle_at(fd, b"", wanted, ctypes.byref(mount), 0x1000))  # AT_EMPTY_PATH
    return wanted.raw[: _HANDLE.size + _HANDLE.unpack_from(wanted.raw)[0]]


def _kind_of_file_system(fd: int) -> int:
    found = ctypes.create_string_buffer(512)
    _check(_libc().fstatfs(fd, found))
    return int(ctypes.c_long.from_buffer(found).value) & 0xFFFFFFFF


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@cache
def _fanotify_mark() -> Any:
    call = _libc().fanotify_mark
    call.argtypes = (ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p)
    return call


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
