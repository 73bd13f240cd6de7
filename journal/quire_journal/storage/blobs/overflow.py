"""Pieces: where the frame of a blob stands that is too long for its row.

LMDB gives a value of more than two kilobytes pages of its own, so half a page of every such frame was empty: a twelfth
of what a journal of real files takes. So of a long frame as much as fills whole pages is one value, and the rest is cut
into short ones, which share pages. The row of the blob says how many bytes stand here.
"""

from __future__ import annotations

from typing import Final

from quire_journal.model import JournalDamaged
from quire_journal.storage import ReadTransaction, WriteTransaction, u64

IN_ROW: Final = 1000
"""Bytes of the longest frame that stands in the row of its blob."""

_PAGE: Final = 4096
_PAGE_HEAD: Final = 16  # of the first page of a value
_SHORT: Final = 400

KEY_BYTES: Final = 9
"""Length of a piece's key: the blob's number, and the place of the piece. There are at most twelve pieces."""


def cut(number: int, frame: bytes) -> list[tuple[bytes, bytes]]:
    """The rows that hold `frame` of blob `number`."""
    whole = (len(frame) + _PAGE_HEAD) // _PAGE * _PAGE - _PAGE_HEAD
    parts = [frame[:whole]] if whole > 0 else []
    parts += [frame[at : at + _SHORT] for at in range(max(whole, 0), len(frame), _SHORT)]
    return [(u64(number) + bytes([part]), data) for part, data in enumerate(parts)]


def joined(r: ReadTransaction, number: int, size: int) -> bytes:
    """The `size` bytes of the frame of blob `number` that stand here. Raises `JournalDamaged` where that is not so."""
    frame = b"".join(part for _, part in r.scan("pieces", u64(number), u64(number + 1)))
    if len(frame) != size:
        raise JournalDamaged(f"blob {number} has {len(frame)} of the {size} bytes of its frame; run `quire verify`")
    return frame


def forget(w: WriteTransaction, number: int) -> int:
    """Remove the pieces of blob `number`; returns how many bytes they had."""
    rows = list(w.scan("pieces", u64(number), u64(number + 1)))
    for key, _ in rows:
        w.delete("pieces", key)
    return sum(len(part) for _, part in rows)
