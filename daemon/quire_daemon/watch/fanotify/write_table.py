"""Which processes wrote which file lately: a table of the kernel's events, and the question to it. Pure.

A file is known by its paths and by the kernel's handle for it, so that what a program writes under a temporary name
and then renames counts for the name that it gets, and so does what is written by another name of the same file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Generic, NamedTuple, TypeVar

W = TypeVar("W", bound=Hashable)
"""A process."""

KEPT_S: Final = 120.0
"""For how long an event is kept. What others write is looked at within moments, and the question comes then."""

MOST: Final = 20_000
"""Entries that are kept. Beyond that the oldest are dropped, and questions that reach back so far have no answer."""


class WriteOf(NamedTuple, Generic[W]):
    """What one process did to a file under one name."""

    path: str
    who: W | None  # None: the process was gone before it could be read
    first_s: float
    last_s: float


class _Entry(Generic[W]):
    """What one process did to one file under one name, as often as it did."""

    __slots__ = ("file", "first_s", "last_s", "other_end", "path", "who")

    def __init__(self, path: str, file: bytes, who: W | None, other_end: str | None, at_s: float) -> None:
        self.path = path  # "": it is not known
        self.file = file  # b"": it is not known
        self.who = who  # None: the process was gone before it could be read
        self.other_end = other_end  # of a folder that was renamed, with what is in it; "": it is elsewhere
        self.first_s = self.last_s = at_s


class WriteTable(Generic[W]):
    """The events of the last minutes. Times are monotonic seconds, of when an event was read: never too early."""

    def __init__(self, kept_s: float = KEPT_S, most: int = MOST) -> None:
        self._kept_s, self._most = kept_s, most
        self._all: OrderedDict[tuple[str, bytes, W | None, str | None], _Entry[W]] = (
            OrderedDict()
        )  # the last written last
        self._by_path: dict[str, list[_Entry[W]]] = {}
        self._by_file: dict[bytes, list[_Entry[W]]] = {}
        self._lost_s = float("-inf")  # when something was dropped last that may be asked about

    def __len__(self) -> int:
        return len(self._all)

    def note(self, path: str, file: bytes, who: W | None, at_s: float, other_end: str | None = None) -> None:
        """A process wrote, made, removed or renamed a file.

        `other_end`: a folder was renamed with all that is in it, from or to there; "" is elsewhere.
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
        """Events are missing up to now."""
        self._lost_s = at_s

    def writes(self, path: str, since_s: float, now_s: float) -> list[WriteOf[W]] | None:
        """What was done to the file at `path` since then, under each name that it had. Empty: nothing.

        None: it is not known, as events were lost. What is older than the table keeps is left out.
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
        """What was done since then to this name, to the folders above it, and to it where it was before these moved."""
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
        """Drop what is too old, or too much."""
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
