"""Boot mark: the boot of the machine in which the database was last in use. A start after a kill checks nothing by it.

Killing a process does not damage a database; only the end of the machine can lose or tear pages, and after it the mark
is worthless: it is never synced. A copy, perhaps of a database amid a commit, lies in another folder, which the mark
tells.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

NAME: Final = "boot"

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The kernel's boot id; "" if unknown."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def leave(journal: Path) -> None:
    """Leave the mark of this boot in the folder of a journal. A mark that cannot be written is not believed."""
    with contextlib.suppress(OSError):
        (journal / NAME).write_text(_mark(journal), "ascii")


def holds(journal: Path) -> bool:
    """True if the mark is of this boot and of this folder."""
    try:
        left, now = (journal / NAME).read_text("ascii", "replace"), _mark(journal)
    except OSError:
        return False
    return bool(now) and left == now


def _mark(journal: Path) -> str:
    boot, folder = boot_id(), os.stat(journal / "db")
    return boot and f"{boot} {folder.st_dev} {folder.st_ino}"
