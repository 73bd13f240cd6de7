"""The comparison of the whole tree with the journal, on a worker thread: which paths have to be looked at.

The crawl tells what there is by stat alone, the cache of the disk (`stat_cache`) what there was when it was read, and
the journal what it holds. Nothing is concluded from what a crawl does not meet: the loop looks at that, too. Of a known
file that is there and ignored by now the journal is told once that nobody watches it; one that a tool wrote, or that a
call met where it was ignored, is looked at as ever (`unwatched`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from quire_daemon.core import SeenStat, StatEntry, compare
from quire_daemon.watch.crawl import crawl
from quire_daemon.watch.hard_links import several_names
from quire_daemon.watch.ignore import Ignore
from quire_daemon.workspace import HOME
from quire_journal.history import History, PathNames
from quire_journal.model import CAPTURED, FOLDER, IGNORED, SCANNED, WATCHED, disk_path, journal_path
from quire_journal.storage import ReadTransaction, Store
from quire_journal.views import Version


class TreeComparison(NamedTuple):
    """What came of it. Paths are as on disk."""

    look_at: list[str]
    new: dict[str, int]  # files of which the journal knows nothing → bytes
    files: int  # that were met
    folders: list[str]  # that were met
    names: PathNames  # all that the log names, for who asks next
    linked: list[StatEntry]  # files that were met and have several names
    ignored: list[str]  # known files that are there, and that nobody watches from now on
    unwatched: list[str]  # known files that are ignored and looked at all the same


class RootUnmounted(Exception):
    """The root is empty and on another disk than all that was seen in it: its own disk is probably not mounted.

    That says nothing about the files. But somebody may have removed them before another disk came there, so it is told
    for as long as it is so; the first file that is made there ends it.
    """

    def __init__(self) -> None:
        super().__init__(
            "the checkout is empty and on another disk than before, as where a disk is not mounted: its files are not "
            "taken for deleted until something is in it"
        )


def compare_all(
    store: Store,
    saved: Callable[[ReadTransaction, PathNames], Mapping[str, SeenStat]],
    root: Path,
    ignore: Ignore,
    could_keep: Callable[[str, Version], bool],
    cancelled: Callable[[], bool],
) -> TreeComparison:
    """Compare. `saved` reads the cache of the disk. Raises `RootUnmounted`, as `crawl`, and as a store that is read.

    `could_keep`: would the settings have the bytes kept now of a head (and its path) whose bytes are not?
    """
    names = PathNames()
    with store.reading() as reading:
        seen = saved(reading, names)
        heads = {disk_path(path): head for path, head in History(reading).paths() if not head.gone}
        standing = {path: bool(head.uncaptured) and could_keep(path, head) for path, head in heads.items()}
    entries = list(crawl(root, ignore, "", cancelled))
    if not entries and _is_bare_of_another_disk(root, seen):
        raise RootUnmounted
    result = compare(seen, entries)
    present = {e.path for e in entries}
    lost = [path for path in standing if path not in seen and path not in present]  # the cache may lack them
    missing = (*result.vanished, *lost)
    hidden = {path for path in missing if ignore.ignored(path, False) and os.path.lexists(root / path)}
    with store.reading() as reading:
        history = History(reading)
        ended = {path for path in hidden if path in heads and _ends(path, heads[path], history)}
    unwatched = {path for path in hidden if path in heads and path not in ended}
    ignored = sorted(path for path in ended if heads[path].uncaptured != IGNORED)
    gone = [path for path in missing if path not in hidden or path in unwatched]
    unread = [path for path, to_keep in standing.items() if path in present and (to_keep or path not in seen)]
    bare = [folder for folder in result.bare if folder not in standing]
    look_at = dict.fromkeys([*result.changed, *gone, *unread, *bare])
    new = {e.path: e.size for e in entries if e.kind == "file" and e.path not in standing}
    linked = several_names(entries)
    return TreeComparison(list(look_at), new, result.files, result.folders, names, linked, ignored, [*unwatched])


def _is_bare_of_another_disk(root: Path, seen: Mapping[str, SeenStat]) -> bool:
    """Is there nothing in the root but our own folder, and was all that is known of it seen on another disk?"""
    disk = os.stat(root).st_dev
    return bool(seen) and all(one.dev != disk for one in seen.values()) and not {*os.listdir(root)} - {HOME}


def _ends(path: str, head: Version, history: History) -> bool:
    """Is it over with a file that is ignored by now? Nobody but other programs ever wrote it, or met it there."""
    if head.uncaptured == IGNORED:
        return True
    if head.entry == FOLDER or head.evidence not in (CAPTURED, SCANNED, WATCHED):
        return False
    return history.continuity(journal_path(path), "outside") == "clean"
