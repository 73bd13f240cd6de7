"""Copies what a command changed in its copy-on-write view into the checkout ("landing").

The daemon writes all files that it records; this module copies ignored and very large files, and empty folders.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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


class Transfer:
    """Copies the changes of one run into the checkout. What others changed since `began_ns` is not overwritten."""

    def __init__(self, call: Call, root: Path, upper: Path, burst: int, began_ns: int) -> None:
        self._call, self._root, self._upper, self._burst, self._began_ns = call, root, upper, burst, began_ns
        self.brought: list[str] = []  # paths that this module wrote or removed, as the journal spells them

    def land(self) -> list[str]:
        """Copy all changes into the checkout; return a sentence for each change that could not be copied unchanged."""
        changes = list(changes_in(self._upper, self._root, REAL))
        told = [f"{change.path} is no file, and was left out." for change in changes if change.kind == "special"]
        folders = {os.path.dirname(change.path) for change in changes}
        closed = {folder for folder in folders if self._blocker(folder) is not None}
        blocked = [change for change in changes if os.path.dirname(change.path) in closed]
        lying = [one for one in blocked if one.kind == "file"]
        told += [f"{one.path}: a file has the name of a folder above it; {self._kept([one])}" for one in lying]
        changes = [change for change in changes if os.path.dirname(change.path) not in closed]
        new = [one for one in changes if one.kind == "folder" and not os.path.lexists(self._root / one.path)]
        by_path = {journal_path(change.path): change for change in changes if self._is_recorded(change)}
        for number, portion in enumerate(self._portions(by_path)):
            files = [self._landed(path, by_path[path]) for path in portion]
            reply = self._answer({"burst": self._burst, "files": files, "idempotency_key": f"{self._burst}-{number}"})
            if not reply.get("ok"):
                told.append(f"{reply.get('message')} {self._kept([by_path[path] for path in portion])}")
                continue
            told += self._tell(reply, by_path)
            told += [said for path in reply["ignored"] if (said := self._bring_ignored(by_path[path]))]
        large = {journal_path(change.path): change for change in changes if self._is_large(change)}
        asked = {"burst": self._burst, "files": [], "asked": [*large]}
        ignored = self._answer(asked).get("ignored", ()) if large else ()
        for path, change in large.items():
            bring = self._bring_ignored if path in ignored else self._bring_large
            told += [said] if (said := bring(change)) else []
        self._folders(changes, new)
        return told + self._repository()

    def _answer(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(TRIES):
            reply = self._call("land", arguments)
            if reply.get("error") != "unknown":
                break
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
                change = by_path[file["path"]]
                kept = f"; {self._kept([change])}" if change.kind == "file" else "; it stays as it is."
                yield f"{file['path']}: {file['why']}{kept}"

    # ── past the daemon ──

    def _bring_ignored(self, change: ChangedPath) -> str:
        target = self._root / change.path
        if change.kind != "gone" and target.is_dir() and not target.is_symlink():
            return f"{change.path}: a folder is there; {self._kept([change])}"
        return self._bring(change)

    def _bring(self, change: ChangedPath) -> str:
        """Make the path as the command left it; return a sentence if it stays, as others changed it meanwhile."""
        source, target = self._upper / change.path, self._root / change.path
        if change.kind == "gone":
            if self._is_others(target):
                return f"{change.path}: others changed it meanwhile; it stays as it is."
            self._tell_brought(target)
            target.unlink(missing_ok=True)
            return ""
        target.parent.mkdir(parents=True, exist_ok=True)
        with self._scratch() as folder:
            copied = folder / target.name
            shutil.copy2(source, copied, follow_symlinks=False)
            if self._is_others(target):  # looked at last, as a copy takes its time
                same = _is_same(copied, target)
                return "" if same else f"{change.path}: others changed it meanwhile; {self._kept([change])}"
            self._tell_brought(target)
            copied.replace(target)
        return ""

    def _is_others(self, target: Path) -> bool:
        """Return True if a file is there that was changed since the command began, which wrote to its copy only."""
        with suppress(FileNotFoundError):
            return target.lstat().st_ctime_ns >= self._began_ns
        return False

    def _tell_brought(self, target: Path) -> None:
        self.brought.append(journal_path(os.path.relpath(target, self._root)))

    def _copy(self, source: Path, target: Path) -> None:
        self._tell_brought(target)
        with self._scratch() as folder:
            copied = folder / target.name
            shutil.copy2(source, copied, follow_symlinks=False)
            copied.replace(target)

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        """Yield a temporary folder on the checkout's file system, in `.quire`, which the daemon does not watch."""
        own = self._root / ".quire"
        there = own.exists()
        own.mkdir(mode=0o700, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="landing-", dir=own))
        try:
            yield folder
        finally:
            shutil.rmtree(folder if there else own, ignore_errors=True)

    def _bring_large(self, change: ChangedPath) -> str:
        target = self._root / change.path
        if os.path.lexists(target):
            same = _is_same(self._upper / change.path, target)
            return "" if same else f"{change.path}: it is too large to be merged; {self._kept([change])}"
        return self._bring(change) or f"{change.path} landed; it is too large to be recorded as the command's."

    def _repository(self) -> list[str]:
        """Move a `.git` that the command made into the checkout; return a sentence if it had to get another name. A
        `.git` that existed before is no part of the copy.
        """
        made, target = self._upper / ".git", self._root / ".git"
        if not os.path.lexists(made):
            return []
        if os.path.lexists(target):
            target = next(name for name in self._names(".git") if not os.path.lexists(name))
        with self._scratch() as folder:
            copied = shutil.move(made, folder / ".git")
            os.rename(copied, target)
        named = os.path.relpath(target, self._root)
        return [] if named == ".git" else [f".git: others made one meanwhile; the command's version is {named}."]

    def _kept(self, changes: Sequence[ChangedPath]) -> str:
        names = []
        for change in changes:
            if change.kind != "file":
                continue
            target = next(name for name in self._names(change.path) if not os.path.lexists(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(self._upper / change.path, target)
            names.append(os.path.relpath(target, self._root))
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"the command's version is {shown}." if names else "it stays as it is."

    def _blocker(self, folder: str) -> Path | None:
        """Return the file that has the name of `folder`, or of a folder above it; None if there is none."""
        above = [Path(folder), *Path(folder).parents][-2::-1]  # from the top
        there = takewhile(lambda one: os.path.lexists(self._root / one), above)
        return next((one for one in there if not os.path.isdir(self._root / one)), None)

    def _names(self, path: str) -> Iterator[Path]:
        blocker = self._blocker(os.path.dirname(path))
        within = "" if blocker is None else os.fspath(Path(path).relative_to(blocker))
        number = 0
        while True:
            end = f".run-{self._burst}{f'-{number}' if number else ''}"
            yield self._root / _with_end(path if blocker is None else os.fspath(blocker), end) / within
            number += 1

    def _folders(self, changes: Sequence[ChangedPath], new: Sequence[ChangedPath]) -> None:
        for change in new:
            if not os.path.lexists(self._root / change.path):
                self._tell_brought(self._root / change.path)
                os.makedirs(self._root / change.path)
        for change in reversed(new):  # from the deepest, as a folder may be closed to its owner
            if os.path.isdir(self._root / change.path) and not os.path.islink(self._root / change.path):
                os.chmod(self._root / change.path, change.mode)
        for change in changes:
            folder = self._root / change.path
            if change.kind == "gone" and os.path.isdir(folder) and not os.path.islink(folder):
                self._tell_brought(folder)
                try:
                    folder.rmdir()
                except OSError:
                    continue  # something is in it that did not go


def _is_same(one: Path, other: Path) -> bool:
    """Return True if both are links to the same target, or files with the same bytes."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    return other.is_file() and filecmp.cmp(one, other, shallow=False)


def _with_end(path: str, end: str) -> Path:
    """Return `path` with `end` appended; a name that would be too long for a file system is cut in front of `end`."""
    folder, name = os.path.split(path)
    while len(os.fsencode(name)) > LONGEST_NAME - len(end):
        name = name[:-1]
    return Path(folder, name + end)
