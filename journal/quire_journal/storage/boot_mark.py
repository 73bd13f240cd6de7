"""Boot mark: file that names the boot of the machine in which the database was last in use, so that a start after a
kill skips the check of the database.

Killing a process does not damage a database; only the end of the machine can lose or tear pages. It also makes the mark
invalid, which is therefore never synced. The mark names the folder of the database, too, so that a copy, perhaps made
during a commit, is checked.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

NAME: Final = "boot"

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the kernel's boot id; "" if unknown."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def leave(journal: Path) -> None:
    """Write the mark of this boot into the folder of a journal. Errors are ignored, as a database without mark is
    checked.
    """
    with contextlib.suppress(OSError):
        (journal / NAME).write_text(_mark(journal), "ascii")


def holds(journal: Path) -> bool:
    """True if the mark is of this boot and this folder."""
    try:
        left, now = (journal / NAME).read_text("ascii", "replace"), _mark(journal)
    except OSError:
        return False
    return bool(now) and left == now


def _mark(journal: Path) -> str:
    boot, folder = boot_id(), os.stat(journal / "db")
    return boot and f"{boot} {folder.st_dev} {folder.st_ino}"
