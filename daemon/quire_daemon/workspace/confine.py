"""Confined opens: no path, link, mount or race leads a descriptor out of the workspace.

openat2 with BENEATH, NO_XDEV, NO_SYMLINKS and NO_MAGICLINKS checks and opens in one step; realpath followed by open
lost one link race in four. The fallback walks the path folder by folder: as safe against links, slower, and without
/proc blind to bind mounts.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.types import FileBusy, FileVanished, Look, NotRegular, Signature
from quire_journal.model import Refusal
from quire_journal.workspaces import mount_of

RULES = syscalls.BENEATH | syscalls.NO_XDEV | syscalls.NO_SYMLINKS | syscalls.NO_MAGICLINKS
_ENCODING = sys.getfilesystemencoding()  # same as `os.fsencode`, with one call instead of four
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ETXTBSY)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_TURNED = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ESTALE)
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


def temporary_removed(path: str) -> Refusal:
    message = f"{path} was not written: its temporary file was removed from .quire/tmp; call again."
    return Refusal("busy", message, "retry", path=path, retry_after_ms=500)


def on_another_mount(path: str) -> Refusal:
    message = (
        f"{path} is on another file system or mount than the workspace: Quire keeps to one, and neither reads, writes "
        "nor records what is mounted below it."
    )
    return Refusal("permission_denied", message, path=path)


def refusal(error: OSError, path: str, to: str = "") -> Refusal | OSError:
    """Return a refusal that explains an `error` of the disk or of a race; any other error itself. `to`: target of a
    move.
    """
    reason = os.strerror(error.errno or 0)
    if error.errno in _FORBIDDEN:
        message = f"The disk does not allow it: {path}{f' to {to}' if to else ''}: {reason}."
        return Refusal("permission_denied", message, "check_permissions", path=path)
    if error.errno in _FULL:
        return Refusal("disk_full", f"There is no room to write {path}: {reason}.", path=path)
    if error.errno == errno.EXDEV and to:
        return Refusal("permission_denied", f"{path} and {to} are on different file systems or mounts.", path=path)
    if error.errno == errno.EXDEV:
        return on_another_mount(path)
    if error.errno == errno.EBUSY:
        message = f"{path} is in use by the system, as where a file is mounted: it stays as it is."
        return Refusal("permission_denied", message, path=path)
    if error.errno in _TURNED:
        message = f"{path} was replaced during the call ({reason}). Nothing was changed; call again."
        return Refusal("busy", message, "retry", path=path, retry_after_ms=50)
    if error.errno in _NO_DESCRIPTORS:
        message = f"{path} cannot be opened: no file descriptors are left ({reason}). Nothing was changed; call again."
        return Refusal("busy", message, "retry", path=path, limit="descriptors", retry_after_ms=500)
    if error.errno == errno.ENAMETOOLONG:
        return Refusal("schema_invalid", "A name in the path is too long for the disk.", argument="path", path=path)
    return error


def close(fd: int) -> None:
    """Close a descriptor that was not written to, ignoring errors."""
    with suppress(OSError):
        os.close(fd)


class Parent:
    """Context manager that opens the folder of a path and closes it; gives (descriptor, name of the file in the
    folder).

    A class, as `contextlib.contextmanager` takes twice as long.
    """

    __slots__ = ("_beneath", "_fd", "_path")

    def __init__(self, beneath: Beneath, path: str) -> None:
        self._beneath, self._path = beneath, path
        self._fd = -1  # -1: the path is in the top folder

    def __enter__(self) -> tuple[int, str]:
        folder, _, name = self._path.rpartition("/")
        if not folder:
            return self._beneath.fd, name
        self._fd = self._beneath.reach(folder, syscalls.O_PATH | os.O_DIRECTORY, self._path)
        return self._fd, name

    def __exit__(self, *raised: object) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            close(fd)


class Beneath:
    def __init__(self, fd: int, use_openat2: bool) -> None:
        self.fd = fd
        self._use_openat2 = use_openat2
        # of the folder, compared with the mounts of opened files if openat2 is missing
        self._mount: tuple[int, int] | None = None

    def open(self, path: str, flags: int, folder: int | None = None) -> int:
        """Return a descriptor for `path` below `folder` (a descriptor; None: the top), following no link and crossing
        no mount. Raises OSError (EXDEV: another mount).
        """
        folder, flags = self.fd if folder is None else folder, flags | os.O_NOFOLLOW
        if self._use_openat2:
            return syscalls.openat2(folder, path.encode(_ENCODING, "surrogateescape"), flags, RULES)
        return self._walk(folder, path, flags)

    def _walk(self, folder: int, path: str, flags: int) -> int:
        *folders, last = path.split("/")
        here = os.dup(folder)
        try:
            for name in folders:
                below = self._step(here, name, syscalls.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
                os.close(here)
                here = below
            return self._step(here, last, flags)
        finally:
            os.close(here)

    def _step(self, folder: int, name: str, flags: int) -> int:
        if name == "..":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        fd = os.open(name, flags | os.O_CLOEXEC, dir_fd=folder)
        if self._mount is None:
            self._mount = mount_of(self.fd)
        if mount_of(fd) != self._mount:
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return fd

    def parent(self, path: str) -> Parent:
        """Context manager: descriptor of the folder of `path`, and the last name. Raises FileVanished, Refusal."""
        return Parent(self, path)

    def reach(self, path: str, flags: int = syscalls.O_PATH, named: str = "") -> int:
        """Open `path` as `open` does, but raise FileVanished or Refusal, about the path `named` (default: `path`)."""
        try:
            return self.open(path, flags)
        except OSError as error:
            if error.errno in _GONE:
                raise FileVanished(named or path) from error
            raise refusal(error, named or path) from error

    def look(self, path: str) -> Look:
        """Return kind and signature of `path` without opening it. Raises Refusal if a folder above cannot be
        entered.
        """
        try:
            if not syscalls.HAS_PATH_FDS:
                signature = self._stat(path)
            else:
                fd = self.reach(path)
                try:
                    signature = Signature.of(os.fstat(fd))
                finally:
                    os.close(fd)
        except FileVanished:
            return Look("missing", None)
        return Look(signature.kind, signature)

    def _stat(self, path: str) -> Signature:
        with self.parent(path) as (folder, name):
            try:
                seen = Signature.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
            except FileNotFoundError as error:
                raise FileVanished(path) from error
            except OSError as error:
                raise refusal(error, path) from error
        if seen.dev != os.fstat(self.fd).st_dev:
            raise on_another_mount(path)
        return seen

    def open_file(self, path: str, flags: int = os.O_RDONLY) -> int:
        """Return a descriptor for the regular file `path`. Raises FileVanished, NotRegular, Refusal, FileBusy (a
        lease).

        The kind is checked first: opening a FIFO kills its writer with SIGPIPE, and opening a device may do anything.
        """
        flags |= os.O_NONBLOCK | os.O_NOCTTY
        try:
            return self._open_seen(path, flags) if syscalls.HAS_PATH_FDS else self._open_unseen(path, flags)
        except BlockingIOError as error:
            raise FileBusy(path) from error
        except OSError as error:
            raise refusal(error, path) from error

    def _open_seen(self, path: str, flags: int) -> int:
        seen = self.reach(path)
        try:
            if not stat.S_ISREG(os.fstat(seen).st_mode):
                raise NotRegular(path)
            return syscalls.reopen(seen, flags)
        finally:
            os.close(seen)

    def _open_unseen(self, path: str, flags: int) -> int:
        """Open a file on a system without O_PATH. The kind is checked before and after. Raises as `open_file`."""
        if self._stat(path).kind != "file":
            raise NotRegular(path)
        fd = self.reach(path, flags)
        if Signature.of(os.fstat(fd)).kind != "file":
            os.close(fd)
            raise NotRegular(path)
        return fd

    def read_link(self, path: str) -> bytes:
        """Return the target of the link `path`. Raises FileVanished, NotRegular (not a link), Refusal."""
        with self.parent(path) as (folder, name):
            try:
                return os.readlink(os.fsencode(name), dir_fd=folder)
            except FileNotFoundError as error:
                raise FileVanished(path) from error
            except OSError as error:
                if error.errno == errno.EINVAL:
                    raise NotRegular(path) from error
                raise refusal(error, path) from error
