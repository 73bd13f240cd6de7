"""Watermarks: up to which record, and by which version of its fold, each view was built.

They stand in one row of `meta`, which is put in the transaction that changes the tables of the views: so a crash leaves
no view half folded. One row, because it moves with every commit, and nearly always all views move together: a row for
each of thirteen views was a tenth of what the commit of an edit cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from quire_journal.storage import ReadTransaction, WriteTransaction

KEY: Final = b"views"
"""In `meta`: the row."""

Marks = Mapping[str, tuple[int, int]]
"""View → (version of its fold, seq of the last record folded). A view that is not there was never built."""

_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
_MARKS: Final = msgspec.msgpack.Decoder(dict[str, tuple[int, int]])


def read(r: ReadTransaction) -> Marks:
    """Where the views are. A row that makes no sense says nothing, and everything is folded again."""
    found = r.get("meta", KEY)
    try:
        return _MARKS.decode(found) if found is not None else {}
    except msgspec.MsgspecError:
        return {}


def row(marks: Marks) -> bytes:
    """The row that says that the views are there."""
    return _ENCODER.encode(marks)


def is_said(r: ReadTransaction, row: bytes) -> bool:
    """Is this what is said? Cheaper than reading and comparing."""
    return r.get("meta", KEY) == row


def say(w: WriteTransaction, row: bytes) -> None:
    """Put this row."""
    w.put("meta", KEY, row)


def write(w: WriteTransaction, marks: Marks) -> None:
    """Say where the views are."""
    say(w, row(marks))
