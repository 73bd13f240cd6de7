"""Names reserved by git or Quire, in every form that a file system treats as equal. They hold configuration, hooks or a
journal's identity, so a foreign journal must not write them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from quire_journal.model.ids import disk_path

RESERVED: Final = frozenset({".git", "git~1", ".quire", "quire~1"})
"""Reserved names in the form of `disguised`; names with `~1` are the short names of FAT and NTFS."""

_OF_A_REPOSITORY: Final = frozenset({"head", "objects", "refs", "commondir"})

# Code points that HFS+ ignores in names; the list is git's (utf8.c, next_hfs_char).
_IGNORED: Final = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF], None)


def fold(name: str) -> str:
    """Return `name` as compared by a file system that ignores case and Unicode form."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@lru_cache(maxsize=2048)  # many paths share their folders
def disguised(name: str) -> str:
    """Return `name` after `fold`, without the parts that HFS+ and NTFS ignore: ignorable characters, streams, final
    dots and spaces.
    """
    return fold(name if name.isascii() else name.translate(_IGNORED)).split(":", 1)[0].rstrip(". ")


def is_reserved(journal: str) -> bool:
    return any(disguised(name) in RESERVED for name in disk_path(journal).split("/"))


def repositories(paths: Iterable[str]) -> frozenset[str]:
    """Return the folders among these paths that git takes for bare repositories ("" is the top): with HEAD and either
    objects and refs, or commondir.
    """
    inside: dict[str, set[str]] = {}
    for path in paths:
        *folders, last = disk_path(path).split("/")
        for depth, name in enumerate([*folders, last]):
            plain = disguised(name)
            if plain in _OF_A_REPOSITORY:
                inside.setdefault("/".join(folders[:depth]), set()).add(plain)
    found = (folder for folder, names in inside.items() if names >= {"head", "objects", "refs"})
    linked = (folder for folder, names in inside.items() if names >= {"head", "commondir"})
    return frozenset((*found, *linked))


def is_within(journal: str, folders: frozenset[str]) -> bool:
    """True if the path is in or below one of these folders."""
    names = disk_path(journal).split("/")
    return any("/".join(names[:depth]) in folders for depth in range(len(names) + 1)) if folders else False
