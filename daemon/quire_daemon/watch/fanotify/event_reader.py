"""Reader of kernel events: finds folders and writing processes, and fills the table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from quire_daemon.ops import Process
from quire_daemon.watch.fanotify.kernel import OF_A_FOLDER, OVERFLOW, RENAMED, KernelEvent
from quire_daemon.watch.fanotify.write_table import WriteTable

ALWAYS_IGNORED: Final = frozenset({b".git", b".quire"})
RULES: Final = frozenset({b".gitignore", b".quireignore", b".quire.toml"})

MOST_FOLDERS: Final = 50_000
"""Maximum number of remembered folders; beyond it, all are dropped and resolved again when needed."""

SURE_S: Final = 0.005
"""Seconds for which a process is not read again, unless it runs another program."""

RECYCLED_S: Final = 1.0
"""Seconds within which no pid is reused."""

Line = tuple[Process, ...]


class FolderSource(Protocol):
    """Interface to the kernel: finds and ignores folders given by file handle."""

    def path_of(self, folder: bytes) -> bytes | None: ...
    def ignore(self, folder: bytes) -> None: ...
    def ignore_none(self) -> None: ...


class Folders:
    def __init__(self, kernel: FolderSource) -> None:
        self._kernel = kernel
        self._paths: dict[bytes, bytes | None] = {}  # None: outside, or ignored
        self._ignored: set[bytes] = set()  # outermost ignored folders of the checkout
        self.unasked: set[bytes] = set()  # folders of the checkout not yet known as ignored or not

    def path_of(self, folder: bytes) -> bytes | None:
        """Return the path of a folder given by handle, b"" for the root; None if outside, ignored or missing. Raises
        `OSError`.
        """
        try:
            return self._paths[folder]
        except KeyError:
            path = self._kernel.path_of(folder)
            if path is not None and self._is_ignored(path):
                self._kernel.ignore(folder)
                path = None
            self._keep(folder, path)
            return path

    def forget(self) -> None:
        """Clear the cache of folder paths and the ignored folders, in the kernel, too."""
        self._paths.clear()
        self._ignored.clear()
        self.unasked.clear()
        self._kernel.ignore_none()

    def ignore(self, folders: Iterable[bytes]) -> None:
        self._ignored.update(folders)
        for handle in [h for h, path in self._paths.items() if path is not None and self._is_ignored(path)]:
            self._paths[handle] = None
            self._kernel.ignore(handle)

    def _keep(self, folder: bytes, path: bytes | None) -> None:
        if len(self._paths) >= MOST_FOLDERS:
            self._paths.clear()
        self._paths[folder] = path
        if path:
            self.unasked.add(path)

    def _is_ignored(self, path: bytes) -> bool:
        if not ALWAYS_IGNORED.isdisjoint(path.split(b"/")):
            return True
        if not self._ignored:
            return False
        while path:
            if path in self._ignored:
                return True
            path = path.rpartition(b"/")[0]
        return False


class Processes:
    """Cache of processes with their ancestors, by pid. An ended process is still returned for `RECYCLED_S` after it was
    read.
    """

    def __init__(self, read: Callable[[int], Line], name: Callable[[int], str]) -> None:
        self._read, self._name = read, name
        self._known: dict[int, tuple[float, Line]] = {}  # pid → (time read, the process and its ancestors)

    def line(self, pid: int, now_s: float) -> Line | None:
        """Return the process and its ancestors; None if the process ended before it was read."""
        read_s, known = self._known.get(pid, (float("-inf"), ()))
        if now_s - read_s < SURE_S and self._name(pid) in (known[0].name, ""):
            return known
        found = self._read(pid) if pid > 0 else ()
        if not found:
            return known if known and now_s - read_s < RECYCLED_S else None
        if known and known[0].start == found[0].start and len(found) < len(known):  # a parent has ended since
            found = (found[0], *known[1:])
        if len(self._known) >= 4096:
            self._known = {p: one for p, one in self._known.items() if now_s - one[0] < RECYCLED_S}
        self._known[pid] = now_s, found
        return found


class EventReader:
    def __init__(self, folders: Folders, processes: Processes, table: WriteTable[Line], own: Iterable[int]) -> None:
        self._folders, self._processes, self._table = folders, processes, table
        self._own = frozenset(own)  # processes to leave out

    def take(self, events: Iterable[KernelEvent], now_s: float) -> None:
        """Add kernel events, read at `now_s` (monotonic), to the table."""
        for event in events:
            if event.mask & OVERFLOW:
                self._table.lose(now_s)
                self._folders.forget()
            elif event.pid not in self._own and event.name and event.name != b".":
                try:
                    self._take(event, now_s)
                except OSError:  # a limit of this process: the place is unknown
                    self._table.lose(now_s)

    def _take(self, event: KernelEvent, now_s: float) -> None:
        path = self._path(event.folder, event.name)
        to = self._path(event.to_folder, event.to_name) if event.mask & RENAMED else None
        if path is None and to is None:
            return
        moved = bool(event.mask & OF_A_FOLDER and event.mask & RENAMED)
        who = self._processes.line(event.pid, now_s)
        for one, other in ((path, to), (to, path)):
            if one is not None:
                self._table.note(os.fsdecode(one), event.file, who, now_s, os.fsdecode(other or b"") if moved else None)
        if moved or event.name in RULES or event.to_name in RULES:
            self._folders.forget()

    def _path(self, folder: bytes, name: bytes) -> bytes | None:
        above = self._folders.path_of(folder) if folder else None
        return None if above is None else above + b"/" + name if above else name
