"""Write-ahead log: acknowledged commits that are not in the database yet, in append-only files.

An entry is durable when `sync` returns; it has a checksum over its bytes and its place. A file (a *segment*,
`log.00000001`) has its blocks from the beginning, so that a sync writes no size and no name. The database stores the
place up to which it holds the log (`LogPosition`). A new segment begins at each start, and when one is full; older
segments are then removed.

A start reads the entries that the database lacks (`read`). An incomplete last entry was never acknowledged, and is
ignored. A hole, a log that ends before the database's place, or a segment that begins after it is refused.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from quire_journal.model import JournalDamaged
from quire_journal.storage.fsync import rename, sync_data, sync_path

SEGMENT_BYTES: Final = 1 << 20
"""Size of a segment: some hundred edits. Writing its blocks takes a few milliseconds."""

MOST_BYTES: Final = 1 << 18

FIRST_BYTES: Final = 192 << 10
"""Size of a segment whose predecessor is hardly used, as at a start: most journals get few edits."""

_NAME: Final = re.compile(r"log\.([0-9]{8})")

_SEGMENT: Final = struct.Struct("<8sQQQ16s")  # magic, number, the place it continues, checksum
_SEGMENT_MAGIC: Final = b"quire-ls"

_ENTRY: Final = struct.Struct("<8sI16s")  # magic, length, checksum
_ENTRY_MAGIC: Final = b"quire-le"

_PLACE: Final = struct.Struct("<QQ")


class LogPosition(NamedTuple):
    """Place in the log: the end of an entry."""

    segment: int
    offset: int

    @classmethod
    def of(cls, row: bytes | None) -> LogPosition:
        """Decode a row; None is the start of the log. Raises `JournalDamaged`."""
        if row is None:
            return NOWHERE
        if len(row) != _PLACE.size:
            raise JournalDamaged("the database does not say how much of its log it holds; run `quire verify`")
        return cls(*_PLACE.unpack(row))

    def row(self) -> bytes:
        return _PLACE.pack(*self)


NOWHERE: Final = LogPosition(0, 0)


class WriteAheadLog:
    """Log in a folder. `begin` is the first call that changes a file. For one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        self._bytes = 0  # size of the segment
        self._path = ""
        self._next = NOWHERE  # place of the next entry
        self.end: LogPosition | None = None  # end of the last entry; None: not read yet

    def read(self, held: LogPosition) -> list[bytes]:
        """Return the entries after the place `held` by the database, and set `end`. Raises `JournalDamaged` if the log
        does not continue there, and OSError.
        """
        found: list[bytes] = []
        at = held
        for number in self._numbers():
            if number < held.segment:
                continue  # an older segment, removed by the next `begin`
            data = (self._folder / _name(number)).read_bytes()
            behind = _behind(data, number)
            if number > held.segment and behind != at:
                said = "is older than its log" if behind > at else "holds more than its log does"
                raise self._unfit(f"{said} ({_name(number)} begins behind {_told(behind)}, not behind {_told(at)})")
            start = at.offset if number == held.segment else _SEGMENT.size
            last = _SEGMENT.size
            for offset, entry in _entries(data, number):
                if last >= start:
                    found.append(entry)
                    at = LogPosition(number, offset)
                last = offset
            if last < start:
                raise self._unfit(f"holds more than its log does ({_name(number)} ends at {last}, not at {start})")
        if at == held != NOWHERE and max(self._numbers(), default=0) < held.segment:
            raise self._unfit(f"holds more than its log does ({_name(held.segment)} is missing)")
        self.end = at
        return found

    def whole(self) -> list[bytes]:
        """Return every intact entry, regardless of the database's place and of gaps. Raises OSError."""
        found: list[bytes] = []
        for number in self._numbers():
            data, at = (self._folder / _name(number)).read_bytes(), 0
            while (at := data.find(_ENTRY_MAGIC, at)) >= 0:
                entry = _entry(data, LogPosition(number, at))
                if entry is not None:
                    found.append(entry)
                at += 1 if entry is None else _ENTRY.size + len(entry)
        return found

    def _unfit(self, what: str) -> JournalDamaged:
        return JournalDamaged(
            f"the database in {self._folder} {what}; nothing was changed; put the files back that belong together, or "
            f"make an empty file {self._folder.parent / 'repair'} to go on with what the database holds"
        )

    def has_room(self, size: int) -> bool:
        return self._file >= 0 and self._next.offset + _ENTRY.size + size <= self._bytes

    def begin(self, entry_bytes: int = 0) -> None:
        """Begin a segment with room for an entry of this size, and remove older segments: the database must hold all up
        to `end`, synced. Raises OSError.
        """
        assert self.end is not None, "what an earlier process logged is read and folded first"
        older = self._numbers()
        number = max([self.end.segment, *older]) + 1
        new, path = self._folder / "log.new", self._folder / _name(number)
        head = _SEGMENT.pack(_SEGMENT_MAGIC, number, *self.end, _segment_sum(number, self.end))
        few = self._next.offset <= FIRST_BYTES // 2 and len(head) + _ENTRY.size + entry_bytes <= FIRST_BYTES
        size = FIRST_BYTES if few else SEGMENT_BYTES
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write(descriptor, head + bytes(size - len(head)), 0)
            rename(new, path)
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):
                new.unlink()
            raise
        self.close()
        self._file, self._bytes = descriptor, size
        self._path, self._next = os.fspath(path), LogPosition(number, len(head))
        for gone in older:
            (self._folder / _name(gone)).unlink()
        if older:
            sync_path(self._folder)

    def write(self, entry: bytes) -> None:
        """Write an entry that fits. Raises OSError; then call `wipe`."""
        head = _ENTRY.pack(_ENTRY_MAGIC, len(entry), _entry_sum(self._next, entry))
        _write(self._file, head + entry, self._next.offset)

    def wipe(self) -> None:
        """Erase an entry that could not be written. Raises OSError."""
        _write(self._file, bytes(_ENTRY.size), self._next.offset)
        sync_data(self._file)

    def sync(self, entry: bytes) -> None:
        """Make the written entry durable. Raises OSError; a start may then find the entry or not."""
        sync_data(self._file)
        self.end = self._next = LogPosition(self._next.segment, self._next.offset + _ENTRY.size + len(entry))

    def in_place(self) -> bool:
        """True if the file is at its path. Raises OSError if unknown."""
        try:
            return os.stat(self._path).st_ino == os.fstat(self._file).st_ino
        except (FileNotFoundError, NotADirectoryError):
            return False

    def forget(self) -> None:
        """Remove every segment; the database must no longer name a place in a segment. Raises OSError."""
        self.close()
        for number in self._numbers():
            (self._folder / _name(number)).unlink()
        sync_path(self._folder)
        self.end = NOWHERE

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _numbers(self) -> list[int]:
        found = (_NAME.fullmatch(name) for name in os.listdir(self._folder))
        return sorted(int(one[1]) for one in found if one)


def _write(file: int, data: bytes, at: int) -> None:
    written = os.pwrite(file, data, at)
    if written < len(data):
        raise OSError(f"{written} of {len(data)} bytes were written")


def _name(number: int) -> str:
    return f"log.{number:08}"


def _told(place: LogPosition) -> str:
    return f"{_name(place.segment)}:{place.offset}"


def _no_segment(number: int) -> JournalDamaged:
    return JournalDamaged(f"{_name(number)} is no segment of the log, or its beginning is damaged; nothing was changed")


def _behind(data: bytes, number: int) -> LogPosition:
    if len(data) >= _SEGMENT.size:
        magic, said, segment, offset, checksum = _SEGMENT.unpack_from(data)
        behind = LogPosition(segment, offset)
        if magic == _SEGMENT_MAGIC and said == number and checksum == _segment_sum(number, behind):
            return behind
    raise _no_segment(number)


def _entries(data: bytes, number: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset of its end, entry) of the intact entries. Raises `JournalDamaged` for a hole."""
    at = _SEGMENT.size
    while (entry := _entry(data, LogPosition(number, at))) is not None:
        at += _ENTRY.size + len(entry)
        yield at, entry
    later = data.find(_ENTRY_MAGIC, at + 1)
    while later >= 0:
        if _entry(data, LogPosition(number, later)) is not None:
            raise JournalDamaged(
                f"{_name(number)} is damaged at {at}, before an entry that is whole; nothing was changed"
            )
        later = data.find(_ENTRY_MAGIC, later + 1)


def _entry(data: bytes, at: LogPosition) -> bytes | None:
    if len(data) < at.offset + _ENTRY.size:
        return None
    magic, length, checksum = _ENTRY.unpack_from(data, at.offset)
    start = at.offset + _ENTRY.size
    entry = data[start : start + length]
    if magic != _ENTRY_MAGIC or len(entry) != length or checksum != _entry_sum(at, entry):
        return None
    return entry


def _segment_sum(number: int, behind: LogPosition) -> bytes:
    return blake2b(_PLACE.pack(number, 0) + behind.row(), digest_size=16).digest()


def _entry_sum(at: LogPosition, entry: bytes) -> bytes:
    return blake2b(entry, digest_size=16, key=at.row()).digest()
