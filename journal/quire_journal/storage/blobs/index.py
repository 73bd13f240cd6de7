"""The index of blobs: which number the blob with a sha256 has.

    key: the first 16 bytes of the sha256
    value: the number, big-endian, without leading zeros

To find two contents with one key takes 2^64 tries. The bytes of a blob are held against the whole sha256 whenever they
are read, so such a pair would be told as damage, and never as each other's bytes.
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
    """The number of `blob`; None when the journal does not hold it. Raises `JournalDamaged`."""
    row = r.get("addresses", blob[:KEY_BYTES]) if len(blob) == _SHA256 else None
    if row is None:
        return None
    try:
        return number_in(blob[:KEY_BYTES], row)
    except ValueError as error:
        raise JournalDamaged(f"the address {blob.hex()} cannot be read ({error}); run `quire verify`") from error


def put(w: WriteTransaction, blob: bytes, number: int) -> None:
    """Say that `blob` has this number."""
    w.put("addresses", blob[:KEY_BYTES], _row(number))


def put_all(w: WriteTransaction, numbers: Iterable[tuple[bytes, int]]) -> None:
    """Say of each of these blobs that it has this number."""
    w.put_all("addresses", sorted((blob[:KEY_BYTES], _row(number)) for blob, number in numbers))


def forget(w: WriteTransaction, blob: bytes) -> None:
    """Forget which number `blob` has."""
    w.delete("addresses", blob[:KEY_BYTES])


def numbers(r: ReadTransaction) -> Iterator[int]:
    """The numbers of all blobs that have an address, in no order. Raises `JournalDamaged`."""
    for key, row in r.scan("addresses"):
        try:
            yield number_in(key, row)
        except ValueError as error:
            raise JournalDamaged(f"the address {key.hex()} cannot be read ({error}); run `quire verify`") from error


def number_in(key: bytes, row: bytes) -> int:
    """The number that stands in a row of the index. Raises `ValueError` where it cannot be one."""
    if len(key) != KEY_BYTES or not 0 < len(row) <= _MOST_NUMBER_BYTES or row[0] == 0:
        raise ValueError("it is not that of a sha256 with a blob's number")
    return int.from_bytes(row, "big")


def _row(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
