"""Files with several names (hard links): what another program writes through one name stands at all of them.

The kernel tells of the name alone that was used. So each name of such a file that is told of stands for the others,
too, which a crawl of the whole tree finds: each comparison is one, and where a name turns up that the last one did not
meet, they are looked for once more. Not again and again, though, for programs that make links all the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from quire_daemon.core import StatEntry
from quire_daemon.workers import StartJob
from quire_daemon.workspace import Signature

REST: Final = 10.0
"""How often as long as a crawl for names took nothing is looked for: 0.1 s for 20,000 files."""

Inode = tuple[int, int]
"""Device and number."""


def several_names(entries: Iterable[StatEntry]) -> list[StatEntry]:
    """Those that are files with more than one name, in the workspace or out of it."""
    return [entry for entry in entries if entry.kind == "file" and entry.nlink > 1]


class LinkNames:
    """The names of such files, as far as they are known. For the loop's thread."""

    def __init__(self) -> None:
        self._inodes: dict[str, Inode] = {}
        self._names: dict[Inode, list[str]] = {}

    def others(self, path: str) -> Sequence[str]:
        """The other names of the file at `path`, when it was met last."""
        inode = self._inodes.get(path)
        return [name for name in self._names[inode] if name != path] if inode is not None else ()

    def inode_of(self, path: str) -> Inode | None:
        """The file that `path` is a name of; None: of none that is known to have several."""
        return self._inodes.get(path)

    def know(self, entries: Iterable[StatEntry]) -> list[str]:
        """These are all that there are; the names that were not known for one file before."""
        before = self._inodes
        self._inodes = {entry.path: (entry.dev, entry.ino) for entry in entries}
        self._names = {}
        for path, inode in self._inodes.items():
            self._names.setdefault(inode, []).append(path)
        news = {inode for path, inode in self._inodes.items() if before.get(path) != inode}
        return [path for inode in news if len(self._names[inode]) > 1 for path in self._names[inode]]


class HardLinks:
    """Looks for the names of such files, where one turned up. For the loop's thread, but for `crawl`."""

    def __init__(
        self,
        names: LinkNames,
        crawl: Callable[[], list[StatEntry]],
        start_job: StartJob,
        name: Callable[[str], None],
        failed: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        """`crawl`: all of the tree's `several_names`. `name`: look at this path soon. `failed`: a crawl did.

        `now`: monotonic, in seconds.
        """
        self._names, self._crawl, self._start_job = names, crawl, start_job
        self._name, self._failed, self._now = name, failed, now
        self._wanted = self._begun = False
        self._next_s = 0.0

    def looked(self, path: str, signature: Signature | None) -> None:
        """A file stands at `path` with this signature: does nobody know of its names?"""
        if signature is not None and signature.nlink > 1 and signature.kind == "file":
            self._wanted |= self._names.inode_of(path) != (signature.dev, signature.ino)

    @property
    def busy(self) -> bool:
        """Are there names to be looked for?"""
        return self._wanted or self._begun

    @property
    def next_s(self) -> float:
        """When `look` has something to do."""
        return self._next_s if self._wanted and not self._begun else math.inf

    def look(self, now: float) -> None:
        """Look for the names of what turned up, if it is time."""
        if not self._wanted or self._begun or now < self._next_s:
            return
        self._wanted, self._begun = False, True

        def work() -> Callable[[], None]:
            entries = self._crawl()

            def then() -> None:
                self._begun, self._next_s = False, self._now() + REST * (self._now() - now)
                for path in self._names.know(entries):
                    self._name(path)

            return then

        def failed(error: Exception) -> None:
            self._begun = False
            self._failed()  # which meets all of them
            raise error

        self._start_job(work, "names of files", failed)
