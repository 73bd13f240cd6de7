"""Making files and their names last, so that a power cut does not take them back.

Standard library only: every start of the command line pays for this import.
"""

from __future__ import annotations

import os
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
