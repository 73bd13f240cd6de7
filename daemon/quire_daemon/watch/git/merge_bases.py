"""Merge bases of two commits, texts of files in them, and git's count of conflicts.

Git runs as in `commit_blame`: texts are those of the objects, without conversion of line ends.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from quire_daemon.watch.git.commit_blame import BLOB_WORDS, CommitBlame, Repository, find_repository, head_now
from quire_journal.model import disk_path

MOST_BASES: Final = 200
MOST_TEXTS: Final = 200
MOST_TEXT_BYTES: Final = 4 << 20
"""Largest file that is compared."""

PATIENCE_S: Final = 5.0

_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")

K = TypeVar("K")
V = TypeVar("V")


class MergeBases:
    """Queries of git about one repository, on the calling thread."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._git = CommitBlame(root, _no_jobs)
        self._bases: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._texts: OrderedDict[tuple[str, str], bytes | None] = OrderedDict()

    def head(self) -> str:
        repository = find_repository(self._root, "x")
        return head_now(repository) if repository is not None else ""

    def between(self, one: str, other: str) -> str:
        """Return the best merge base of two commits; "" if none, or git fails."""
        # from another daemon: must not be read as an option of git
        if not (_COMMIT.fullmatch(one) and _COMMIT.fullmatch(other)):
            return ""
        if one == other:
            return one
        key = (min(one, other), max(one, other))
        return _kept(self._bases, key, MOST_BASES, lambda: self._base(*key))

    def text(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes in a commit; b"" if missing, None if unknown or too large."""
        return _kept(self._texts, (commit, path), MOST_TEXTS, lambda: self._text(commit, path))

    def close(self) -> None:
        self._git.close()

    def _base(self, one: str, other: str) -> str:
        repository = find_repository(self._root, "x")
        said = self._told(repository, ["merge-base", one, other]) if repository is not None else None
        return (said or b"").decode("ascii", "replace").strip()

    def _text(self, commit: str, path: str) -> bytes | None:
        repository = find_repository(self._root, "x")
        name = os.fsencode(disk_path(path))
        if repository is None or b"\n" in name:
            return None
        inside = repository.path.removesuffix(b"x") + name
        said = self._told(repository, [*BLOB_WORDS], commit.encode() + b":" + inside + b"\n")
        if said is None:
            return None
        head, _, rest = said.partition(b"\n")
        if head.endswith(b" missing"):
            return b""
        parts = head.split(b" ")
        if len(parts) != 3 or parts[1] != b"blob" or int(parts[2]) > MOST_TEXT_BYTES:
            return None
        return rest[: int(parts[2])]

    def _told(self, repository: Repository, words: list[str | bytes], heard: bytes = b"") -> bytes | None:
        try:
            return self._git.run(repository, words, heard, PATIENCE_S)
        except (OSError, TimeoutError):
            return None


def conflicts(base: bytes, mine: bytes, theirs: bytes) -> int:
    """Return the number of conflicts of `git merge-file`. Raises OSError, TimeoutError."""
    with tempfile.TemporaryDirectory(prefix="quire-merge-") as folder:
        names = [os.path.join(folder, name) for name in ("mine", "base", "theirs")]
        for name, data in zip(names, (mine, base, theirs), strict=True):
            Path(name).write_bytes(data)
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TRACE2_EVENT": "0",
        }
        environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": folder}
        command = ["git", "merge-file", "--quiet", "--stdout", *names]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
    if not 0 <= done.returncode < 128:
        raise OSError(f"git merge-file: status {done.returncode}")
    return done.returncode


def _kept(kept: OrderedDict[K, V], key: K, most: int, ask: Callable[[], V]) -> V:
    if key in kept:
        kept.move_to_end(key)
        return kept[key]
    found = kept[key] = ask()
    if len(kept) > most:
        kept.popitem(last=False)
    return found


def _no_jobs(*_: object, **__: object) -> None:
    raise AssertionError("its questions are answered on the calling thread")
