"""What the last commits changed, in a file of its own, so that a commit waits for the disk once and not twice.

LMDB syncs the pages of a commit, and then, after that, the page that leads to them: two waits, one after the other.
Without the second the database is whole, but a power cut may take the last commit back, never an earlier one, for the
pages of the next are synced together with what leads to the last. So of a small commit the second is left out, and what
it changes is written here and synced by a thread, while LMDB syncs its pages: one wait. A start that finds the database
without a commit that stands here makes its changes again. A large commit has no entry; it is synced twice.

An entry says to which state its changes belong: the number of the transaction before, and what the log said of its end
then. There are two slots, used in turn: the entry of a commit has to stay until the next one is through, and may be
torn by a power cut only while the database can do without it. What did not become true (the disk was full) is taken
away again before that is told. A start empties both slots; so does whoever puts another file in the database's place,
and then no byte is left of what was purged.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from quire_journal.storage import RowChange, Sync, Syncer, done, in_memory, sync_path

NAME: Final = "redo"
"""Of the file, beside the database's."""

SLOT_BYTES: Final = 64 * 1024

_HEAD: Final = struct.Struct("<8sQI16s")  # magic, number of the transaction before, length and hash of what follows
_MAGIC: Final = b"quire-re"


class RedoEntry(msgspec.Struct, frozen=True, array_like=True):
    """What a commit changes."""

    base: int  # the number of the transaction before
    witness: bytes  # what the log said of its end then: a number alone may be another database's
    changes: tuple[RowChange, ...]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(RedoEntry)


def entries(path: Path) -> list[RedoEntry]:
    """The entries of the file that are whole, oldest first. Raises OSError where it cannot be read: a commit that was
    answered may stand nowhere else.
    """
    try:
        held = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        return []
    found = [_entry(held[at : at + SLOT_BYTES]) for at in (0, SLOT_BYTES)]
    return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.base)


def _entry(slot: bytes) -> RedoEntry | None:
    if len(slot) < _HEAD.size:
        return None
    magic, base, length, digest = _HEAD.unpack_from(slot)
    said = slot[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or len(said) != length or _digest(said) != digest:
        return None
    try:
        entry = _DECODER.decode(said)
    except msgspec.MsgspecError:
        return None
    return entry if entry.base == base else None


def remove(path: Path) -> None:
    """Remove the file, which is of no use; one that stays tells of commits that are behind what the database holds."""
    with suppress(OSError):
        path.unlink()


class Redo:
    """The file, and the thread that syncs it. For one writer at a time."""

    def __init__(self, file: int, beside: bool = True) -> None:
        """`beside`: syncing takes time, so that a thread is worth its while."""
        self._file = file
        self._beside = beside
        self._syncer = Syncer()

    @classmethod
    def open(cls, path: Path) -> Redo | None:
        """With empty slots, whatever was there; None where the disk has no room for it, or the system no call."""
        if not hasattr(os, "fdatasync"):  # macOS, where only the whole disk can be synced
            return None
        try:
            redo = cls(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), not in_memory(path.parent))
        except OSError:
            return None
        try:
            redo.empty()
            sync_path(path.parent)  # an entry in a file whose name a power cut takes away tells nobody
        except OSError:
            redo.close()
            remove(path)
            return None
        return redo

    def begin(self, base: int, witness: bytes, changes: Sequence[RowChange]) -> Sync | None:
        """Write and sync an entry, on the thread; None where there is no room for it, or no thread can be started."""
        said = _ENCODER.encode((base, witness, changes))
        if _HEAD.size + len(said) > SLOT_BYTES:
            return None
        head = _HEAD.pack(_MAGIC, base, len(said), _digest(said))
        write = partial(self._write, head + said, _slot(base))
        if not self._beside:
            return done(write)
        try:
            return self._syncer.begin(write)
        except RuntimeError:
            return None

    def take_back(self, base: int) -> None:
        """The commit whose entry has this base failed. Raises `OSError`: the next start would make it all the same."""
        self._write(bytes(_HEAD.size), _slot(base))

    def empty(self) -> None:
        """Leave no byte of any entry. Raises `OSError`."""
        self._write(bytes(2 * SLOT_BYTES), 0)

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._syncer.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes, at: int) -> None:
        """The blocks are there since the file was made, so that only bytes are synced, and no names or sizes."""
        written = os.pwrite(self._file, data, at)
        if written < len(data):
            raise OSError(f"{written} of {len(data)} bytes were written")
        os.fdatasync(self._file)


def _slot(base: int) -> int:
    return base % 2 * SLOT_BYTES


def _digest(said: bytes) -> bytes:
    return blake2b(said, digest_size=16).digest()
