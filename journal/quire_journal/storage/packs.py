"""Packs: immutable files of blob rows beside the database, `pack.` and their sha256. Journals of one family share them
by hard links, so a file has the bytes until the last of these journals gives it up.

    magic | id | number of rows | length of a row | the row | …

A row is one of the table `blobs`, of a blob without a base, with its whole frame. A compaction makes packs, and puts
references in the place of the rows (`packer`). The id is random and short, as each reference has it.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Container, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from quire_journal.model import JournalDamaged, limits
from quire_journal.storage.fsync import sync_path
from quire_journal.storage.port import StoreFailure

ID_BYTES: Final = 4

_NAME: Final = re.compile(r"pack\.([0-9a-f]{64})")
_HEAD: Final = struct.Struct("<8s4sI")  # magic, id, number of rows
HEAD_BYTES: Final = _HEAD.size
_MAGIC: Final = b"quire-pk"
_LENGTH: Final = struct.Struct("<I")


class Pack(NamedTuple):
    """Whole content of a pack."""

    data: bytes

    @property
    def id(self) -> bytes:
        return self.data[8 : 8 + ID_BYTES]

    @property
    def row_count(self) -> int:
        """Number of rows, as the head says."""
        return int(_HEAD.unpack_from(self.data)[2])

    def rows(self) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, row), as far as the bytes go."""
        at = _HEAD.size + _LENGTH.size
        while at <= len(self.data):
            (size,) = _LENGTH.unpack_from(self.data, at - _LENGTH.size)
            yield at, self.data[at : at + size]
            at += size + _LENGTH.size


class PackBuilder:
    def __init__(self, taken: Container[bytes] = ()) -> None:
        """`taken` are ids that the pack must not get, as other packs have them."""
        self.id = os.urandom(ID_BYTES)
        while self.id in taken:
            self.id = os.urandom(ID_BYTES)
        self.size = _HEAD.size
        self._rows: list[bytes] = []

    def add(self, row: bytes) -> int:
        """Add a row, and return its offset in the pack."""
        self._rows.append(row)
        at = self.size + _LENGTH.size
        self.size = at + len(row)
        return at

    def write(self, folder: Path) -> bytes:
        """Write the pack, synced, and return its name; the folder is synced by the caller. Raises `OSError`."""
        parts = [_HEAD.pack(_MAGIC, self.id, len(self._rows))]
        for row in self._rows:
            parts += [_LENGTH.pack(len(row)), row]
        data = b"".join(parts)
        name = sha256(data).digest()
        path = path_of(folder, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        sync_path(path)
        return name


def path_of(folder: Path, name: bytes) -> Path:
    return folder / f"pack.{name.hex()}"


def names(folder: Path) -> set[bytes]:
    """Return the names of the packs in `folder`. Raises `OSError`."""
    found = (_NAME.fullmatch(name) for name in os.listdir(folder))
    return {bytes.fromhex(one[1]) for one in found if one}


def read(folder: Path, name: bytes, at: int, size: int) -> bytes:
    """Return bytes of a pack. Raises `JournalDamaged`, and `StoreFailure` if this process may open no more files."""
    path = path_of(folder, name)
    try:
        descriptor = _opened(path)
        try:
            data = os.pread(descriptor, size, at)
        finally:
            os.close(descriptor)
    except OSError as error:
        if limits.reached(error):
            raise StoreFailure(f"{path.name} cannot be read: {error.strerror}") from error
        raise JournalDamaged(f"{path.name} cannot be read ({error.strerror}); run `quire verify`") from error
    if len(data) != size:
        raise JournalDamaged(f"{path.name} is cut off; run `quire verify`")
    return data


def is_head(head: bytes, id: bytes) -> bool:
    """True if `head` is the beginning of a pack with this id."""
    return _HEAD.unpack(head)[:2] == (_MAGIC, id)


def count(folder: Path, name: bytes) -> int:
    """Return the number of rows of a pack. Raises `JournalDamaged`."""
    return _head(folder, name)[1]


def _head(folder: Path, name: bytes) -> tuple[bytes, int]:
    magic, id, rows = _HEAD.unpack(read(folder, name, 0, _HEAD.size))
    if magic != _MAGIC:
        raise JournalDamaged(f"{path_of(folder, name).name} is not a pack; run `quire verify`")
    return id, rows


def ids(folder: Path) -> dict[bytes, bytes]:
    """Return id → name of the packs in `folder` whose heads can be read. Raises `OSError`."""
    found: dict[bytes, bytes] = {}
    for name in names(folder):
        with suppress(JournalDamaged):
            found[_head(folder, name)[0]] = name
    return found


def found_rows(folder: Path, name: bytes) -> Iterator[bytes]:
    """Yield the rows of a pack that may be damaged, as far as its bytes go."""
    with suppress(OSError), os.fdopen(_opened(path_of(folder, name)), "rb") as file:
        yield from (row for _, row in Pack(file.read()).rows())


def whole(folder: Path, name: bytes) -> Pack | None:
    """Return a pack, verified by its name; None if it is missing, damaged or another user's."""
    try:
        with os.fdopen(_opened(path_of(folder, name)), "rb") as file:
            found = os.fstat(file.fileno())
            own = stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()
            data = file.read() if own else b""
    except OSError:
        return None
    return Pack(data) if data[:8] == _MAGIC and sha256(data).digest() == name else None


def link(source: Path, folder: Path, name: bytes) -> bool:
    """Link a pack of the folder `source` into `folder`; False where that is impossible."""
    try:
        os.link(path_of(source, name), path_of(folder, name), follow_symlinks=False)
    except OSError:
        return False
    return True


def size_bytes(folder: Path) -> int:
    """Return the disk usage of the packs in `folder`, shared or not. Raises `OSError`."""
    total = 0
    for name in names(folder):
        with suppress(FileNotFoundError):
            total += os.lstat(path_of(folder, name)).st_blocks * 512
    return total


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
