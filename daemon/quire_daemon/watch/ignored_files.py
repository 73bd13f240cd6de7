"""Journaled files that are ignored and so not watched, because a tool wrote them or a call read them.

A call about the tree looks at these files first. A scan records ignored files of other programs as
`uncaptured.IGNORED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from quire_journal.model import counted

MOST: Final = 500
"""Maximum number of files looked at for one call; beyond it, the reply calls them unwatched."""


class IgnoredFiles:
    """Paths, as on disk, of journaled files that are ignored. For the main loop's thread only."""

    def __init__(self, ignored: Callable[[str, bool], bool]) -> None:
        self._ignored = ignored
        self._paths: set[str] = set()

    def met(self, path: str) -> None:
        """Add the path of a journaled file if it is ignored."""
        if self._ignored(path, False):
            self._paths.add(path)

    def know(self, paths: Iterable[str]) -> None:
        self._paths.update(paths)

    def forget(self, path: str) -> None:
        """Remove the path of a file deleted or recorded as unwatched."""
        self._paths.discard(path)

    def to_look_at(self) -> list[str]:
        """Return the paths to look at before a call about the tree; [] if there are more than `MOST`."""
        self._paths = {path for path in self._paths if self._ignored(path, False)}
        return sorted(self._paths) if len(self._paths) <= MOST else []

    def told(self) -> str:
        """Return a sentence if more than `MOST` journaled files are ignored, else ""."""
        if len(self._paths) <= MOST:
            return ""
        return f"{counted(len(self._paths), 'journaled file is', 'journaled files are')} ignored and not watched"
