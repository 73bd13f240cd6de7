"""LMDB pages: the rows of a damaged database, read without LMDB, which could crash.

Every page that looks like a leaf gives its rows, even outside the tree: a lost page often has an older copy among the
free pages. Callers must prove records by their chain, and blobs by their sha256. The records of the write-ahead log
follow as live rows, its bytes as `contents`. Packs are found by the ids in their heads.

Layout: engine 0.9 on a 64-bit machine (lmdb.h, mdb.c). A page begins with its number (8 bytes), pad (2), flags (2), and
the bounds of its free space (2 + 2); a node with the halves of its data size, flags and key size (2 each).
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

from quire_journal.integrity.salvager import FoundRow
from quire_journal.model import HEAD_KEY, JournalDamaged, head_row, record_hash
from quire_journal.storage import LogEntry, LoggedBytes, WriteAheadLog, log_entry, packs, u64

_HEADER: Final = 16
_MAGIC: Final = 0xBEEFC0DE
_BRANCH, _LEAF, _OVERFLOW, _KINDS = 0x01, 0x02, 0x04, 0x7F & ~0x10
_BIG, _TREE = 0x01, 0x02  # flags of a node: value on overflow pages; value is a tree
_PAGE_BYTES: Final = 4096
_HEAD_BYTES: Final = 40  # of the row at `HEAD_KEY`
_NODE: Final = struct.Struct("=HHHH")
_META: Final = struct.Struct("=16x II 8x 8x I 44x 40x Q Q Q")
"""Meta page: magic, version, page size, root of the main tree, last page, transaction."""


class Pages:
    """Damaged database, open for reading; a context manager. No process may write or truncate the file."""

    def __init__(self, data: Path) -> None:
        self._file = data.open("rb")
        self._bytes = os.fstat(self._file.fileno()).st_size
        self._map: mmap.mmap | bytes = b""
        if self._bytes:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._page = self._page_bytes()
        self._logged: list[LogEntry] = [log_entry.decode(one) for one in WriteAheadLog(data.parent).whole()]
        self._beyond: list[bytes] = []  # values of the write-ahead log, addressed from the end of the file on
        self._live: set[int] | None = None  # pages of the newest tree
        self._folder, self._packs = data.parent, packs.ids(data.parent)

    @property
    def ends(self) -> Iterator[bytes]:
        """Rows with seq and hash of the last record (`head_row`) after each commit in the write-ahead log."""
        return (head_row(_last_of(entry), record_hash(entry.records[-1])) for entry in self._logged)

    @property
    def given_out(self) -> int:
        """Seq of the newest record of the write-ahead log; 0 for none."""
        return max(map(_last_of, self._logged), default=0)

    @property
    def contents(self) -> Iterator[LoggedBytes]:
        """Bytes in the write-ahead log, in the order of their commits."""
        return (one for entry in self._logged for one in entry.contents)

    def packed(self, pack: bytes, at: int, size: int) -> bytes:
        if pack not in self._packs:
            raise JournalDamaged(f"there is no pack {pack.hex()}")
        return packs.read(self._folder, self._packs[pack], at, size)

    def packed_rows(self) -> Iterator[bytes]:
        for name in sorted(packs.names(self._folder)):
            yield from packs.found_rows(self._folder, name)

    def __enter__(self) -> Pages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(self._map, mmap.mmap):
            self._map.close()
        self._file.close()

    @property
    def count(self) -> int:
        return self._bytes // self._page

    @property
    def certain(self) -> bool:
        """True if both meta pages are readable, so that one is of the newest tree, and the database holds the whole
        write-ahead log.
        """
        return len(self._metas()) == 2 and self._end() >= self.given_out

    def _end(self) -> int:
        row = _NODE.pack(_HEAD_BYTES, 0, 0, len(HEAD_KEY)) + HEAD_KEY
        live, end, at = self._reached(), 0, self._map.find(row)
        while at >= 0:
            if at // self._page in live:
                start = at + len(row)
                end = max(end, int.from_bytes(self._map[start : start + 8], "big"))
            at = self._map.find(row, at + 1)
        return end

    def value(self, row: FoundRow) -> bytes:
        if not row.size:
            return b""  # its place may be the end of the file
        if row.at >= self._bytes:
            return self._beyond[row.at - self._bytes]
        return self._map[row.at : row.at + row.size]

    def rows(self) -> Iterator[tuple[int, list[FoundRow]]]:
        """Yield (page number, rows) of every page that can be read as a leaf."""
        live = self._reached()
        for page in range(2, self.count):
            rows = list(self._rows(page, page in live))
            if rows:
                yield page, rows
        if self._logged:
            yield self.count, list(self._rows_logged())

    def _rows_logged(self) -> Iterator[FoundRow]:
        for entry in self._logged:
            for seq, stored in enumerate(entry.records, entry.first):
                self._beyond.append(stored)
                yield FoundRow(True, u64(seq), self._bytes + len(self._beyond) - 1, len(stored))

    # ── pages ──

    def _metas(self) -> list[tuple[int, int, int, int]]:
        found = []
        for at in (0, self._guess()):
            if at + _META.size <= self._bytes:
                magic, _, page, root, last, txn = _META.unpack_from(self._map, at)
                if magic == _MAGIC:
                    found.append((txn, page, root, last))
        return sorted(found, reverse=True)

    def _guess(self) -> int:
        size = _META.unpack_from(self._map, 0)[2] if self._bytes >= _META.size else 0
        return size if _can_be_size(size) else _PAGE_BYTES

    def _page_bytes(self) -> int:
        return next((size for _, size, _, _ in self._metas() if _can_be_size(size)), _PAGE_BYTES)

    def _kind(self, page: int) -> int:
        if not 2 <= page < self.count:
            return 0
        return int.from_bytes(self._map[page * self._page + 10 : page * self._page + 12], "little") & _KINDS

    def _number(self, page: int) -> int:
        return int.from_bytes(self._map[page * self._page : page * self._page + 8], "little")

    def _reached(self) -> set[int]:
        """Return the pages of the newest tree, as far as it can be followed. A misplaced page, which has another page's
        number, is left out, as it may be outdated.
        """
        if self._live is not None:
            return self._live
        reached = self._live = set[int]()
        open_ends = [root for _, _, root, _ in self._metas()[:1]]
        while open_ends:
            page = open_ends.pop()
            kind = self._kind(page)
            if page in reached or kind not in (_BRANCH, _LEAF) or self._number(page) != page:
                continue
            reached.add(page)
            for node, low, high, flags, key_bytes in self._nodes(page):
                if kind == _BRANCH:
                    open_ends.append(low | high << 16 | flags << 32)
                elif flags & _TREE and low | high << 16 == 48:
                    root = node + 8 + key_bytes + 40
                    open_ends.append(int.from_bytes(self._map[root : root + 8], "little"))
        return reached

    def _nodes(self, page: int) -> Iterator[tuple[int, int, int, int, int]]:
        start = page * self._page
        lower, upper = struct.unpack_from("=HH", self._map, start + 12)
        if not _HEADER <= lower <= upper <= self._page:
            lower = min(max(lower, _HEADER), self._page)
        for n in range((lower - _HEADER) // 2):
            (offset,) = struct.unpack_from("=H", self._map, start + _HEADER + 2 * n)
            if _HEADER <= offset <= self._page - 8:
                low, high, flags, key_bytes = _NODE.unpack_from(self._map, start + offset)
                if offset + 8 + key_bytes <= self._page:
                    yield start + offset, low, high, flags, key_bytes

    def _rows(self, page: int, live: bool) -> Iterator[FoundRow]:
        if self._kind(page) != _LEAF:
            return
        end = (page + 1) * self._page
        for node, low, high, flags, key_bytes in self._nodes(page):
            size, at = low | high << 16, node + 8 + key_bytes
            if flags & _BIG:
                elsewhere = int.from_bytes(self._map[at : at + 8], "little")
                at, end_of_value = elsewhere * self._page + _HEADER, self._bytes
                if self._kind(elsewhere) != _OVERFLOW:
                    continue
            else:
                end_of_value = end
            if not flags & ~_BIG and at + size <= end_of_value:
                yield FoundRow(live, self._map[node + 8 : node + 8 + key_bytes], at, size)


def _last_of(entry: LogEntry) -> int:
    return entry.first - 1 + len(entry.records)


def _can_be_size(size: int) -> bool:
    return 512 <= size <= 32768 and not size & (size - 1)
