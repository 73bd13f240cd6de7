"""The kernel's side of fanotify: who wrote, of a whole file system, as events that name the process.

An event names the folder and the name in it, the file, and the process. Folders and files are named by handles:
(type, inode, generation) in a form of the file system's own, which outlives a rename and is not given out again. So no
file is opened for an event, and a folder is resolved to a path once.

The mark stands on the whole file system, because a mark on each folder would miss what is written into a folder in
its first moments. Folders that are of no interest get a mark of their own, by which the kernel drops the events of the
files in them, all but renames; it may forget such a mark when memory is short. Changed modes are not asked about: each
file that is removed anywhere would tell of one, and no mark on its folder would drop that.

Sources: fanotify(7), fanotify_init(2), fanotify_mark(2), open_by_handle_at(2). It needs Linux 6.0 (a mark by which a
folder's files are ignored; 5.17 for events that name the file beside the folder), CAP_SYS_ADMIN (to be told of
processes) and CAP_DAC_READ_SEARCH (to open a folder by its handle), all in the first user namespace.
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
CLOSED: Final = 0x8  # of a file that was open for writing
CREATED: Final = 0x100
DELETED: Final = 0x200
RENAMED: Final = 0x10000000
OF_A_FOLDER: Final = 0x40000000
OVERFLOW: Final = 0x4000
_CHILDREN: Final = 0x08000000

_CLOEXEC, _NONBLOCK = 0x1, 0x2
_UNLIMITED_MARKS: Final = 0x20
_NAMES_ALL: Final = (
    0x200 | 0x400 | 0x800 | 0x1000
)  # file, folder, name in it, and the file also where a name comes or goes
_INIT: Final = _CLOEXEC | _NONBLOCK | _UNLIMITED_MARKS | _NAMES_ALL  # FAN_CLASS_NOTIF is 0

_ADD, _FLUSH = 0x1, 0x80
_FILE_SYSTEM: Final = 0x100
_IGNORE: Final = 0x400 | 0x40 | 0x200  # for good, until memory is short

_DROPPED: Final = MODIFIED | CLOSED | CREATED | DELETED
_MASK: Final = _DROPPED | RENAMED | OF_A_FOLDER

_FILE, _FOLDER_AND_NAME, _FROM, _TO = 1, 2, 10, 12  # kinds of what follows an event

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
"""File systems that only this kernel writes to, by their numbers: what another machine writes has no event here."""


class KernelEvent(NamedTuple):
    """What a process did to a name in a folder. Handles and names are b"" where the kernel does not tell."""

    mask: int
    pid: int  # 0: it is in another namespace
    folder: bytes = b""
    name: bytes = b""
    file: bytes = b""
    to_folder: bytes = b""  # of a rename
    to_name: bytes = b""


def parsed(told: bytes) -> Iterator[KernelEvent]:
    """The events in what was read. Raises `OSError` where they are of a form that is not known."""
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
    """The events of the file system of a folder. Raises `OSError` where the kernel or the file system has none."""

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
            self._mark(_ADD | _IGNORE, 0x1, self.root_fd)  # nothing that we ask for: can it be done here?
            os.close(self._opened(_handle_of(self.root_fd)))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self.fd)
        os.close(self.root_fd)

    def read(self) -> list[KernelEvent]:
        """The events that wait; empty where none do."""
        try:
            return list(parsed(os.read(self.fd, READ_BYTES)))
        except BlockingIOError:
            return []

    def path_of(self, folder: bytes) -> bytes | None:
        """Where a folder lies below the root, b"" for the root; None: it is gone, or elsewhere, where the kernel drops
        what is in it from now on. Raises `OSError`.
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
        """Have the kernel drop what is in a folder. Nothing where that cannot be: it is only dropped later."""
        try:
            fd = self._opened(folder)
        except OSError:
            return
        try:
            self._ignore(fd)
        finally:
            os.close(fd)

    def ignore_none(self) -> None:
        """Have the kernel drop nothing any more: what is of no interest may have changed."""
        self._mark(_FLUSH, 0, _AT_FDCWD)

    def _ignore(self, fd: int) -> None:
        try:
            self._mark(_ADD | _IGNORE, _DROPPED | OF_A_FOLDER | _CHILDREN, fd)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM, errno.ENOENT, errno.EXDEV):
                raise

    def _opened(self, folder: bytes) -> int:
        """A folder by its handle. Raises `OSError`."""
        return _check(_libc().open_by_handle_at(self.root_fd, folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def _mark(self, flags: int, mask: int, fd: int) -> None:
        _check(_fanotify_mark()(self.fd, flags, mask, fd, b"." if fd >= 0 else b"/"))


def _path_of(fd: int) -> bytes:
    return os.readlink(b"/proc/self/fd/%d" % fd)


def _same(path: bytes, fd: int) -> bool:
    """Is it the folder that stands at the path? One behind another mount may be told with a path of this one's."""
    try:
        there, here = os.lstat(path), os.fstat(fd)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _handle_of(fd: int) -> bytes:
    """The handle of an open folder, as events have it."""
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
