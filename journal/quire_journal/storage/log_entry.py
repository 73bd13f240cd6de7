"""Entries of the write-ahead log: the records of one commit, and the bytes that they name.

Bytes that are much like others at hand, as a version is like the one before it, stand here as what lies between the
common beginning and the common end. The database holds those others, or an earlier entry does.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final

import msgspec

from quire_journal.model import JournalDamaged

WORTH: Final = 2048
"""Fewer bytes than this stand here as they are."""


class LoggedBytes(msgspec.Struct, frozen=True, array_like=True):
    """Bytes that a record names."""

    blob: bytes  # their address
    path: str | None  # that they are a version of
    middle: bytes
    like: bytes = b""  # the address of the bytes that have the same beginning and end; none: `middle` is all
    before: int = 0  # bytes of the common beginning
    behind: int = 0  # and of the common end


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """One commit."""

    workspace: str  # whose journal it is
    first: int  # seq of its first record
    last_hash: bytes  # of the record before that
    records: tuple[bytes, ...]  # as stored
    contents: tuple[LoggedBytes, ...]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(LogEntry)


def encode(entry: LogEntry) -> bytes:
    """An entry as it stands in the log."""
    return _ENCODER.encode(entry)


def decode(stored: bytes) -> LogEntry:
    """The entry in `stored`. Raises `JournalDamaged`."""
    try:
        return _DECODER.decode(stored)
    except msgspec.MsgspecError as error:
        raise JournalDamaged(f"an entry of the log cannot be decoded ({error}); nothing was changed") from error


def logged(data: bytes, blob: bytes, path: str | None, like: bytes, base: bytes | None) -> LoggedBytes:
    """`data`, which has the address `blob`, beside the bytes `base` with the address `like`, where there are such."""
    if base is None or like == blob or len(data) < WORTH:
        return LoggedBytes(blob, path, data)
    before = _alike(data, base, min(len(data), len(base)), from_end=False)
    behind = _alike(data, base, min(len(data), len(base)) - before, from_end=True)
    return LoggedBytes(blob, path, data[before : len(data) - behind], like, before, behind)


def bytes_of(said: LoggedBytes, at_hand: Callable[[bytes], bytes]) -> bytes:
    """The bytes themselves; `at_hand` gives those that they are like. Raises `JournalDamaged`, and as that does."""
    data = said.middle
    if said.like:
        base = at_hand(said.like)
        data = base[: said.before] + data + base[len(base) - said.behind :]
    if sha256(data).digest() != said.blob:
        raise JournalDamaged(f"the log does not give the bytes with sha256 {said.blob.hex()}; nothing was changed")
    return data


def _alike(one: bytes, other: bytes, most: int, from_end: bool) -> int:
    """How many bytes, at most `most`, are the same at the beginning, or at the end. By halves: comparing is quick."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if from_end:
            same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        else:
            same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if same else (low, middle - 1)
    return low
