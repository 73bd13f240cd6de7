"""Files that the log names for the first time, folded into all views at once: a first capture consists of them.

No view knows anything of such a file: nobody was shown it, no line of it is indexed, nothing of it was uncaptured. All
that the folds of the views come to is a number and a head, and with four rows for each of twenty thousand files it is
the calls that take the time. So runs of such records are taken together here, and a table is written at once.

The views' own folds make the very same rows: a replay takes them one by one. A view that has something to say of a new
file beyond that ends the shortcut in `take`, and tests hold the two ways against each other.
"""

from __future__ import annotations

from typing import Final

from quire_journal.model import Event, OutsideWritten, Record
from quire_journal.storage import WriteTransaction, u32, u64
from quire_journal.views import files, paths

WORTH: Final = 16
"""With so many records in a transaction it is worth asking whether there are newcomers among them."""


class Newcomers:
    """Takes records of a transaction, one after the other; what it took is in the tables after `put`."""

    def __init__(self, w: WriteTransaction) -> None:
        self._w = w
        self._begin()

    def _begin(self) -> None:
        self._number = 0  # of the last path; 0: not asked for yet
        self._ids: dict[bytes, bytes] = {}
        self._paths: list[tuple[bytes, bytes]] = []
        self._heads: list[tuple[bytes, bytes]] = []
        self._versions: list[tuple[bytes, bytes]] = []

    def take(self, record: Record, event: Event | None) -> bool:
        """Fold the record, if it is a file's first and nothing else is to be said of it; else the caller does."""
        if not isinstance(event, OutsideWritten) or record.op or not self._alone():
            return False
        key = paths.key_of(event.path)
        if key in self._ids or self._w.get("path_ids", key) is not None:
            return False
        self._number += 1
        number = u32(self._number)
        head, version = files.first_rows(record, event)
        self._ids[key] = number
        self._paths.append((number, paths.stored(event.path)))
        self._heads.append((number, head))
        self._versions.append((number + u64(record.seq), version))
        return True

    def _alone(self) -> bool:
        """Is no burst open, which the file might belong to? Asked once: what opens one is not taken."""
        if not self._number:
            if not self._w.empty("open_bursts"):
                return False
            self._number = self._w.count("paths")
        return True

    def put(self) -> None:
        """Write what was taken. Before another record is folded, for its fold may ask for it."""
        if self._ids:
            self._w.put_all("path_ids", sorted(self._ids.items()))
            self._w.append_all("paths", self._paths)
            self._w.put_all("files", self._heads)
            self._w.put_all("versions", self._versions)
        self._begin()
