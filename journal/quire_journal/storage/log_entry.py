"""Write-ahead log entries: the records of one commit, and the bytes that they name. Bytes similar to bytes in the
database or an earlier entry are stored as the middle between a common beginning and end.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final

import msgspec

from quire_journal.model import JournalDamaged

WORTH: Final = 2048
"""Size in bytes below which bytes are stored whole."""


class LoggedBytes(msgspec.Struct, frozen=True, array_like=True):
    blob: bytes  # address of the bytes
    path: str | None  # path of the version with these bytes
    middle: bytes
    like: bytes = b""  # address of the similar bytes; empty: `middle` is all bytes
    before: int = 0  # length of the common beginning
    behind: int = 0  # length of the common end


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    workspace: str  # id of the workspace
    first: int  # seq of the first record
    last_hash: bytes  # hash of the record before `first`
    records: tuple[bytes, ...]  # in stored form
    contents: tuple[LoggedBytes, ...]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(LogEntry)


def encode(entry: LogEntry) -> bytes:
    return _ENCODER.encode(entry)


def decode(stored: bytes) -> LogEntry:
    """Decode an entry. Raises `JournalDamaged`."""
    try:
        return _DECODER.decode(stored)
    except msgspec.MsgspecError as error:
        raise JournalDamaged(f"an entry of the log cannot be decoded ({error}); nothing was changed") from error


def logged(data: bytes, blob: bytes, path: str | None, like: bytes, base: bytes | None) -> LoggedBytes:
    """Return `data` with address `blob` in the form of an entry: relative to `base` with address `like`, if given."""
    if base is None or like == blob or len(data) < WORTH:
        return LoggedBytes(blob, path, data)
    before = _alike(data, base, min(len(data), len(base)), from_end=False)
    behind = _alike(data, base, min(len(data), len(base)) - before, from_end=True)
    return LoggedBytes(blob, path, data[before : len(data) - behind], like, before, behind)


def bytes_of(said: LoggedBytes, at_hand: Callable[[bytes], bytes]) -> bytes:
    """Return the bytes for which `said` stands; `at_hand` returns the similar bytes with an address. Raises
    `JournalDamaged`, and errors of `at_hand`.
    """
    data = said.middle
    if said.like:
        base = at_hand(said.like)
        data = base[: said.before] + data + base[len(base) - said.behind :]
    if sha256(data).digest() != said.blob:
        raise JournalDamaged(f"the log does not give the bytes with sha256 {said.blob.hex()}; nothing was changed")
    return data


def _alike(one: bytes, other: bytes, most: int, from_end: bool) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if from_end:
            same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        else:
            same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low
