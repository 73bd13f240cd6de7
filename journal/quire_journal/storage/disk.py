"""Disk: free space, and whether a folder is fit for a journal."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quire_journal.storage.port import StoreFailure
from quire_journal.storage.stores import UnfitFolder

FULL_BELOW_BYTES: Final = 1 << 20
"""Free space below which a start uses the space kept in reserve (`reserve`)."""

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""errno of a full disk or quota."""

_TRIED_BYTES: Final = 64 << 10

_ROOM_BYTES: Final = 16 << 20
"""Free space that a compaction leaves to other writers."""

_REMOTE: Final = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x01021997: "9p",
    0x65735546: "FUSE",
    0x5346414F: "AFS",
    0x00C36400: "Ceph",
    0x0BD00BD0: "Lustre",
    0x786F4256: "a shared folder of VirtualBox",
    0xBACBACBC: "a shared folder of VMware",
}
"""statfs(2) magic numbers of file systems whose memory maps or locks are unfit for LMDB."""


def require_fit(folder: Path, file_system_of: Callable[[Path], int] | None = None) -> None:
    """Create `folder` if missing. Raise `UnfitFolder` if it is unfit for a journal. `file_system_of` returns the
    statfs(2) magic number.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.stat(folder)
    except OSError as error:
        raise UnfitFolder(f"the state folder {folder} cannot be made or read: {error.strerror}") from error
    if found.st_uid != os.geteuid():
        raise UnfitFolder(
            f"the state folder {folder} belongs to user {found.st_uid}, not to {os.geteuid()}; "
            "run as its owner, or choose another with XDG_STATE_HOME"
        )
    if stat.S_IMODE(found.st_mode) & 0o022:
        raise UnfitFolder(
            f"others can write to the state folder {folder}; look at what it holds, then run `chmod go-w {folder}`"
        )
    kind = _REMOTE.get((file_system_of or file_system)(folder), "")
    if kind:
        raise UnfitFolder(
            f"the state folder {folder} lies on {kind}, where a journal can be damaged; "
            "set XDG_STATE_HOME to a folder on a local disk"
        )


def file_system(folder: Path) -> int:
    """Return the statfs(2) magic number of the file system; 0 if unknown (not Linux)."""
    if sys.platform != "linux":
        return 0
    # Larger than any struct statfs; f_type is its first word. os.statvfs does not have it.
    answer = (ctypes.c_long * 64)()
    if ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(folder), ctypes.byref(answer)) != 0:
        return 0
    return int(answer[0]) & 0xFFFFFFFF


def free_bytes(folder: Path) -> int:
    """Return the free space for this user. Raises `OSError`."""
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize


def require_room(folder: Path, copy_bytes: int) -> None:
    """Raise `StoreFailure` if a copy of `copy_bytes` does not fit, with room for other writers; OSError if unknown."""
    needed, free = copy_bytes + _ROOM_BYTES, free_bytes(folder)
    if free < needed:
        raise StoreFailure(
            f"a compaction needs {needed >> 20} MiB for its copy, and {free >> 20} MiB are free on the disk of "
            f"{folder.parent}; free {(needed - free >> 20) + 1} MiB more there",
            disk_full=True,
        )


def takes_nothing(folder: Path) -> bool:
    """True if the disk has no room for a small file; False for other errors."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as tried:
            tried.write(bytes(_TRIED_BYTES))
            os.fsync(tried.fileno())
            return os.fstat(tried.fileno()).st_size < _TRIED_BYTES
    except OSError as error:
        return error.errno in NO_ROOM
