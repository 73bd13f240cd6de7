"""Similar files: a likely delta base for the first version of a new file: the newest file of that name, or else of that
suffix. This saves a fifth of the space of first versions.

A row maps the hash of a name or suffix to the hash of the last new path that has it; a wrong row costs only space.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from typing import Final

from quire_journal.storage import ReadTransaction, WriteTransaction
from quire_journal.views import key_of

KEY_BYTES: Final = 8
"""Bytes of a name's hash, and of a path's. Colliding names share a row."""


def of(r: ReadTransaction, path: str) -> Iterator[bytes]:
    """The prefixes of sha256 of paths that `path` may be like, the likeliest first."""
    own = path_key(path)
    for key in _keys(path):
        found = r.get("kin", key)
        if found is not None and found != own:
            yield found


def note(w: WriteTransaction, path: str) -> None:
    """Make `path` the last new path of its name and of its suffix."""
    own = path_key(path)
    for key in _keys(path):
        if w.get("kin", key) != own:
            w.put("kin", key, own)


def path_key(path: str) -> bytes:
    """The prefix of sha256 of the path that rows hold."""
    return key_of(path)[:KEY_BYTES]


@functools.lru_cache(maxsize=16)  # read and then written
def _keys(path: str) -> tuple[bytes, ...]:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    # A name without a suffix is its own: `Makefile`, `.gitignore`.
    return (_hash(f"name {name}"), _hash(f"suffix {suffix}")) if stem and dot else (_hash(f"name {name}"),)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:KEY_BYTES]
