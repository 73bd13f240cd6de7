"""Bulk load: fold of new files into all views at once, for a first capture, as calls of each fold are too slow. Tests
compare its rows with those of the folds. A view that has more to record of a new file must be excluded in `take`.
"""

from __future__ import annotations

from typing import Final

from quire_journal.model import Event, OutsideWritten, Record
from quire_journal.storage import WriteTransaction, u32, u64
from quire_journal.views import files, paths

WORTH: Final = 16
"""Minimum number of records in a transaction for a bulk load."""


class Newcomers:
    """Buffer of the rows for new files."""

    def __init__(self, w: WriteTransaction) -> None:
        self._w = w
        self._begin()

    def _begin(self) -> None:
        self._number = 0  # number of the last path; 0: not read yet
        self._ids: dict[bytes, bytes] = {}
        self._paths: list[tuple[bytes, bytes]] = []
        self._heads: list[tuple[bytes, bytes]] = []
        self._versions: list[tuple[bytes, bytes]] = []

    def take(self, record: Record, event: Event | None) -> bool:
        """Buffer the record's rows and return True if its path is new and no other view needs the
        record; else False.
        """
        if not isinstance(event, OutsideWritten) or record.op or not self._alone():
            return False
        key = paths.key_of(event.path)
        if key in self._ids or self._w.get("path_ids", key) is not None:
            return False
        self._number += 1
        number = u32(self._number)
        head, version = files.first_rows(record)
        self._ids[key] = number
        self._paths.append((number, paths.stored(event.path)))
        self._heads.append((number, head))
        self._versions.append((number + u64(record.seq), version))
        return True

    def _alone(self) -> bool:
        if not self._number:
            if not self._w.empty("open_bursts"):
                return False
            self._number = self._w.count("paths")
        return True

    def put(self) -> None:
        """Write the buffered rows; must precede the fold of another record."""
        if self._ids:
            self._w.put_all("path_ids", sorted(self._ids.items()))
            self._w.append_all("paths", self._paths)
            self._w.put_all("files", self._heads)
            self._w.put_all("versions", self._versions)
        self._begin()
