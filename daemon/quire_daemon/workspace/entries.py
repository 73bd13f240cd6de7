"""Creation and removal of links and empty folders, each by one system call that never replaces an entry."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from quire_daemon.core import Make
from quire_daemon.workspace.confine import Beneath, close
from quire_daemon.workspace.types import FileVanished, InDoubt, NotRegular, SwapDone, SwapLost
from quire_journal.model import LINK, Refusal

UNFINISHED: Final = 0o700
"""Mode of a new folder until its own mode is set."""


def make(beneath: Beneath, write: Make, step: Callable[[str], None] = lambda name: None) -> SwapDone | SwapLost:
    """Create the link or folder; `SwapLost` if something is there. Raises OSError, Refusal, FileVanished (no parent
    folder).
    """
    with beneath.parent(write.path) as (folder, name):
        try:
            if write.entry == LINK:
                os.symlink(write.target, os.fsencode(name), dir_fd=folder)
                with suppress(OSError):
                    step("perform.made")
                return SwapDone(None)
            os.mkdir(name, UNFINISHED, dir_fd=folder)
        except FileExistsError:
            return SwapLost("exists")
    try:
        step("perform.made")
        made = beneath.open(write.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(made, write.mode)  # the daemon's umask is for its own files
        finally:
            close(made)
    except OSError as error:
        _take_back(beneath, write.path, error)
    return SwapDone(None)


def _take_back(beneath: Beneath, path: str, fault: OSError) -> None:
    """Remove the new folder, then raise `fault`; if the folder cannot be removed, InDoubt."""
    try:
        with beneath.parent(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)
    except (FileNotFoundError, FileVanished):
        pass
    except (OSError, Refusal) as error:
        raise InDoubt(*fault.args) from error
    raise fault


def clear(beneath: Beneath, path: str) -> int | SwapLost:
    """Remove the empty folder at `path` and return its mode; `SwapLost` if there is no empty folder. Raises OSError,
    Refusal, FileVanished.
    """
    with beneath.parent(path) as (above, name):
        try:
            seen = os.stat(name, dir_fd=above, follow_symlinks=False)
            os.rmdir(name, dir_fd=above)
        except FileNotFoundError:
            return SwapLost("missing")
        except NotADirectoryError:
            return SwapLost("not_a_file")
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return SwapLost("changed")
            raise
    return stat.S_IMODE(seen.st_mode)


def finish(beneath: Beneath, path: str, mode: int) -> bool:
    """Set the mode of the folder at `path` if it is empty and has the mode of an unfinished one; return True if so.

    Raises OSError, Refusal, FileVanished, NotRegular.
    """
    made = beneath.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        now = stat.S_IMODE(os.fstat(made).st_mode) & ~stat.S_ISGID  # inherited from the parent folder
        if now != UNFINISHED or mode == UNFINISHED or os.listdir(made):
            return False
        os.fchmod(made, mode)
    finally:
        os.close(made)
    return True


def unmake(beneath: Beneath, write: Make) -> SwapDone | SwapLost:
    """Remove the result of `make` if it is still a link with the same target, or an empty folder; else return
    `SwapLost`. Raises OSError, Refusal, FileVanished.
    """
    if write.entry == LINK:
        try:
            if beneath.read_link(write.path) != write.target:
                return SwapLost("changed")
        except FileVanished:
            return SwapLost("missing")
        except NotRegular:
            return SwapLost("changed")
    with beneath.parent(write.path) as (folder, name):
        try:
            if write.entry == LINK:
                os.unlink(name, dir_fd=folder)
            else:
                os.rmdir(name, dir_fd=folder)
        except FileNotFoundError:
            return SwapLost("missing")
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR):
                return SwapLost("changed")
            raise
    return SwapDone(None)
