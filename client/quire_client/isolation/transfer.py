"""Copies what a command changed in its copy-on-write view into the checkout ("landing").

The daemon writes all files that it records; this module copies ignored and very large files, and empty folders.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from quire_client.isolation.changes import ChangedPath, changes_in
from quire_client.isolation.overlay import REAL
from quire_journal.model import journal_path

Call = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
MOST_FILES: Final = 5000
MOST_BYTES: Final = 48 * 1024 * 1024

LONGEST_NAME: Final = 255
"""Maximum length of a name in a folder, in bytes, on Linux' file systems."""

TRIES: Final = 3
"""Number of calls whose reply may be lost."""

WAITS: Final = 30
"""Number of calls that may find the same call unfinished; about as many seconds."""


class NotLanded(Exception):
    """The changes do not land, and are in the copy as before."""

    def __init__(self, reply: Mapping[str, Any]) -> None:
        super().__init__(reply.get("message", ""))
        self.reply = reply  # a refusal


class Transfer:
    """Copies the changes of one run into the checkout. What others changed since `began_ns` is not overwritten.

    What is to be done is decided here, at once; `land` does it, and completes what an earlier `land` began.
    """

    def __init__(self, call: Call, root: Path, upper: Path, burst: int, began_ns: int) -> None:
        self._call, self._root, self._upper, self._burst, self._began_ns = call, root, upper, burst, began_ns
        self.brought: list[str] = []  # paths that this module wrote or removed, as the journal spells them
        self._scratch = root / ".quire" / f"landing-{burst}"  # on its file system, and watched by nobody
        self._has_own = self._scratch.parent.exists()
        self._has_repository = os.path.lexists(root / ".git")
        self._changes = list(changes_in(upper, root, REAL))
        folders = {os.path.dirname(change.path) for change in self._changes}
        closed = {folder for folder in folders if self._blocker(folder) is not None}
        self._blocked = [one for one in self._changes if os.path.dirname(one.path) in closed and one.kind == "file"]
        changes = [change for change in self._changes if os.path.dirname(change.path) not in closed]
        there = {change.path for change in changes if os.path.lexists(root / change.path)}
        self._new = [one for one in changes if one.kind == "folder" and one.path not in there]
        self._recorded = {journal_path(change.path): change for change in changes if self._is_recorded(change)}
        self._large = {journal_path(change.path): change for change in changes if self._is_large(change)}
        self._large_before = self._large.keys() & {journal_path(path) for path in there}
        self._removed = [
            change for change in changes if change.kind == "gone" and journal_path(change.path) not in self._recorded
        ]

    @property
    def is_empty(self) -> bool:
        """True if the command changed nothing."""
        return not self._changes and not os.path.lexists(self._upper / ".git")

    def require_room(self) -> None:
        """Raise NotLanded if the disk of the checkout has no room for all that changed."""
        needed, found = sum(change.size for change in self._changes), os.statvfs(self._root)
        free = found.f_bavail * found.f_frsize
        if needed > free:
            message = f"What the command changed has {needed} bytes; the disk of the checkout has room for {free}."
            raise NotLanded({"ok": False, "error": "disk_full", "message": message})

    def land(self) -> list[str]:
        """Copy all changes into the checkout; return a sentence for each change that could not be copied unchanged.

        Raises NotLanded if the daemon refuses.
        """
        self.clear()
        self.brought = []
        told = [f"{change.path} is no file, and was left out." for change in self._changes if change.kind == "special"]
        for number, portion in enumerate(self._portions(self._recorded)):
            files = [self._landed(path, self._recorded[path]) for path in portion]
            reply = self._answer({"burst": self._burst, "files": files, "idempotency_key": f"{self._burst}-{number}"})
            if not reply.get("ok"):
                raise NotLanded(reply)
            told += self._tell(reply, self._recorded)
            told += [said for path in reply["ignored"] if (said := self._bring_ignored(self._recorded[path]))]
        told += [self._tell_blocked(one) for one in self._blocked]
        asked = {"burst": self._burst, "files": [], "asked": [*self._large]}
        ignored = self._answer(asked).get("ignored", ()) if self._large else ()
        for path, change in self._large.items():
            bring = self._bring_ignored if path in ignored else self._bring_large
            told += [said] if (said := bring(change)) else []
        self._folders()
        told += self._repository()
        self.clear()
        return told

    def clear(self) -> None:
        """Remove the unfinished copies of a landing."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        if not self._has_own:
            with suppress(OSError):  # missing, or somebody else's by now
                self._scratch.parent.rmdir()

    def _answer(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        lost = waited = 0
        while lost < TRIES and waited < WAITS:
            reply = self._call("land", arguments)
            if reply.get("outcome") != "unknown":
                break
            if reply.get("error") == "busy":  # the same call, of a process that was killed, is being synced
                waited += 1
                time.sleep(reply["retry_after_ms"] / 1000)
            else:
                lost += 1
        return reply

    def _is_recorded(self, change: ChangedPath) -> bool:
        if change.kind == "gone":
            return not os.path.isdir(self._root / change.path) or os.path.islink(self._root / change.path)
        return change.kind in ("file", "link") and not self._is_large(change)

    def _is_large(self, change: ChangedPath) -> bool:
        return change.kind == "file" and change.size > MOST_BYTES

    def _portions(self, by_path: Mapping[str, ChangedPath]) -> Iterator[list[str]]:
        portion, size = list[str](), 0
        for path, change in by_path.items():
            if portion and (len(portion) == MOST_FILES or size + change.size > MOST_BYTES):
                yield portion
                portion, size = [], 0
            portion.append(path)
            size += change.size
        if portion:
            yield portion

    def _landed(self, path: str, change: ChangedPath) -> dict[str, Any]:
        told: dict[str, Any] = {"path": path, "kind": change.kind, "mode": change.mode}
        source = self._upper / change.path
        if change.kind == "file":
            return {**told, "data": source.read_bytes()}
        return {**told, "data": os.fsencode(os.readlink(source))} if change.kind == "link" else told

    def _tell(self, reply: Mapping[str, Any], by_path: dict[str, ChangedPath]) -> Iterator[str]:
        for file in reply["files"]:
            if file["outcome"] == "beside":
                yield f"{file['path']}: {file['why']}; the command's version is {file['beside']}."
            elif file["outcome"] == "stays":
                yield f"{file['path']}: {file['why']}; {self._kept(by_path[file['path']])}"

    # ── past the daemon ──

    def _bring_ignored(self, change: ChangedPath) -> str:
        target = self._root / change.path
        if self._blocker(os.path.dirname(change.path)) is not None:  # by now
            return self._tell_blocked(change)
        if change.kind != "gone" and target.is_dir() and not target.is_symlink():
            return f"{change.path}: a folder is there; {self._kept(change)}"
        return self._bring(change)

    def _bring(self, change: ChangedPath) -> str:
        """Make the path as the command left it; return a sentence if it stays, as others changed it meanwhile."""
        target = self._root / change.path
        if change.kind == "gone":
            if self._is_others(target):
                return f"{change.path}: others changed it meanwhile; it stays as it is."
            self._tell_brought(target)
            target.unlink(missing_ok=True)
            return ""
        copied = self._copied(change)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not self._is_others(target):  # looked at last, as a copy takes its time
            copied.replace(target)
        elif not _is_same(copied, target):
            return f"{change.path}: others changed it meanwhile; {self._kept(change)}"
        self._tell_brought(target)
        return ""

    def _is_others(self, target: Path) -> bool:
        """Return True if a file is there that was changed since the command began, which wrote to its copy only."""
        with suppress(FileNotFoundError):
            return target.lstat().st_ctime_ns >= self._began_ns
        return False

    def _tell_brought(self, target: Path) -> None:
        self.brought.append(journal_path(os.path.relpath(target, self._root)))

    def _copied(self, change: ChangedPath) -> Path:
        """Return a copy on the file system of the checkout."""
        self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        copied = self._scratch / "copied"
        copied.unlink(missing_ok=True)
        shutil.copy2(self._upper / change.path, copied, follow_symlinks=False)
        return copied

    def _bring_large(self, change: ChangedPath) -> str:
        if journal_path(change.path) not in self._large_before:
            return self._bring(change) or f"{change.path} landed; it is too large to be recorded as the command's."
        same = _is_same(self._upper / change.path, self._root / change.path)
        return "" if same else f"{change.path}: it is too large to be merged; {self._kept(change)}"

    def _repository(self) -> list[str]:
        """Copy a `.git` that the command made into the checkout; return a sentence if it had to get another name. A
        `.git` that existed before is no part of the copy.
        """
        made, target = self._upper / ".git", self._root / ".git"
        if not os.path.lexists(made):
            return []
        if os.path.lexists(target) and (self._has_repository or not _is_same(made, target)):
            target = self._free_name(".git")
        if not os.path.lexists(target):
            self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
            copied = self._scratch / ".git"
            if made.is_dir():
                shutil.copytree(made, copied, symlinks=True)
            else:
                shutil.copy2(made, copied, follow_symlinks=False)
            copied.rename(target)
        named = os.path.relpath(target, self._root)
        return [] if named == ".git" else [f".git: others made one meanwhile; the command's version is {named}."]

    def _kept(self, change: ChangedPath) -> str:
        if change.kind != "file":
            return "it stays as it is."
        target = self._free_name(change.path)
        self._tell_brought(target)
        if not os.path.lexists(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copied(change).replace(target)
        return f"the command's version is {os.path.relpath(target, self._root)}."

    def _free_name(self, path: str) -> Path:
        """Return the name beside `path` for the command's version, where nothing is but that version."""
        made = self._upper / path
        return next(name for name in self._names(path) if not os.path.lexists(name) or _is_same(made, name))

    def _tell_blocked(self, change: ChangedPath) -> str:
        blocker = self._blocker(os.path.dirname(change.path))
        what = "file" if blocker is None or not os.path.islink(self._root / blocker) else "link"
        return f"{change.path}: a {what} has the name of a folder above it; {self._kept(change)}"

    def _blocker(self, folder: str) -> Path | None:
        """Return the file or link that has the name of `folder`, or of a folder above it; None if there is none.

        The folder behind a link is another one, perhaps outside of the checkout.
        """
        above = [Path(folder), *Path(folder).parents][-2::-1]  # from the top
        there = takewhile(lambda one: os.path.lexists(self._root / one), above)
        return next((one for one in there if not stat.S_ISDIR((self._root / one).lstat().st_mode)), None)

    def _names(self, path: str) -> Iterator[Path]:
        blocker = self._blocker(os.path.dirname(path))
        within = "" if blocker is None else os.fspath(Path(path).relative_to(blocker))
        number = 0
        while True:
            end = f".run-{self._burst}{f'-{number}' if number else ''}"
            yield self._root / _with_end(path if blocker is None else os.fspath(blocker), end) / within
            number += 1

    def _folders(self) -> None:
        for change in self._new:
            self._tell_brought(self._root / change.path)
            if not os.path.lexists(self._root / change.path):
                os.makedirs(self._root / change.path)
        for change in reversed(self._new):  # from the deepest, as a folder may be closed to its owner
            if os.path.isdir(self._root / change.path) and not os.path.islink(self._root / change.path):
                os.chmod(self._root / change.path, change.mode)
        for change in self._removed:
            self._tell_brought(self._root / change.path)
            with suppress(OSError):  # something is in it that did not go
                os.rmdir(self._root / change.path)


def _is_same(one: Path, other: Path) -> bool:
    """Return True if both are links to the same target, files with the same bytes, or folders with the same entries."""
    kinds = {stat.S_IFMT(path.lstat().st_mode) if os.path.lexists(path) else 0 for path in (one, other)}
    if len(kinds) > 1:
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    if not one.is_dir():
        return filecmp.cmp(one, other, shallow=False)
    names = sorted(os.listdir(one))
    return names == sorted(os.listdir(other)) and all(_is_same(one / name, other / name) for name in names)


def _with_end(path: str, end: str) -> Path:
    """Return `path` with `end` appended; a name that would be too long for a file system is cut in front of `end`."""
    folder, name = os.path.split(path)
    while len(os.fsencode(name)) > LONGEST_NAME - len(end):
        name = name[:-1]
    return Path(folder, name + end)
