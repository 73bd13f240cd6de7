"""Similar files: pairs of a removed and an added file that are one renamed file, by equal or similar contents, as in
git.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from quire_journal.model import REGULAR, pause
from quire_journal.text import Text
from quire_journal.views import Version

SIMILAR: Final = 0.5
"""Minimum part of the larger file that both files have, for one to be the other renamed; git's default."""

CHUNK: Final = 64
"""Number of bytes after which a line is compared in parts, as in git."""

MOST_COMPARED: Final = 2_500
"""Maximum number of pairs of files of which the contents are compared."""

MOST_BYTES: Final = 16 << 20
"""Maximum number of bytes of the files of which the contents are compared."""

TextOf = Callable[[Version], Text | None]
"""Function that returns the text of a version; None if it is not held."""


def alike(left: Mapping[str, Version], came: Mapping[str, Version], text_of: TextOf) -> dict[str, str]:
    """Return new path → old path: pairs of a file in `came` and a file in `left` with the same bytes, then the most
    similar pairs.
    """
    found = with_same_bytes(left, came)
    others = {path: new for path, new in came.items() if new.size and path not in found}
    for path, old_path in _most_similar(left, others, text_of):
        if path not in found and old_path not in found.values():
            found[path] = old_path
    return found


def with_same_bytes(left: Mapping[str, Version], came: Mapping[str, Version]) -> dict[str, str]:
    """Return new path → old path: pairs of a file in `came` and a file in `left` with the same bytes."""
    by_bytes: dict[tuple[bytes, int], list[str]] = {}
    for path, old in left.items():
        if old.blob:
            by_bytes.setdefault((old.blob, old.entry), []).append(path)
    found: dict[str, str] = {}
    for path, new in came.items():
        if new.size and (same := by_bytes.get((new.blob, new.entry))):
            found[path] = min(same, key=lambda old: (base_name(old) != base_name(path), same.index(old)))
            same.remove(found[path])
    return found


def _most_similar(olds: Mapping[str, Version], news: Mapping[str, Version], text_of: TextOf) -> list[tuple[str, str]]:
    """Return (new path, old path) of similar files, the most similar first; none if all are too much to compare."""
    pairs = [(path, old_path) for path, new in news.items() for old_path, old in olds.items() if _may_be(old, new)]
    both = {**olds, **news}
    compared = {path: both[path] for pair in pairs for path in pair}
    if len(pairs) > MOST_COMPARED or sum(one.size for one in compared.values()) > MOST_BYTES:
        return []
    parts = {path: _parts(one, text_of) for path, one in compared.items()}
    scores = [(_common(parts[old_path], parts[path]), path, old_path) for path, old_path in pairs]
    close = [one for one in scores if one[0] >= SIMILAR]
    close.sort(key=lambda one: (-one[0], base_name(one[1]) != base_name(one[2]), one[1], one[2]))
    return [(path, old_path) for _, path, old_path in close]


def _may_be(old: Version, new: Version) -> bool:
    if not old.entry == new.entry == REGULAR:
        return False
    return min(old.size, new.size) >= SIMILAR * max(old.size, new.size, 1)


def similarity(old: Version | None, new: Version | None, text_of: TextOf) -> float:
    """Return the part of the larger file that both have, 0 to 1; 0 also if one is too large or no regular file."""
    if old is None or new is None or not _may_be(old, new) or max(old.size, new.size) > MOST_BYTES:
        return 0.0
    return 1.0 if old.blob and old.blob == new.blob else _common(_parts(old, text_of), _parts(new, text_of))


def _parts(version: Version, text_of: TextOf) -> Counter[bytes]:
    """Count the lines of a file, long ones as parts of `CHUNK` bytes; none if the bytes are not held."""
    pause()
    text = text_of(version)
    lines = () if text is None else text.data.split(b"\n")
    return Counter(line[at : at + CHUNK] for line in lines for at in range(0, len(line) + 1, CHUNK))


def _common(old: Counter[bytes], new: Counter[bytes]) -> float:
    """Return the part of the larger file that both have, 0 to 1."""
    sizes = [sum((len(part) + 1) * many for part, many in one.items()) for one in (old, new, old & new)]
    return sizes[2] / max(*sizes[:2], 1)


def base_name(path: str) -> str:
    """Return the path without its folder."""
    return path.rpartition("/")[2]
