"""New files that have no name yet, and where on the disk they lie.

ext4 without a journal, as many virtual machines for agents have it, gives nobody an inode that was removed in the last
minutes, for its number may stand in a folder that is not written yet. From the first of that part of the disk where the
folder lies it passes over them, one by one. Each write of ours removes one there, and so do the other programs whose
folders lie there: a new file took 80 to 500 µs, where it takes 6, and that was a third of an undo of a thousand files.
So there, from some files on, they are made in turns in folders that lie in other parts of the disk. That is all that
these folders are for: no name is ever made in them. Elsewhere a new file lies near those that it belongs to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, cycle
from typing import Final

from quire_daemon.workspace import syscalls
from quire_daemon.workspace.types import FileVanished
from quire_journal.model import Refusal

FOLDERS: Final = ".quire/blanks"

PARTS: Final = 16
"""Of the disk, in which that many folders lie."""

SPREAD_FROM: Final = 256
"""Files of one run, from which on that is worth the folders: to make or remove one can take milliseconds."""


class Blanks:
    """Opens new files without a name. For any thread."""

    def __init__(
        self,
        tmp: int,
        make: Callable[[str], int],
        passes_over: Callable[[int], bool],
        spread_from: int = SPREAD_FROM,
    ) -> None:
        """`tmp`: the folder in which they are made as long as nothing is gained elsewhere.

        `make` makes a folder, and opens it. `passes_over`: does the disk of this folder do that?
        """
        self.tmp = tmp
        self._make, self._passes_over, self._spread_from = make, passes_over, spread_from
        self._numbers: Iterator[int] = count(1)
        self._above = -1  # the folder in which those are that lie elsewhere
        self._turns: Iterator[str] | None = None  # of those

    def open(self) -> int:
        """One more, private and empty. Raises OSError."""
        if next(self._numbers) == self._spread_from:
            self._spread()
        turns = self._turns
        if turns is not None:
            try:
                return _open(next(turns), self._above)
            except OSError:  # say somebody has removed that folder
                self._turns = None
        return _open(".", self.tmp)

    def _spread(self) -> None:
        """Make them elsewhere from now on, where that is worth it, and can be done."""
        with suppress(OSError, Refusal, FileVanished):
            if self._passes_over(self.tmp):
                self._above = self._make(FOLDERS)
                syscalls.spread_folders(self._above)
                names = [str(part) for part in range(PARTS)]
                for name in names:
                    os.close(self._make(f"{FOLDERS}/{name}"))
                self._turns = cycle(names)

    def close(self) -> None:
        """Give the folder back. Idempotent."""
        self._turns = None
        if self._above >= 0:
            os.close(self._above)
            self._above = -1


def _open(folder: str, above: int) -> int:
    return os.open(folder, syscalls.O_TMPFILE | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=above)
