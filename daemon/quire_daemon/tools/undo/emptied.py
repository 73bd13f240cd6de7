"""Folders that an undo leaves empty and that the undone work made."""

from __future__ import annotations

from collections.abc import Sequence

from quire_daemon.tools.undo.plan import Action
from quire_journal.history import FileTimeline, History
from quire_journal.model import above, pause


def emptied(actions: Sequence[Action], lives: Sequence[FileTimeline], history: History) -> tuple[str, ...]:
    """Return the folders above files that go, deepest first, if nothing was in them before the undone work came.

    `lives` belong to the actions. A folder in which something else is by now is among them.
    """
    came: dict[str, int] = {}  # folder → seq of the first undone write into it
    for action, life in zip(actions, lives, strict=False):
        if action.do not in ("delete", "move") or action.takes_folder is not None:
            continue
        path = action.unwound.now.path
        first = next((s.seq for s in life.steps if s.undone and s.after.present and s.after.path == path), 0)
        for folder in above(path) if first else ():
            came[folder] = min(first, came.get(folder, first))
    made = [folder for folder, first in came.items() if not _was_there(folder, first - 1, history)]
    return tuple(sorted(made, key=lambda folder: -folder.count("/")))


def _was_there(folder: str, at: int, history: History) -> bool:
    pause()
    itself = history.version_at(folder, at)
    return (itself is not None and not itself.gone) or history.holds_files(folder, at)
