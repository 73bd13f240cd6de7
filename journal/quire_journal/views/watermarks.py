"""Watermarks: up to which record, and by which version of its fold, each view was built.

They stand in one row of `meta`, which is put in the transaction that changes the tables of the views: so a crash leaves
no view half folded. One row, because it moves with every commit, and nearly always all views move together: a row for
each of thirteen views was a tenth of what the commit of an edit cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from quire_journal.storage import ReadTransaction, WriteTransaction

KEY: Final = b"views"
"""In `meta`: the row."""

OLD_PREFIX: Final = b"view:"
"""In `meta`, up to format 2: each view had a row of its own, behind this."""

Marks = Mapping[str, tuple[int, int]]
"""View → (version of its fold, seq of the last record folded). A view that is not there was never built."""

_ENCODER: Final = msgspec.msgpack.Encoder(order="sorted")
_MARKS: Final = msgspec.msgpack.Decoder(dict[str, tuple[int, int]])


def read(r: ReadTransaction) -> Marks:
    """Where the views are. A row that makes no sense says nothing, and everything is folded again."""
    found = r.get("meta", KEY)
    if found is None:
        return {name: (int.from_bytes(mark[:4], "big"), int.from_bytes(mark[4:], "big")) for name, mark in _old_rows(r)}
    try:
        return _MARKS.decode(found)
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


def gather(w: WriteTransaction) -> None:
    """Make the one row of those that format 2 had for each view."""
    write(w, read(w))
    for name, _ in list(_old_rows(w)):
        w.delete("meta", OLD_PREFIX + name.encode())


def _old_rows(r: ReadTransaction) -> Iterator[tuple[str, bytes]]:
    """The rows of format 2."""
    for key, mark in r.scan("meta", OLD_PREFIX, OLD_PREFIX + b"\xff"):
        yield key.removeprefix(OLD_PREFIX).decode(), mark
