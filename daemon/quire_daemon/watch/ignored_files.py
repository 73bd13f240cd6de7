"""Journaled files that the ignore rules hide from the watcher: a tool wrote them, or a call met them there.

Nothing tells of what happens to them, so they are looked at when a call asks about the tree. Files that only other
programs wrote are no part of this: a comparison ends what the journal says of them (`uncaptured.IGNORED`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from quire_journal.model import counted

MOST: Final = 500
"""Files that are looked at for one call; of more it is said that nobody looks at them."""


class IgnoredFiles:
    """The paths of them, as on disk. For the loop's thread."""

    def __init__(self, ignored: Callable[[str, bool], bool]) -> None:
        self._ignored = ignored
        self._paths: set[str] = set()

    def met(self, path: str) -> None:
        """The journal has a version of a file at `path`; it may be ignored."""
        if self._ignored(path, False):
            self._paths.add(path)

    def know(self, paths: Iterable[str]) -> None:
        """A comparison met these."""
        self._paths.update(paths)

    def forget(self, path: str) -> None:
        """It is gone, or the journal says that it is not watched."""
        self._paths.discard(path)

    def to_look_at(self) -> list[str]:
        """Those that a call about the tree has looked at first; none where they are too many."""
        self._paths = {path for path in self._paths if self._ignored(path, False)}
        return sorted(self._paths) if len(self._paths) <= MOST else []

    def told(self) -> str:
        """What is said where they are too many; "" where they are not."""
        if len(self._paths) <= MOST:
            return ""
        return f"{counted(len(self._paths), 'journaled file is', 'journaled files are')} ignored and not watched"
