"""Names in `.quire/displaced`, where bytes lie that the journal must not have, or that are too many for it.

Each is given once: what is there already stays as it is, whoever put it there. A file of `.quire/tmp` gets its name
beside the one that it has, so that a start finds it there as long as the log does not tell of it.
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
"""How a file system, or the system for a file of another user, refuses a second name."""


def put(folder: int, name: str, part: str, data: bytes) -> str:
    """Write `data` into a file of `folder` that is called `name`, or nearly; its name. `part`: until it is complete.

    A file with these bytes that is called so is the one. Raises OSError; nothing remains then.
    """
    unlink(folder, part)  # never written into: it may be another name of any file
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
    unlink(folder, part)  # where another had the bytes
    return named


def link(tmp: int, name: str, folder: int, to: str) -> str:
    """Let the file `name` of `tmp` be called `to`, or nearly, in `folder`; that name. Once more does no harm.

    Without second names it is the only one from then on. Raises OSError.
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
    """The first name from `name` on that can be given, or that the file has already."""
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
    """Is that a file of exactly these bytes?"""
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
