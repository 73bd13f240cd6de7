"""Creation of missing folders, for writes and for Quire's own files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quire_daemon.workspace.confine import Beneath
from quire_daemon.workspace.entries import UNFINISHED, finish
from quire_daemon.workspace.stage import StagedWrite
from quire_daemon.workspace.types import FileVanished
from quire_journal.model import Refusal
from quire_journal.workspaces import mount_of

_INTO: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NewFolders:
    def __init__(self, beneath: Beneath, step: Callable[[str], None]) -> None:
        self._beneath = beneath
        self._step = step

    def make(self, path: str, staged: StagedWrite) -> None:
        """Make the missing folders above `path`, with the mode of their parent. Raises Refusal, OSError."""
        names = path.split("/")[:-1]
        for count in range(1, len(names) + 1):
            folder = "/".join(names[:count])
            kind = self._beneath.look(folder).kind
            if kind == "folder":
                continue
            if kind != "missing":
                message = f"{folder} is not a folder, so nothing can be made in it."
                raise Refusal("not_a_file", message, path=path)
            self._make_folder(folder, staged)
        if staged.folders:
            self._step("perform.folders_made")

    def remove(self, staged: StagedWrite) -> None:
        """Remove the folders made for an abandoned write, deepest first, up to one that is in use."""
        while staged.folders:
            path = staged.folders.pop()
            try:
                with self._beneath.parent(path) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except (OSError, FileVanished, Refusal):
                return  # in use

    def _make_folder(self, path: str, staged: StagedWrite) -> None:
        with self._beneath.parent(path) as (above, name):
            mode = stat.S_IMODE(os.fstat(above).st_mode)
            try:
                os.mkdir(name, UNFINISHED, dir_fd=above)
            except FileExistsError:
                return
        staged.folders.append(path)
        fd = self._beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(fd, mode)  # the daemon's umask is for its own files
        finally:
            os.close(fd)


def own_folder(root: Path | str, path: str) -> int:
    """Return a descriptor of Quire's folder `path` below `root`, made if missing, without links and mounts. Raises
    OSError.
    """
    fd = os.open(root, _INTO & ~os.O_NOFOLLOW)
    mount = mount_of(fd)
    for name in path.split("/"):
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=fd)
            below = os.open(name, _INTO, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
        if mount_of(fd) != mount:
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    return fd


def finish_made(beneath: Beneath, path: str) -> bool:
    """Set the mode of an empty folder that a killed daemon left unfinished; return True if it was.

    Raises OSError, Refusal, FileVanished, NotRegular.
    """
    with beneath.parent(path) as (above, _name):
        mode = stat.S_IMODE(os.fstat(above).st_mode)
    return finish(beneath, path, mode)
