"""Watermarks: for each view, the version of its fold and the last record folded. They are one row of `meta`, written in
the transaction that changes the views, so that a crash leaves no view half folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from quire_journal.storage import ReadTransaction, WriteTransaction

KEY: Final = b"views"

Marks = Mapping[str, tuple[int, int]]
"""View → (version of its fold, seq of the last record folded), without views never built."""

_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
_MARKS: Final = msgspec.msgpack.Decoder(dict[str, tuple[int, int]])


def read(r: ReadTransaction) -> Marks:
    """Return the watermarks; {} for an unreadable row, so that everything is folded again."""
    found = r.get("meta", KEY)
    try:
        return _MARKS.decode(found) if found is not None else {}
    except msgspec.MsgspecError:
        return {}


def row(marks: Marks) -> bytes:
    return _ENCODER.encode(marks)


def is_said(r: ReadTransaction, row: bytes) -> bool:
    """True if `row` is stored as the watermarks. Faster than `read`."""
    return r.get("meta", KEY) == row


def say(w: WriteTransaction, row: bytes) -> None:
    w.put("meta", KEY, row)


def write(w: WriteTransaction, marks: Marks) -> None:
    say(w, row(marks))
