"""Overflow: rows of table `pieces` for a frame that is too long for its blob's row. LMDB gives a value of over two
kilobytes its own pages, so one row takes as much of the frame as fills whole pages, and short rows take the rest.
"""

from __future__ import annotations

from typing import Final

from quire_journal.model import JournalDamaged
from quire_journal.storage import ReadTransaction, WriteTransaction, u64

IN_ROW: Final = 1000
"""Maximum size of a frame in the row of its blob."""

_PAGE: Final = 4096
_PAGE_HEAD: Final = 16  # header of the first page of a value
_SHORT: Final = 400

KEY_BYTES: Final = 9
"""Length of a key of `pieces`: blob number (8 bytes) and index of the piece (below twelve)."""


def cut(number: int, frame: bytes) -> list[tuple[bytes, bytes]]:
    whole = (len(frame) + _PAGE_HEAD) // _PAGE * _PAGE - _PAGE_HEAD
    parts = [frame[:whole]] if whole > 0 else []
    parts += [frame[at : at + _SHORT] for at in range(max(whole, 0), len(frame), _SHORT)]
    return [(u64(number) + bytes([part]), data) for part, data in enumerate(parts)]


def joined(r: ReadTransaction, number: int, size: int) -> bytes:
    """Return the frame of blob `number`, `size` bytes. Raises `JournalDamaged` if bytes are missing."""
    frame = b"".join(part for _, part in r.scan("pieces", u64(number), u64(number + 1)))
    if len(frame) != size:
        raise JournalDamaged(f"blob {number} has {len(frame)} of the {size} bytes of its frame; run `quire verify`")
    return frame


def forget(w: WriteTransaction, number: int) -> int:
    """Remove the pieces of blob `number`, and return their size."""
    rows = list(w.scan("pieces", u64(number), u64(number + 1)))
    for key, _ in rows:
        w.delete("pieces", key)
    return sum(len(part) for _, part in rows)
