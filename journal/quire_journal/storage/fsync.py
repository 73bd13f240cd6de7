"""Durable files and names. Imports only the standard library, as every start of the command line imports this."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def rename(new: Path, path: Path) -> None:
    sync_path(new)
    os.rename(new, path)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Sync the file, or the names in the folder, at `path`. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_data(file: int) -> None:
    """Sync the bytes of an open file whose size is already durable. Raises `OSError`."""
    if sys.platform == "darwin":  # fsync(2) there leaves bytes in the disk's cache
        import fcntl

        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(file)
