"""Files in `.quire/displaced`: bytes that the journal must not have, or that are too large.

No existing file is replaced. A file of `.quire/tmp` gets a second name here, so that recovery finds the first until the
log records it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.displaced import unlink
from quire_daemon.workspace.read import read_all

_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
"""Errors of a file system without hard links, or for a file of another user."""


def put(folder: int, name: str, part: str, data: bytes) -> str:
    """Write `data` into a new file `name` or `name.N` of `folder`, unless one has these bytes; return its name. `part`:
    name of the incomplete file. Raises OSError, leaving no file.
    """
    unlink(folder, part)  # never written into: it may be a link to any file
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        named = _named(
            name, lambda to: syscalls.rename_new(folder, part, folder, to), lambda to: _holds(folder, to, data)
        )
    except OSError:
        unlink(folder, part)
        raise
    unlink(folder, part)  # if an existing file had the bytes
    return named


def link(tmp: int, name: str, folder: int, to: str) -> str:
    """Link the file `name` of `tmp` into `folder` as `to` or `to.N`; return that name. Idempotent.

    Without hard links the file is renamed. Raises OSError.
    """
    try:
        found = os.stat(name, dir_fd=tmp, follow_symlinks=False)
    except FileNotFoundError:
        os.stat(to, dir_fd=folder, follow_symlinks=False)
        return to

    def give(free: str) -> None:
        try:
            os.link(name, free, src_dir_fd=tmp, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            syscalls.rename_new(tmp, name, folder, free)

    def is_it(there: str) -> bool:
        return os.path.samestat(found, os.stat(there, dir_fd=folder, follow_symlinks=False))

    return _named(to, give, is_it)


def _named(name: str, give: Callable[[str], None], is_it: Callable[[str], bool]) -> str:
    for candidate in _from(name):
        try:
            give(candidate)
        except FileExistsError:
            if not is_it(candidate):
                continue
        return candidate
    raise AssertionError("numbers do not end")


def _from(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}.{number}" for number in count(2))


def _holds(folder: int, name: str, data: bytes) -> bool:
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        return os.fstat(fd).st_size == len(data) and read_all(fd, len(data)) == data
    except OSError:  # a folder
        return False
    finally:
        os.close(fd)
