"""Kin: the file that a new file is likely to be like, so that its first version can be stored as a difference from it.

A first version can only be stored as a delta when it is known against what. For half of them the name tells it: another
file of the same name (in a package beside, in the folder it was moved from by hand, in a copy), or else the one of the
same kind that came last. That is a fifth of what first versions take up, and of generated or copied trees most of it.

A row says, by hashes, which path was the last new one with a name, or with a suffix. It only tells where to look: a
wrong one costs nothing but space.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from typing import Final

from quire_journal.storage import ReadTransaction, WriteTransaction
from quire_journal.views import key_of

KEY_BYTES: Final = 8
"""Of a name's hash, and of a path's. Two that agree share a row."""


def of(r: ReadTransaction, path: str) -> Iterator[bytes]:
    """The first bytes of sha256 of the paths that `path` may be like, the likeliest first."""
    own = path_key(path)
    for key in _keys(path):
        found = r.get("kin", key)
        if found is not None and found != own:
            yield found


def note(w: WriteTransaction, path: str) -> None:
    """Say that `path` is the last new one of its name and of its suffix."""
    own = path_key(path)
    for key in _keys(path):
        if w.get("kin", key) != own:
            w.put("kin", key, own)


def path_key(path: str) -> bytes:
    """What stands for a path in a row; sha256 of the path begins with it."""
    return key_of(path)[:KEY_BYTES]


@functools.lru_cache(maxsize=16)  # asked for and written, one after the other
def _keys(path: str) -> tuple[bytes, ...]:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    # A name without a suffix is its own: `Makefile`, `.gitignore`.
    return (_hash(f"name {name}"), _hash(f"suffix {suffix}")) if stem and dot else (_hash(f"name {name}"),)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:KEY_BYTES]
