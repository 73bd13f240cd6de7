"""Crawl: lists the workspace by stat alone, without opening files or following links.

Each folder is opened from its parent, so no link or mount leads outside. Entries that vanish meanwhile are left out.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from quire_daemon.core import Kind, StatEntry
from quire_daemon.workers import Cancellation
from quire_daemon.workspace import Beneath, can_openat2

GIT_RULES: Final = ".gitignore"

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_VANISHED: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})  # missing, or replaced by a file or a link

OUR_LIMITS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors caused by limits of this process."""


MOST_LISTED: Final = 10_000
"""Maximum number of names read of a folder, because other callers wait."""


class Rules(Protocol):
    def ignored(self, path: str, folder: bool) -> bool:
        """True if `path` is to be left out. `folder`: it is a folder."""


class _NothingIgnored:
    def ignored(self, path: str, folder: bool) -> bool:
        return False


_NOTHING_IGNORED: Final = _NothingIgnored()


def crawl(
    root: Path,
    ignore: Rules,
    start: str = "",
    cancelled: Callable[[], bool] = lambda: False,
) -> Generator[StatEntry, None, None]:
    """Yield the entries below `start` (a file, a folder, or missing) that are not ignored: `start` first, folders
    before their content.

    Files below an "unreadable" entry are unknown, not deleted. Raises `OSError` if the root cannot be opened (an
    unmounted workspace must not look empty) or descriptors run out; `Cancellation` once `cancelled`, called for each
    folder, returns True.
    """
    top = _open_root(root)
    pending: list[_Folder] = []  # open folders, from the top
    try:
        if not start:
            pending.append(_Folder(os.dup(top.fd), ""))
        else:
            yield from _enter(top, start, ignore.ignored, pending)
        while pending:
            if cancelled():
                raise Cancellation
            folder = pending[-1]
            if not folder.listed:
                yield from folder.list(ignore.ignored)
            elif folder.inside:
                yield from _descend(top, folder, pending)
            else:
                os.close(pending.pop().fd)
    finally:
        os.close(top.fd)
        for folder in pending:
            os.close(folder.fd)


def is_bare(root: Path, ignore: Rules, path: str) -> bool:
    """True if `path` is a folder, not ignored itself, that holds only ignored entries or none. A folder with its own
    `.gitignore`, as the caches of ruff and pytest have, does not count. Raises `OSError` as `crawl`.
    """
    if not path or ignore.ignored(path, True):
        return False
    top = _open_root(root)
    try:
        folder = _open_below(top, path)
        if folder is None:
            return False
        try:
            with os.scandir(folder) as found:
                return all(
                    at.name != GIT_RULES and ignore.ignored(f"{path}/{at.name}", at.is_dir(follow_symlinks=False))
                    for at in found
                )
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno in OUR_LIMITS:
            raise
        return False
    finally:
        os.close(top.fd)


def all_in(root: Path, path: str, most: int) -> tuple[list[str], bool]:
    """Return at most `most` paths in the folder `path`, at any depth, also ignored ones, and whether some are missing.

    Folders end with "/" and follow their content. Raises `OSError` as `crawl`.
    """
    with closing(crawl(root, _NOTHING_IGNORED, path)) as entries:
        found = [entry for entry in islice(entries, most + 2) if entry.path != path or entry.kind == "unreadable"]
    cut = len(found) > most or any(entry.kind == "unreadable" for entry in found)
    return [f"{e.path}/" if e.kind == "folder" else e.path for e in reversed(found[:most])], cut


def names_in(root: Path, ignore: Rules, path: str, most: int) -> tuple[list[str], bool]:
    """Return at most `most` paths in the folder `path`, two levels deep, in order, and whether some are missing.

    Folders end with "/"; a subfolder is listed completely or not at all. Dotfiles, ignored and unreadable folders are
    left out. Raises `OSError` if the root cannot be opened.
    """
    top = _open_root(root)
    try:
        first, cut = _names(top, path, most)
        left = most - len(first)
        shown: list[str] = []
        for name in first:
            shown.append(name)
            if name.endswith("/") and not ignore.ignored(name[:-1], True):
                inside, more = _names(top, name[:-1], left)
                cut = cut or more
                if not more:
                    shown += inside
                    left -= len(inside)
        return shown, cut
    finally:
        os.close(top.fd)


def _names(top: Beneath, path: str, most: int) -> tuple[list[str], bool]:
    try:
        folder = _open_below(top, path)
        if folder is None:
            return [], False
        try:
            with os.scandir(folder) as found:
                some = islice(found, MOST_LISTED)
                entries = sorted((at.name, at.is_dir(follow_symlinks=False)) for at in some)
        finally:
            os.close(folder)
    except OSError:
        return [], False
    prefix = f"{path}/" if path else ""
    names = [f"{prefix}{name}/" if is_folder else prefix + name for name, is_folder in entries if name[0] != "."]
    return names[:most], len(names) > most


class _Folder:
    __slots__ = ("fd", "inside", "listed", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        self.listed = False
        self.inside: list[StatEntry] = []  # in reverse order

    def list(self, ignored: Callable[[str, bool], bool]) -> Iterator[StatEntry]:
        self.listed = True
        prefix = f"{self.path}/" if self.path else ""
        try:
            with os.scandir(self.fd) as found:
                entries = sorted(found, key=_name)
        except OSError as error:
            yield _unreadable(error, StatEntry(self.path, "unreadable"))
            return
        for at in entries:
            path = prefix + at.name
            try:
                is_folder = at.is_dir(follow_symlinks=False)
                if ignored(path, is_folder):
                    continue
                entry = _entry(path, at.stat(follow_symlinks=False))
            except OSError as error:
                if error.errno not in _VANISHED:
                    yield _unreadable(error, StatEntry(path, "unreadable"))
                continue
            if entry.kind == "folder":
                self.inside.append(entry)
            else:
                yield entry
        self.inside.reverse()


def _name(at: os.DirEntry[str]) -> str:
    return at.name


def _descend(top: Beneath, folder: _Folder, pending: list[_Folder]) -> Iterator[StatEntry]:
    entry = folder.inside.pop()
    yield from _open_entry(top, folder.fd, entry.path.rpartition("/")[2], entry, pending)


def _enter(
    top: Beneath, start: str, ignored: Callable[[str, bool], bool], pending: list[_Folder]
) -> Iterator[StatEntry]:
    try:
        parent = _open_below(top, start.rpartition("/")[0])
    except OSError as error:
        yield _unreadable(error, StatEntry(start, "unreadable"))
        return
    if parent is None:
        return
    try:
        name = start.rpartition("/")[2]
        entry = _look(parent, name, start)
        if entry is None or ignored(start, entry.kind == "folder"):
            return
        if entry.kind == "folder":
            yield from _open_entry(top, parent, name, entry, pending)
        else:
            yield entry
    finally:
        os.close(parent)


def _open_entry(top: Beneath, parent: int, name: str, entry: StatEntry, pending: list[_Folder]) -> Iterator[StatEntry]:
    try:
        pending.append(_Folder(top.open(name, _FOLDER, parent), entry.path))
    except OSError as error:
        if error.errno in _VANISHED:
            return
        entry = _unreadable(error, StatEntry(entry.path, "unreadable", entry.dev, entry.ino, mode=entry.mode))
    yield entry


def _open_below(top: Beneath, folder: str) -> int | None:
    try:
        return top.open(folder, _FOLDER) if folder else os.dup(top.fd)
    except OSError as error:
        if error.errno in _VANISHED:
            return None
        raise


def _open_root(root: Path) -> Beneath:
    fd = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    return Beneath(fd, can_openat2(fd))


def _look(parent: int, name: str, path: str) -> StatEntry | None:
    try:
        return _entry(path, os.stat(name, dir_fd=parent, follow_symlinks=False))
    except OSError as error:
        return None if error.errno in _VANISHED else _unreadable(error, StatEntry(path, "unreadable"))


def _unreadable(error: OSError, entry: StatEntry) -> StatEntry:
    if error.errno in OUR_LIMITS:
        raise error
    return entry


def _entry(path: str, found: os.stat_result) -> StatEntry:
    return StatEntry(
        path,
        _kind(found.st_mode),
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_mode,
    )


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "special"
