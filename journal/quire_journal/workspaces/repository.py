"""Git repository of a folder: the places of its parts (gitrepository-layout(5)). Imports only the standard library; git
is not run.
"""

from __future__ import annotations

import os
import stat
from typing import Final

_TAIL_BYTES: Final = 16384


def git_folder(root: str) -> str:
    """Return the folder of the repository whose worktree is at `root`; "" if there is none. `.git` is a folder, a file
    that names a folder relative to `root`, or a link to either.
    """
    git = os.path.join(root, ".git")
    try:
        mode = os.stat(git).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):
        return git
    pointer = file_tail(os.path.realpath(git))[0] if stat.S_ISREG(mode) else b""
    return os.path.join(root, os.fsdecode(pointer[7:].strip())) if pointer.startswith(b"gitdir:") else ""


def common_folder(folder: str) -> str:
    """Return the folder common to all worktrees of the repository, given one worktree's own folder."""
    named = file_tail(os.path.join(folder, "commondir"))[0].strip()
    return os.path.join(folder, os.fsdecode(named)) if named else folder


def regular_bytes(file: str, most: int) -> bytes:
    """Return the last `most` bytes of a regular file; b"" for any other file."""
    return file_tail(file, most)[0]


def file_tail(file: str, most: int = _TAIL_BYTES) -> tuple[bytes, int]:
    """Return the end of a regular file, and its mtime in ns; (b"", 0) for other files. Never blocks (FIFO), never
    follows a link.
    """
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b"", 0
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return b"", 0
        return os.pread(fd, most, max(0, found.st_size - most)), found.st_mtime_ns
    except OSError:
        return b"", 0
    finally:
        os.close(fd)
