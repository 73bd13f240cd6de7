"""What a watcher tells: where to look, and how much it sees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from quire_journal.model import above, counted, disk_path, inside_escaped, journal_path

FEW: Final = 8
"""Folders: what is below so few is found in a tenth of the time."""


WATCH_LIMIT: Final = "watch_limit"
UNREADABLE_FOLDER: Final = "unreadable_folder"

WORDS: Final = {
    WATCH_LIMIT: "not watched, for the limit of watches (fs.inotify.max_user_watches) is reached",
    UNREADABLE_FOLDER: "cannot be listed",
}
"""Why a folder is not watched, for a sentence."""

_WILD: Final = re.compile(r"[*?\[\\]")


class Batch(msgspec.Struct):
    """What to look at. Paths are workspace-relative, "/" between names, undecodable bytes as surrogates."""

    dirty: set[str] = msgspec.field(default_factory=set)
    """Look at each: it may have been written, created, removed, replaced or its mode changed; or nothing."""
    touched: set[str] = msgspec.field(default_factory=set)
    """Those of `dirty` whose file was written, or its mode changed; of the others only the name came or went."""
    folders: set[str] = msgspec.field(default_factory=set)
    """Compare each, with all that is or was below it: it came, went or moved. "" is the whole workspace."""
    unseen: set[str] = msgspec.field(default_factory=set)
    """Those of `folders` that were there before anyone watched them: what is in them may be older than it seems."""
    overflowed: bool = False
    """Events were lost: compare the whole workspace."""
    moved: list[tuple[str, str]] = msgspec.field(default_factory=list)
    """(from, to) of renames inside the workspace, in their order; both names are in `dirty` or `folders` too."""

    def __bool__(self) -> bool:
        return bool(self.dirty or self.folders or self.overflowed)


class Blind(NamedTuple):
    """A part of the tree that nobody sees, and why."""

    folder: str  # as on disk, with all that is below it; "": the whole tree
    why: str


class WatchCoverage(msgspec.Struct, frozen=True):
    """How much the watcher sees."""

    watched: int  # folders
    expected: int  # folders that it knows of; more than `watched` where one could not be watched
    alive: bool  # the thread that reads events runs
    root_replaced: bool  # another folder stands at the root's path: stop this watcher and start a new one
    reasons: tuple[str, ...]  # why it is blind; empty: it is not
    unwatched: Mapping[str, str]  # folders that only a crawl can tell about → why they are not watched
    everywhere: tuple[str, ...]  # those of `reasons` that are not about single folders
    overflows: int  # since the start; not a reason by itself, the scan that follows repairs it

    @property
    def full(self) -> bool:
        """Whether a change anywhere will be noticed."""
        return not self.reasons


def outermost(folders: set[str]) -> set[str]:
    """Without those that are below another."""
    if "" in folders:
        return {""}
    return {f for f in folders if not any(folder in folders for folder in above(f))}


def outer(path: str, folders: Container[str]) -> str | None:
    """The one of `folders` that `path` is below; None where there is none."""
    return "" if "" in folders else next((folder for folder in above(path) if folder in folders), None)


def below(names: Iterable[str], folders: Collection[str]) -> Iterator[tuple[str, str]]:
    """(name, folder) of those of `names`, as in the log, that are below one of `folders`, as on disk."""
    if len(folders) <= FEW and "" not in folders:
        begins = *(f"{folder}/" for folder in folders), *(inside_escaped(journal_path(folder)) for folder in folders)
        names = [name for name in names if name.startswith(begins)]
    for name in names:
        folder = outer(disk_path(name), folders)  # an escaped name begins with no folder
        if folder is not None:
            yield name, folder


def touching(blind: Iterable[Blind], asked: Collection[str]) -> list[Blind]:
    """Those of `blind` that a question about these files, folders and globs touches; without any, all of them."""
    if not asked or "." in asked:
        return [*blind]
    beginnings = [(path, _WILD.split(path, maxsplit=1)[0].removeprefix("/")) for path in asked]
    return [one for one in blind if not one.folder or any(_meet(journal_path(one.folder), *b) for b in beginnings)]


def _meet(folder: str, path: str, beginning: str) -> bool:
    """May something that `path` names be in the folder, or below, or the folder in it?

    `beginning`: the path up to its first wildcard.
    """
    if beginning != path:
        anchored = "/" in path.rstrip("/")
        return not anchored or folder.startswith(beginning) or beginning.startswith(f"{folder}/")
    path = path.rstrip("/")
    return path == folder or path.startswith(f"{folder}/") or folder.startswith(f"{path}/")


def blind_told(blind: Sequence[Blind]) -> str:
    """A sentence about what nobody sees."""
    everywhere = dict.fromkeys(one.why for one in blind if not one.folder)
    folders = [one for one in blind if one.folder]
    told = [*everywhere]
    for why, many in Counter(one.why for one in folders).items():
        first = next(one.folder for one in folders if one.why == why)
        more = f" and {counted(many - 1, 'other folder')}" if many > 1 else ""
        told.append(f"{journal_path(first)}{more}: {WORDS.get(why, why)}")
    return f"The journal may not know everything that is on disk: {'; '.join(told).removesuffix('.')}."
