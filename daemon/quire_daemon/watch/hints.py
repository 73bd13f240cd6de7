"""Values of the watcher: paths to look at, and coverage of the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from quire_journal.model import above, counted, disk_path, inside_escaped, journal_path

FEW: Final = 8
"""Maximum number of folders for which a prefix search is ten times faster."""


WATCH_LIMIT: Final = "watch_limit"
UNREADABLE_FOLDER: Final = "unreadable_folder"

WORDS: Final = {
    WATCH_LIMIT: "not watched, for the limit of watches (fs.inotify.max_user_watches) is reached",
    UNREADABLE_FOLDER: "cannot be listed",
}

_WILD: Final = re.compile(r"[*?\[\\]")


class Batch(msgspec.Struct):
    """Paths with events since the last batch, to be looked at: workspace-relative, undecodable bytes as surrogates."""

    dirty: set[str] = msgspec.field(default_factory=set)
    """Paths that may have been written, created, removed, replaced, or changed in mode."""
    touched: set[str] = msgspec.field(default_factory=set)
    """The part of `dirty` whose file or mode changed; other paths only came or went."""
    locked: set[str] = msgspec.field(default_factory=set)
    """The part of `dirty` of which every event came while git had its index locked."""
    unlocked: set[str] = msgspec.field(default_factory=set)
    """The part of `dirty` of which every event came while git's index was watched and not locked."""
    folders: set[str] = msgspec.field(default_factory=set)
    """Folders that came, went or moved, to be compared with their content. "" is the whole workspace."""
    locked_folders: set[str] = msgspec.field(default_factory=set)
    """The part of `folders` of which every event came while git had its index locked."""
    unseen: set[str] = msgspec.field(default_factory=set)
    """The part of `folders` with content older than the watch."""
    overflowed: bool = False
    """Events were lost: compare the whole workspace."""
    moved: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """(from, to) of renames, in order; both are also in `dirty` or `folders`."""

    def __bool__(self) -> bool:
        return bool(self.dirty or self.folders or self.overflowed)


class Blind(NamedTuple):
    folder: str  # as on disk, including everything below; "": the whole tree
    why: str


class WatchCoverage(msgspec.Struct, frozen=True):
    watched: int  # folders
    expected: int  # folders known; more than `watched` if one could not be watched
    alive: bool  # the thread that reads events is alive
    root_replaced: bool  # another folder is at the root's path: stop this watcher and start a new one
    reasons: tuple[str, ...]  # why coverage is incomplete; empty: it is complete
    unwatched: Mapping[str, str]  # folders seen only by crawls → reason
    everywhere: tuple[str, ...]  # the part of `reasons` that concerns the whole tree
    overflows: int  # since the start; no reason by itself, because a scan repairs it

    @property
    def full(self) -> bool:
        """True if a change anywhere will be noticed."""
        return not self.reasons


def outermost(folders: set[str]) -> set[str]:
    """Return `folders` without those below another one."""
    if "" in folders:
        return {""}
    return {f for f in folders if not any(folder in folders for folder in above(f))}


def outer(path: str, folders: Container[str]) -> str | None:
    """Return the folder of `folders` that contains `path`; None if none does."""
    return "" if "" in folders else next((folder for folder in above(path) if folder in folders), None)


def below(names: Iterable[str], folders: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, folder) of the journaled `names` below one of `folders` (as on disk)."""
    if len(folders) <= FEW and "" not in folders:
        begins = *(f"{folder}/" for folder in folders), *(inside_escaped(journal_path(folder)) for folder in folders)
        names = [name for name in names if name.startswith(begins)]
    for name in names:
        folder = outer(disk_path(name), folders)  # an escaped name does not begin with a folder's name
        if folder is not None:
            yield name, folder


def touching(blind: Iterable[Blind], asked: Collection[str]) -> list[Blind]:
    """Return the entries (parts of the tree that are not watched) that overlap the files, folders and globs `asked`;
    all if `asked` is empty.
    """
    if not asked or "." in asked:
        return [*blind]
    beginnings = [(path, _WILD.split(path, maxsplit=1)[0].removeprefix("/")) for path in asked]
    return [one for one in blind if not one.folder or any(_meet(journal_path(one.folder), *b) for b in beginnings)]


def _meet(folder: str, path: str, beginning: str) -> bool:
    """True if `path` may match the folder, or anything below or above it. `beginning` is the part of `path` before
    wildcards.
    """
    if beginning != path:
        anchored = "/" in path.rstrip("/")
        return not anchored or folder.startswith(beginning) or beginning.startswith(f"{folder}/")
    path = path.rstrip("/")
    return path == folder or path.startswith(f"{folder}/") or folder.startswith(f"{path}/")


def blind_told(blind: Sequence[Blind]) -> str:
    everywhere = dict.fromkeys(one.why for one in blind if not one.folder)
    folders = [one for one in blind if one.folder]
    told = [*everywhere]
    for why, many in Counter(one.why for one in folders).items():
        first = next(one.folder for one in folders if one.why == why)
        more = f" and {counted(many - 1, 'other folder')}" if many > 1 else ""
        told.append(f"{journal_path(first)}{more}: {WORDS.get(why, why)}")
    return f"The journal may not know everything that is on disk: {'; '.join(told).removesuffix('.')}."
