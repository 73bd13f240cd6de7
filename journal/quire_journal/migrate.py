"""Journals of an older format become one of this format when they are opened, in one transaction: all of it or nothing.

A step is a function that changes the tables of a journal of format n so that they are those of format n + 1, and a line
in `MIGRATIONS`. It never changes a record, for their hashes are chained (old shapes of events are `upcast`'s), nor a
view: a view whose fold is new has another version, and is folded again. An older Quire refuses what comes out, nothing
touched (`journal.NewerFormat`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from quire_journal.model import GENESIS, JournalDamaged, record_hash
from quire_journal.storage import Store, WriteTransaction, u64
from quire_journal.storage.blobs import index as blob_index, repack
from quire_journal.views import watermarks

Step = Callable[[WriteTransaction], None]

HEAD_KEY: Final = b"head"
"""In `meta`: where the log ends, and the hash of the record there (`head_row`)."""


def head_row(seq: int, last_hash: bytes) -> bytes:
    """Without it nothing would tell that the last record is what it was: no other holds its hash."""
    return u64(seq) + last_hash


def _say_where_the_log_ends(w: WriteTransaction) -> None:
    """Format 2: an older Quire would append and leave the row as it is, so that the log seemed to be damaged."""
    for key, stored in w.scan("records", reverse=True):
        w.put("meta", HEAD_KEY, head_row(int.from_bytes(key, "big"), record_hash(stored)))
        return
    w.put("meta", HEAD_KEY, head_row(0, GENESIS))


def _as_it_was(w: WriteTransaction) -> None:
    """Format 4: what is stored is read as it stands."""


def _forget_chains(w: WriteTransaction) -> None:
    """Format 5: the row of a blob says what a chain said. Blobs are read as they stand, and the next compaction tries
    all of them again, for frames with tables are shorter."""
    w.clear("chains")
    w.delete("meta", repack.KEY)


MIGRATIONS: Final[Mapping[int, Step]] = {
    1: _say_where_the_log_ends,
    2: watermarks.gather,  # an older Quire would look for a row of each view, find none, and fold all records twice
    3: _as_it_was,  # an older Quire would not know the shape that records have from here on (`records`)
    4: _forget_chains,  # and an older Quire would read neither rows nor frames of blobs from here on (`row`)
    5: blob_index.gather,
}
"""Format → what makes the next one of it."""


def migrate(store: Store, found: int, wanted: int, steps: Mapping[int, Step] = MIGRATIONS) -> None:
    """Bring the journal in `store` from format `found` to `wanted`.

    Raises `log.JournalDamaged` for a format that no step leads on from (there never was such a one), and what the steps
    raise; nothing was changed then.
    """
    if found == wanted:
        return
    with store.writing() as w:
        for format in range(found, wanted):
            if format not in steps:
                raise JournalDamaged(
                    f"the journal says that it has format {format}, which never was; keep a copy of its folder"
                )
            steps[format](w)
        w.put("meta", b"format", str(wanted).encode())
