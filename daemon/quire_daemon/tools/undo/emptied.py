"""Empty folders: those that an undo leaves empty and that the undone work made, and those that a rollback leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from quire_daemon.tools.history import path_filter
from quire_daemon.tools.undo.choice import Choice
from quire_daemon.tools.undo.plan import Action
from quire_journal.history import FileTimeline, History
from quire_journal.model import FOLDER, OutsideWritten, above, pause
from quire_journal.views.indexes import of_kind

MOST_LOOKED_AT: Final = 5000
"""Maximum number of writes by other programs that are searched for new folders."""

MOST_NAMED: Final = 5
"""Maximum number of folders that are named."""


def emptied(actions: Sequence[Action], lives: Sequence[FileTimeline], history: History) -> tuple[str, ...]:
    """Return the folders above files that an undo removes, deepest first, in which nothing was before the undone work;
    perhaps they hold something else by now. `lives`: the timelines of the actions, in the same order.
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


def left_empty(
    choice: Choice, actions: Sequence[Action], going: Sequence[str], history: History
) -> dict[str, Any] | None:
    """Return the warning about folders that other programs made after the point of a rollback, and that it leaves
    empty, as their purpose is unknown; None without such a folder. `going`: folders that are removed.
    """
    at, paths = choice.at, choice.paths
    files = {action.unwound.now.path for action in actions if action.do in ("delete", "move")}
    gone, fits = files.union(going), [path_filter(path, history) for path in paths]
    found = dict[str, None]()
    saved = history.with_terms([[of_kind(OutsideWritten.kind)]], at, history.head())
    for seq in islice((seq for _, seqs in saved for seq in seqs), MOST_LOOKED_AT):
        pause()
        event = history.event(seq)
        if isinstance(event, OutsideWritten) and event.entry == FOLDER and event.path not in found:
            head = history.file(event.path)
            is_new = head is not None and not head.gone and not _was_there(event.path, at, history)
            if is_new and event.path not in gone and not history.holds_files(event.path, history.head(), besides=files):
                found |= {event.path: None} if not fits or any(fit(event.path) for fit in fits) else {}
    if not found:
        return None
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    named = ", ".join(islice(found, MOST_NAMED)) + more
    left = "is left" if len(found) == 1 else "are left"
    return {"type": "folders", "message": f"{named} came since then by another program, and {left}, empty."}
