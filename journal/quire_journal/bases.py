"""Bases: which bytes a new version is most likely to be like, as the views know it.

It is only about space: whatever is named here, the version comes out as it went in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from quire_journal import kin
from quire_journal.ids import PathId
from quire_journal.log import Reading, Writing
from quire_journal.views import files
from quire_journal.views.paths import path_id, path_id_by

_FEW_VERSIONS: Final = 4
"""Of a path that is gone, or whose bytes are not kept, in which those that it had last are looked for; and so many
moves of it are followed."""


Latest = dict[bytes, bytes]
"""sha256[:8] of a path → what was stored of it just now, of which the views do not tell yet."""


def before(r: Reading, path: str | None, moved: Mapping[str, str], latest: Latest) -> bytes:
    """What a version of `path` is most likely made from: what was stored of it just now, what stands there or at the
    path that is moved there (`moved`: to → from), what stood there last. b"" for none."""
    if path is None:
        return b""
    number = path_id(r, moved.get(path, path))
    return latest.get(kin.path_key(path)) or (b"" if number is None else _newest(r, number))


def like(w: Writing, path: str | None, latest: Latest) -> Iterator[bytes]:
    """The newest bytes of files that `path`, a new one, is likely to be like; and it is noted as the last new one."""
    if path is None:
        return
    found = list(kin.of(w, path))
    kin.note(w, path)
    for key in found:
        number = None if key in latest else path_id_by(w, key)
        blob = latest.get(key, b"") if number is None else _newest(w, number)
        if blob:
            yield blob


def _newest(r: Reading, number: PathId) -> bytes:
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
