"""Stat cache: signature and hash of each file when last read, in the table `seen`, and in memory until saved.

An entry is valid only while the file has its signature, so losing the cache costs only rereading. The first scan reads
the whole table on its own thread. A row that agrees with the head of its path leaves out what the head says, which
halves the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

import msgspec

from quire_daemon.core import SeenStat, settled_ns
from quire_journal.history import PathNames
from quire_journal.model import disk_path, journal_path
from quire_journal.storage import ReadTransaction, Store, u32
from quire_journal.views import files, path_id


class _LikeHead(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Shorter row for the usual file: its bytes are those of the newest version of its path, and its last change was
    not just before it was read.
    """

    seq: int  # of the head; another head: the row says nothing
    dev: int
    ino: int
    mtime_ns: int
    later_ns: int  # from mtime to ctime
    mode: int


_LIKE_HEAD: Final = b"\x96"
"""First byte of a row of six fields (msgpack); `SeenStat` has eight."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_SEEN: Final = msgspec.msgpack.Decoder(SeenStat)
_SHORT: Final = msgspec.msgpack.Decoder(_LikeHead)


class SeenFiles:
    """Stat cache for the main loop's thread, except the function that `all` returns. `len`: entries in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: dict[str, SeenStat | None] = {}  # entries set or looked up; None: removed
        self._unsaved: dict[str, None] = {}  # in the order told: a first capture's portions then fill pages in turn

    def __len__(self) -> int:
        return len(self._told)

    def get(self, path: str) -> SeenStat | None:
        """Return the entry of `path` (as on disk); None if there is none."""
        if path in self._told:
            return self._told[path]
        with self._store.reading() as r:
            number = path_id(r, journal_path(path))
            row = None if number is None else r.get("seen", u32(number))
            found = None if row is None or number is None else _decoded(r, number, row)
        if found is not None:
            self._told[path] = found
        return found

    def tell(self, seen: Mapping[str, SeenStat | None]) -> None:
        """Store entries of these paths; None removes an entry."""
        self._told.update(seen)
        self._unsaved.update(dict.fromkeys(seen))

    def all(self) -> Callable[[ReadTransaction, PathNames], dict[str, SeenStat]]:
        """Return a function, for any thread, that returns all entries as of now by path."""
        told = dict(self._told)

        def read(r: ReadTransaction, names: PathNames) -> dict[str, SeenStat]:
            paths = names.all(r)
            rows = ((int.from_bytes(key, "big"), row) for key, row in r.scan("seen"))
            known = ((number, row) for number, row in rows if number <= len(paths))
            saved = {disk_path(paths[number - 1]): _decoded(r, number, row) for number, row in known}
            return {path: seen for path, seen in (saved | told).items() if seen is not None}

        return read

    def save(self, most: int | None = None) -> bool:
        """Save at most `most` unsaved entries (None: all); return True if more remain."""
        if not self._unsaved:
            return False
        paths = list(self._unsaved if most is None else islice(self._unsaved, most))
        with self._store.writing() as w:
            rows: dict[bytes, bytes] = {}
            for path in paths:
                number = path_id(w, journal_path(path))
                if number is None:
                    continue
                what = self._told.get(path)
                if what is None:
                    w.delete("seen", u32(number))
                else:
                    rows[u32(number)] = _encoded(w, number, what)
            last = next((key for key, _ in w.scan("seen", reverse=True)), b"")
            after = {key: row for key, row in rows.items() if key > last}
            w.put_all("seen", sorted((key, row) for key, row in rows.items() if key not in after))
            w.append_all("seen", sorted(after.items()))  # which fills pages
        for path in paths:
            del self._unsaved[path]
            # the table has no entry, either, so short-lived names need no memory
            if self._told.get(path) is None:
                self._told.pop(path, None)
        return bool(self._unsaved)


def _encoded(r: ReadTransaction, number: int, seen: SeenStat) -> bytes:
    head = files.head_once(r, number)
    later_ns = seen.ctime_ns - seen.mtime_ns
    if head is None or (head.blob, head.size) != (seen.blob, seen.size) or later_ns < 0 or seen.racy():
        return _ENCODER.encode(seen)
    return _ENCODER.encode(_LikeHead(head.seq, seen.dev, seen.ino, seen.mtime_ns, later_ns, seen.mode))


def _decoded(r: ReadTransaction, number: int, row: bytes) -> SeenStat | None:
    try:
        if row[:1] != _LIKE_HEAD:
            return _SEEN.decode(row)
        short = _SHORT.decode(row)
    except msgspec.MsgspecError:
        return None
    head = files.head_once(r, number)
    if head is None or head.seq != short.seq:
        return None
    ctime_ns = short.mtime_ns + short.later_ns
    taken_ns = settled_ns(ctime_ns)
    return SeenStat(short.dev, short.ino, head.size, short.mtime_ns, ctime_ns, short.mode, head.blob, taken_ns)
