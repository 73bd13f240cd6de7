"""Files of the signed head and the Merkle tree of a journal, in the state folder.

    heads/checkpoint     the newest signed head (c2sp.org/tlog-checkpoint)
         /keys           the public keys that verify it, one per line
         /tile/          the tree (c2sp.org/tlog-tiles)
    heads.broken-T/      a tree that no longer matches the journal, moved here at time T; the reason is in `why`
    signing.key          the private key; it never leaves the state folder

Everything except the key may be published. Tiles are not synced, because the records can rebuild them.
"""

from __future__ import annotations

import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from quire_journal.storage import fsync
from quire_journal.transparency import MOST_NOTE_BYTES, Tile, TreeHead, VerifierKey, read_head, read_note

FOLDER: Final = "heads"
KEY: Final = "signing.key"

_BROKEN: Final = "heads.broken-"
_KEY_BYTES: Final = 32


class HeadFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, state: Path) -> HeadFolder:
        return cls(state / FOLDER)

    def read(self, tile: Tile) -> bytes | None:
        try:
            return (self.path / tile.path).read_bytes()
        except OSError:
            return None

    def put(self, tile: Tile, data: bytes) -> None:
        """Write a tile (part of the tree); a full tile replaces partial ones. Raises `OSError`."""
        path = self.path / tile.path
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(data)
        os.replace(new, path)  # a reader of the folder never finds half a file
        if ".p/" not in tile.path:
            shutil.rmtree(f"{path}.p", ignore_errors=True)

    def checkpoint(self) -> str:
        """Return the newest signed head as text; "" if there is none. Raises `OSError`."""
        try:
            with open(self.path / "checkpoint", encoding="utf-8", errors="replace", newline="") as file:
                return file.read(MOST_NOTE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def head(self) -> TreeHead | None:
        """Return the newest head, its signature unchecked; None if there is none. Raises `OSError` or `BadNote`."""
        text = self.checkpoint()
        return head_in(text) if text else None

    def keys(self) -> str:
        """Return the public keys, one per line; "" if there are none."""
        try:
            return (self.path / "keys").read_text("utf-8", "replace")
        except OSError:
            return ""

    def publish(self, checkpoint: str, keys: Sequence[VerifierKey]) -> None:
        """Replace the signed head and its keys, durably. Raises `OSError`."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        for name, text in (("keys", "".join(f"{key.vkey}\n" for key in keys)), ("checkpoint", checkpoint)):
            new = self.path / f"{name}.new"
            new.write_text(text, "utf-8", newline="")
            fsync.rename(new, self.path / name)

    def set_aside(self, why: str, at_s: int) -> None:
        """Rename the folder to `heads.broken-T`, with the reason in it; `at_s` is Unix time. Raises `OSError`."""
        (self.path / "why").write_text(f"{why}\n", "utf-8")
        number = at_s
        while (to := self.path.with_name(f"{_BROKEN}{number}")).exists():
            number += 1
        os.rename(self.path, to)
        fsync.sync_path(to.parent)


def head_in(checkpoint: str) -> TreeHead:
    """Return a signed head, its signature unchecked. Raises `BadNote` if it is malformed."""
    return read_head(read_note(checkpoint).text)


def broken_folders(state: Path) -> list[tuple[HeadFolder, str]]:
    """Return the head folders that the journal contradicts, each with the reason, oldest first."""
    return [(HeadFolder(path), _why(path)) for path in sorted(state.glob(f"{_BROKEN}*"))]


def _why(path: Path) -> str:
    with suppress(OSError):
        return (path / "why").read_text("utf-8", "replace").strip()
    return ""


def private_key(state: Path, made: bytes) -> bytes:
    """Return the stored private key; if there is none, store and return `made`. Raises `OSError`, or `ValueError` if
    the file is not a key.
    """
    path = state / KEY
    with suppress(FileNotFoundError):
        with suppress(ValueError):
            key = b64decode(path.read_bytes(), validate=True)
            if len(key) == _KEY_BYTES:
                return key
        raise ValueError(f"{path} is not a private key; move it away to have another one made")
    new = path.with_name(f"{KEY}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(b64encode(made))
    fsync.rename(new, path)
    return made
