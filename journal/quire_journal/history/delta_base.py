"""Bases: which bytes a new version is most likely to be like, as the views know it.

It is only about space: whatever is named here, the version comes out as it went in.
"""

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
"""How many versions of a path that is gone, or whose bytes are not kept, are searched for the last bytes that it had;
and how many of its moves are followed."""


class DeltaBases:
    """Stores versions that come one after the other, each made from the bytes that it is most likely to be like."""

    def __init__(self, moved: Mapping[str, str] | None = None) -> None:
        """`moved`: to → from, of the paths that are moved in this transaction."""
        self._moved = moved or {}
        self._latest: dict[bytes, bytes] = {}  # `similar.path_key` → what was stored here, of which no view tells yet

    def put(
        self,
        w: WriteTransaction,
        data: bytes,
        path: str | None,
        cache: BlobCache,
        blob: BlobId | None = None,
        bytes_of: Callable[[ReadTransaction, bytes], bytes] | None = None,
    ) -> BlobId:
        """`blobs.put` of a version of `path`; None: of bytes that belong to no path."""
        if path is None:
            return blobs.put(w, data, cache, blob, bytes_of=bytes_of)
        before, like = partial(self._before, w, path), partial(self._like, w, path)
        stored = self._latest[similar.path_key(path)] = blobs.put(w, data, cache, blob, before, like, bytes_of)
        return stored

    def _before(self, r: ReadTransaction, path: str) -> bytes:
        """What was stored of `path` just now, what stands there or at the path that is moved there, what stood there
        last. b"" for none."""
        number = path_id(r, self._moved.get(path, path))
        return self._latest.get(similar.path_key(path)) or (b"" if number is None else _newest(r, number))

    def _like(self, w: WriteTransaction, path: str) -> Iterator[bytes]:
        """The newest bytes of files that `path`, a new one, is likely to be like. It is noted as the last new one."""
        found = list(similar.of(w, path))
        similar.note(w, path)
        for key in found:
            number = None if key in self._latest else path_id_by(w, key)
            blob = self._latest.get(key, b"") if number is None else _newest(w, number)
            if blob:
                yield blob


def _newest(r: ReadTransaction, number: PathId) -> bytes:
    """The newest bytes of the path with this number, or of the one that it was moved to; b"" for none."""
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
