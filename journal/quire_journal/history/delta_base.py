"""Delta bases: the stored bytes that a new version is probably like. The choice affects only space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

from quire_journal.history import similar
from quire_journal.model import BlobId, PathId
from quire_journal.storage import ReadTransaction, WriteTransaction, blobs
from quire_journal.storage.blobs import BlobCache
from quire_journal.views import files, path_id, path_id_by

_FEW_VERSIONS: Final = 4
"""Most versions of a path searched for its last bytes; also most moves followed."""


class DeltaBases:
    """Stores consecutive versions, each as a delta against the bytes it is probably like."""

    def __init__(self, moved: Mapping[str, str] | None = None) -> None:
        """`moved`: to → from, for the paths moved in this transaction."""
        self._moved = moved or {}
        self._latest: dict[bytes, bytes] = {}  # `similar.path_key` → a blob stored here, not yet in the views

    def put(
        self,
        w: WriteTransaction,
        data: bytes,
        path: str | None,
        cache: BlobCache,
        blob: BlobId | None = None,
        bytes_of: Callable[[ReadTransaction, bytes], bytes] | None = None,
    ) -> BlobId:
        """`blobs.put` of a version of `path`; None: of bytes without a path."""
        if path is None:
            return blobs.put(w, data, cache, blob, bytes_of=bytes_of)
        before, like = partial(self._before, w, path), partial(self._like, w, path)
        stored = self._latest[similar.path_key(path)] = blobs.put(w, data, cache, blob, before, like, bytes_of)
        return stored

    def _before(self, r: ReadTransaction, path: str) -> bytes:
        number = path_id(r, self._moved.get(path, path))
        return self._latest.get(similar.path_key(path)) or (b"" if number is None else _newest(r, number))

    def _like(self, w: WriteTransaction, path: str) -> Iterator[bytes]:
        """The newest bytes of files that the new file `path` is probably like; adds `path`."""
        found = list(similar.of(w, path))
        similar.note(w, path)
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
