"""Delta bases: choice of the stored blob against which a new version is stored as a delta. The choice changes only the
space taken.

The first version of a path is compared with the newest file of the same name, else of the same suffix. Table `kin` maps
the hash of a name or suffix to the hash of its last new path.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from quire_journal.model import BlobId, PathId
from quire_journal.storage import ReadTransaction, WriteTransaction, blobs
from quire_journal.storage.blobs import BlobCache
from quire_journal.views import files, key_of, path_id, path_id_by

_KEY_BYTES: Final = 8


def _alike(r: ReadTransaction, path: str) -> Iterator[bytes]:
    own = _path_key(path)
    for key in _keys(path):
        found = r.get("kin", key)
        if found is not None and found != own:
            yield found


def _note(w: WriteTransaction, path: str) -> None:
    own = _path_key(path)
    for key in _keys(path):
        if w.get("kin", key) != own:
            w.put("kin", key, own)


def _path_key(path: str) -> bytes:
    return key_of(path)[:_KEY_BYTES]


@functools.lru_cache(maxsize=16)  # called by a read, then by a write
def _keys(path: str) -> tuple[bytes, ...]:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    # A name without a suffix has no row for suffixes: `Makefile`, `.gitignore`.
    return (_hash(f"name {name}"), _hash(f"suffix {suffix}")) if stem and dot else (_hash(f"name {name}"),)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:_KEY_BYTES]


_FEW_VERSIONS: Final = 4
"""Maximum number of moves followed, and then of versions searched for bytes."""


class DeltaBases:
    """Writer of versions as deltas against probably similar blobs. `moved`: new path → old path of moved files."""

    def __init__(self, moved: Mapping[str, str] | None = None) -> None:
        self._moved = moved or {}
        self._latest: dict[bytes, bytes] = {}  # `_path_key` → a blob stored by this object, not yet in the views

    def put(
        self,
        w: WriteTransaction,
        data: bytes,
        path: str | None,
        cache: BlobCache,
        blob: BlobId | None = None,
        bytes_of: Callable[[ReadTransaction, bytes], bytes] | None = None,
    ) -> BlobId:
        """Store `data`, a version of `path` (None: bytes without a path), and return its address. Other parameters and
        errors are those of `blobs.put`.
        """
        if path is None:
            return blobs.put(w, data, cache, blob, bytes_of=bytes_of)
        before, like = partial(self._before, w, path), partial(self._like, w, path)
        stored = self._latest[_path_key(path)] = blobs.put(w, data, cache, blob, before, like, bytes_of)
        return stored

    def _before(self, r: ReadTransaction, path: str) -> bytes:
        number = path_id(r, self._moved.get(path, path))
        return self._latest.get(_path_key(path)) or (b"" if number is None else _newest(r, number))

    def _like(self, w: WriteTransaction, path: str) -> Iterator[bytes]:
        found = list(_alike(w, path))
        _note(w, path)
        for key in found:
            number = None if key in self._latest else path_id_by(w, key)
            blob = self._latest.get(key, b"") if number is None else _newest(w, number)
            if blob:
                yield blob


def _newest(r: ReadTransaction, number: PathId) -> bytes:
    head = files.head(r, number)
    for _ in range(_FEW_VERSIONS):
        if head is None or not head.moved_to:
            break
        to = path_id(r, head.moved_to)
        if to is None or files.head(r, to) is None:
            break
        number, head = to, files.head(r, to)
    if head is None or head.blob:
        return b"" if head is None else head.blob
    older = (version.blob for version in islice(files.versions(r, number, reverse=True), _FEW_VERSIONS))
    return next(filter(None, older), b"")
