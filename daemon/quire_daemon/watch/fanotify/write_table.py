"""Table of recent writes by process, from kernel events. Pure.

A file is known by paths and kernel handle, so writes under a temporary name count for the final one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Generic, NamedTuple, TypeVar

W = TypeVar("W", bound=Hashable)

KEPT_S: Final = 120.0

MOST: Final = 20_000
"""Maximum number of entries; questions about the time of dropped ones have no answer."""


class WriteOf(NamedTuple, Generic[W]):
    path: str
    who: W | None  # None: the process ended unread
    first_s: float
    last_s: float


class _Entry(Generic[W]):
    __slots__ = ("file", "first_s", "last_s", "other_end", "path", "who")

    def __init__(self, path: str, file: bytes, who: W | None, other_end: str | None, at_s: float) -> None:
        self.path = path  # "": unknown
        self.file = file  # b"": unknown
        self.who = who  # None: the process ended unread
        self.other_end = other_end  # of a renamed folder; "": outside
        self.first_s = self.last_s = at_s


class WriteTable(Generic[W]):
    """Table of recent writes by file and process. Times are monotonic, of the reading of the kernel's event, so never
    before the write.
    """

    def __init__(self, kept_s: float = KEPT_S, most: int = MOST) -> None:
        self._kept_s, self._most = kept_s, most
        self._all: OrderedDict[tuple[str, bytes, W | None, str | None], _Entry[W]] = OrderedDict()  # latest write last
        self._by_path: dict[str, list[_Entry[W]]] = {}
        self._by_file: dict[bytes, list[_Entry[W]]] = {}
        self._lost_s = float("-inf")  # time of the last lost event

    def __len__(self) -> int:
        return len(self._all)

    def note(self, path: str, file: bytes, who: W | None, at_s: float, other_end: str | None = None) -> None:
        """Add a write, creation, removal or rename. `other_end`: the other path of a renamed folder, "" if outside the
        root.
        """
        key = (path, file, who, other_end)
        entry = self._all.get(key)
        if entry is not None:
            entry.last_s = at_s
            self._all.move_to_end(key)
            return
        self._tidy(at_s)
        entry = self._all[key] = _Entry(path, file, who, other_end, at_s)
        if path:
            self._by_path.setdefault(path, []).append(entry)
        if file:
            self._by_file.setdefault(file, []).append(entry)

    def lose(self, at_s: float) -> None:
        """Record that events until `at_s` are missing."""
        self._lost_s = at_s

    def writes(self, path: str, since_s: float, now_s: float) -> list[WriteOf[W]] | None:
        """Return the writes to the file at `path` since `since_s`, under each of its names; None if events since then
        were lost. Writes older than the table's memory are left out.
        """
        since_s = max(since_s, now_s - self._kept_s)
        if since_s < self._lost_s:
            return None
        met = self._at(path, since_s)
        for file in {entry.file for entry in met if entry.file and entry.other_end is None}:
            met += (entry for entry in self._by_file.get(file, ()) if entry.last_s >= since_s)
        found = dict.fromkeys(WriteOf(one.path, one.who, one.first_s, one.last_s) for one in met)
        return list(found)

    def _at(self, path: str, since_s: float) -> list[_Entry[W]]:
        found: list[_Entry[W]] = []
        asked, left = set[str](), [path]
        while left:
            name = left.pop()
            if name in asked:
                continue
            asked.add(name)
            found += (entry for entry in self._by_path.get(name, ()) if entry.last_s >= since_s)
            folder = name
            while folder := folder.rpartition("/")[0]:
                for entry in self._by_path.get(folder, ()):
                    if entry.other_end is not None and entry.last_s >= since_s:
                        found.append(entry)
                        left += [entry.other_end + name[len(folder) :]] if entry.other_end else []
        return found

    def _tidy(self, now_s: float) -> None:
        while self._all:
            oldest = next(iter(self._all.values()))
            if oldest.last_s > now_s - self._kept_s:
                if len(self._all) < self._most:
                    return
                self._lost_s = max(self._lost_s, oldest.last_s)
            self._all.popitem(last=False)
            _drop(self._by_path, oldest.path, oldest)
            _drop(self._by_file, oldest.file, oldest)


def _drop(table: dict[Any, list[_Entry[W]]], key: str | bytes, entry: _Entry[W]) -> None:
    entries = table.get(key)
    if entries is not None:
        entries.remove(entry)
        if not entries:
            del table[key]
