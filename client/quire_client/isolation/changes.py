"""Lists what a command changed, from the upper folder of its overlayfs mount.

Source: Documentation/filesystems/overlayfs.rst of Linux: a removed name is a device 0/0, and a folder that replaced
another has the attribute `overlay.opaque`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

OPAQUE: Final = "user.overlay.opaque"


class ChangedPath(NamedTuple):
    """A path, relative to the checkout, as the command left it; kind "gone" means removed."""

    path: str
    kind: Literal["file", "link", "folder", "gone", "special"]
    mode: int = 0  # permission bits
    size: int = 0  # of a file, in bytes


def changes_in(upper: Path, root: Path, hidden: tuple[str, ...]) -> Iterator[ChangedPath]:
    """Return all changed paths, each folder before its content. `hidden` are top-level names to skip."""
    yield from _below(upper, root, "", hidden)


def _below(upper: Path, root: Path, within: str, hidden: tuple[str, ...] = ()) -> Iterator[ChangedPath]:
    with os.scandir(upper / within) as entries:
        found = sorted((entry for entry in entries if entry.name not in hidden), key=lambda entry: entry.name)
    for entry in found:
        path = os.path.join(within, entry.name)
        status = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            yield from _gone(root, path)
        elif stat.S_ISLNK(status.st_mode):
            yield ChangedPath(path, "link", mode)
        elif stat.S_ISREG(status.st_mode):
            yield ChangedPath(path, "file", mode, status.st_size)
        elif stat.S_ISDIR(status.st_mode):
            yield ChangedPath(path, "folder", mode)
            yield from _below(upper, root, path)
            if _is_opaque(entry.path):
                yield from (one for one in _within(root, path) if not os.path.lexists(upper / one.path))
        else:
            yield ChangedPath(path, "special", mode)


def _is_opaque(path: str) -> bool:
    with suppress(OSError):
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    return False


def _gone(root: Path, path: str) -> Iterator[ChangedPath]:
    if os.path.isdir(root / path) and not os.path.islink(root / path):
        yield from _within(root, path)
    yield ChangedPath(path, "gone")


def _within(root: Path, path: str) -> Iterator[ChangedPath]:
    if os.path.islink(root / path):
        return  # what is behind it is not in the checkout under this name
    for folder, folders, files in os.walk(root / path, topdown=False):
        inside = os.path.relpath(folder, root)
        yield from (ChangedPath(os.path.join(inside, name), "gone") for name in sorted((*files, *folders)))
