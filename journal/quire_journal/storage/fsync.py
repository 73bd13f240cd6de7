"""Making files and their names last, so that a power cut does not take them back.

Standard library only: every start of the command line pays for this import.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def rename(new: Path, path: Path) -> None:
    """Rename `new` to `path` so that it lasts."""
    sync_path(new)
    os.rename(new, path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Make the file, or the names in the folder, at `path` last. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_data(file: int) -> None:
    """Make the bytes last that were written to a file that is open, of a size that lasts. Raises `OSError`."""
    if sys.platform == "darwin":  # fsync(2) there leaves bytes with the disk, which may keep them in its memory
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)
