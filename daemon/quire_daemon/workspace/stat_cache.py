"""What stood on the disk when it was read last, by path: the table `seen`, and before it what is not saved yet.

A cache: losing it costs the time to read files again, never more, for an entry counts only while the file has its
signature. So nothing of it is read when the daemon starts: a path is looked up when somebody asks for it, and the
first scan reads the table on its own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import msgspec

from quire_daemon.core import SeenStat
from quire_journal.history import PathNames
from quire_journal.model import disk_path, journal_path
from quire_journal.storage import ReadTransaction, Store, u32
from quire_journal.views import path_id

_ENCODER = msgspec.msgpack.Encoder()
_SEEN = msgspec.msgpack.Decoder(SeenStat)


class SeenFiles:
    """The cache of the disk. The loop's, but for what `all` returns. It has the length of what is in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: dict[str, SeenStat | None] = {}  # what was told or looked up; None: nothing is known any more
        self._unsaved: set[str] = set()

    def __len__(self) -> int:
        return len(self._told)

    def get(self, path: str) -> SeenStat | None:
        """What stood at `path` (as on disk) when it was read last; None: nobody knows."""
        if path in self._told:
            return self._told[path]
        with self._store.reading() as r:
            number = path_id(r, journal_path(path))
            row = None if number is None else r.get("seen", u32(number))
        found = None if row is None else _decoded(row)
        if found is not None:
            self._told[path] = found
        return found

    def tell(self, seen: Mapping[str, SeenStat | None]) -> None:
        """This is what stands at these paths; None: what stood there counts no more."""
        self._told.update(seen)
        self._unsaved.update(seen)

    def all(self) -> Callable[[ReadTransaction, PathNames], dict[str, SeenStat]]:
        """What reads all of it from the table, as it is now; for another thread, with names of its own."""
        told = dict(self._told)

        def read(r: ReadTransaction, names: PathNames) -> dict[str, SeenStat]:
            paths = names.all(r)
            rows = ((int.from_bytes(key, "big"), row) for key, row in r.scan("seen"))
            saved = {disk_path(paths[number - 1]): _decoded(row) for number, row in rows if number <= len(paths)}
            return {path: seen for path, seen in (saved | told).items() if seen is not None}

        return read

    def save(self, most: int | None = None) -> bool:
        """Write what was told, of `most` paths at once, for others wait meanwhile; is there more to write?"""
        if not self._unsaved:
            return False
        paths = list(self._unsaved if most is None else islice(self._unsaved, most))
        with self._store.writing() as w:
            for path in paths:
                number = path_id(w, journal_path(path))
                if number is None:
                    continue
                what = self._told.get(path)
                if what is None:
                    w.delete("seen", u32(number))
                else:
                    w.put("seen", u32(number), _ENCODER.encode(what))
        for path in paths:
            if self._told.get(path) is None:  # so does the table: a name that came and went is not kept for good
                self._told.pop(path, None)
        self._unsaved.difference_update(paths)
        return bool(self._unsaved)


def _decoded(row: bytes) -> SeenStat | None:
    """A row that makes no sense says nothing."""
    try:
        return _SEEN.decode(row)
    except msgspec.MsgspecError:
        return None
