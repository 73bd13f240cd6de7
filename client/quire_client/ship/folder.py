"""A remote store in a folder: on another disk, or a network share that agents cannot write to."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from quire_client.ship.port import FarSideUnreachable
from quire_journal.storage import fsync

_NEW: Final = ".new-"

STALE_S: Final = 86_400.0
"""Age in seconds at which a file that a killed shipper left is removed."""


class FolderObjects:
    def __init__(self, root: Path) -> None:
        """`root` must exist, as an unmounted folder must not be created on the local disk."""
        self._root = root
        self._swept: set[Path] = set()

    def create(self, key: str, data: bytes) -> bool:
        return self._created({key: data}) > 0

    def create_all(self, objects: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        self._created(objects)
        return {key: self.get(key) for key in objects}

    def _created(self, objects: Mapping[str, bytes]) -> int:
        created = 0
        paths = {self._root / key: data for key, data in objects.items()}
        try:
            self._require_root()
            with ExitStack() as undo:
                written = {path: self._write(path, data, undo) for path, data in paths.items() if not path.exists()}
                for new in written.values():
                    fsync.sync_path(new)
                for path, new in written.items():
                    with suppress(FileExistsError):
                        os.link(new, path)  # fails if the name is taken, which a rename does not
                        created += 1
            for folder in {path.parent for path in paths}:  # of one that was there, too: its maker may have been killed
                fsync.sync_path(folder)
            return created
        except OSError as error:
            raise _unreachable(self._root, error) from error

    def _write(self, path: Path, data: bytes, undo: ExitStack) -> Path:
        """Write `data` to a new file beside `path`; return the new path. Closing `undo` removes the file."""
        self._make_folder(path.parent)
        self._sweep(path.parent)
        new = path.with_name(f"{_NEW}{secrets.token_hex(8)}")
        undo.callback(new.unlink, missing_ok=True)
        with open(new, "xb") as file:
            file.write(data)
            file.flush()
            if hasattr(os, "posix_fadvise"):  # begins to write, so that the syncs of several files wait for one
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return new

    def get(self, key: str) -> bytes | None:
        try:
            with suppress(FileNotFoundError):
                return (self._root / key).read_bytes()
            self._require_root()
            return None
        except OSError as error:
            raise _unreachable(self._root, error) from error

    def keys(self, prefix: str, after: str = "") -> Iterator[str]:
        try:
            self._require_root()
            yield from self._below(self._root / prefix, prefix, after)
        except OSError as error:
            raise _unreachable(self._root, error) from error

    def folders(self, prefix: str) -> set[str]:
        try:
            self._require_root()
            with suppress(FileNotFoundError), os.scandir(self._root / prefix) as entries:
                return {one.name for one in entries if one.is_dir() and any(self.keys(f"{prefix}{one.name}/"))}
            return set()
        except OSError as error:
            raise _unreachable(self._root, error) from error

    def close(self) -> None:
        pass

    def _below(self, folder: Path, prefix: str, after: str) -> Iterator[str]:
        try:
            with os.scandir(folder) as entries:
                there = [(entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith(_NEW)]
        except FileNotFoundError:
            return
        for name, is_folder in sorted(there, key=lambda one: f"{one[0]}/" if one[1] else one[0]):
            key = f"{prefix}{name}"
            if is_folder:
                if f"{key}/~" > after:
                    yield from self._below(folder / name, f"{key}/", after)
            elif key > after:
                yield key

    def _sweep(self, folder: Path) -> None:
        """Remove files that killed shippers left in the folder more than `STALE_S` seconds ago. Each folder is swept
        once.
        """
        if folder in self._swept:
            return
        self._swept.add(folder)
        with os.scandir(folder) as entries:
            left = [Path(entry.path) for entry in entries if entry.name.startswith(_NEW)]
        for path in left:
            with suppress(OSError):  # a store that forbids it keeps them
                if time.time() - path.stat().st_mtime > STALE_S:
                    path.unlink()

    def _require_root(self) -> None:
        os.stat(self._root / ".")

    def _make_folder(self, folder: Path) -> None:
        if folder != self._root and not folder.is_dir():
            self._make_folder(folder.parent)
            with suppress(FileExistsError):
                folder.mkdir()
            fsync.sync_path(folder.parent)


def _unreachable(root: Path, error: OSError) -> FarSideUnreachable:
    return FarSideUnreachable(f"{root}: {error.strerror or error}")
