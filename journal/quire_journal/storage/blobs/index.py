"""Blob index: table from sha256 to blob number.

    key: the first 16 bytes of the sha256
    value: the number, big-endian, without leading zeros

A collision of keys takes 2^64 tries, and would be reported as damage, as reads verify the whole sha256.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from quire_journal.model import JournalDamaged
from quire_journal.storage import ReadTransaction, WriteTransaction

KEY_BYTES: Final = 16

_SHA256: Final = 32
_MOST_NUMBER_BYTES: Final = 8


def find(r: ReadTransaction, blob: bytes) -> int | None:
    """Return the number of `blob`; None if not held. Raises `JournalDamaged`."""
    row = r.get("addresses", blob[:KEY_BYTES]) if len(blob) == _SHA256 else None
    if row is None:
        return None
    try:
        return number_in(blob[:KEY_BYTES], row)
    except ValueError as error:
        raise JournalDamaged(f"the address {blob.hex()} cannot be read ({error}); run `quire verify`") from error


def put(w: WriteTransaction, blob: bytes, number: int) -> None:
    w.put("addresses", blob[:KEY_BYTES], _row(number))


def put_all(w: WriteTransaction, numbers: Iterable[tuple[bytes, int]]) -> None:
    w.put_all("addresses", sorted((blob[:KEY_BYTES], _row(number)) for blob, number in numbers))


def forget(w: WriteTransaction, blob: bytes) -> None:
    w.delete("addresses", blob[:KEY_BYTES])


def numbers(r: ReadTransaction) -> Iterator[int]:
    """Yield the numbers of all blobs, unordered. Raises `JournalDamaged`."""
    for key, row in r.scan("addresses"):
        try:
            yield number_in(key, row)
        except ValueError as error:
            raise JournalDamaged(f"the address {key.hex()} cannot be read ({error}); run `quire verify`") from error


def number_in(key: bytes, row: bytes) -> int:
    """Return the number in a row of the index. Raises `ValueError`."""
    if len(key) != KEY_BYTES or not 0 < len(row) <= _MOST_NUMBER_BYTES or row[0] == 0:
        raise ValueError("it is not that of a sha256 with a blob's number")
    return int.from_bytes(row, "big")


def _row(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
