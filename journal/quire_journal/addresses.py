"""Addresses: which number the blob with a sha256 has.

The rows of this table come in no order, so that its pages stand two thirds full, and there is one for each blob: what
is in a row counts half as much again. So a row holds the first 20 bytes of the sha256 and no leading zeros of the
number. That finds the blob; whether its bytes have all 32 bytes of the sha256 is checked whenever they are read. Nobody
can make two files that agree in so many, by chance or for a purpose (2^80 tries).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from quire_journal.log import Reading, Writing

KEY_BYTES: Final = 20
"""Of the sha256, that stand in the table. Up to format 3 it was all 32."""

SHORT_SINCE: Final = 4
"""The format of the journal."""

_SHA256: Final = 32
_NUMBER: Final = 8
"""Bytes of a number in format 3."""

_SLICE: Final = 5000
"""Rows that are taken apart at once."""


def find(r: Reading, blob: bytes) -> int | None:
    """The number of `blob`; None when the journal does not hold it."""
    found = r.get("addresses", blob[:KEY_BYTES]) if len(blob) == _SHA256 else None
    return None if found is None else int.from_bytes(found, "big")


def row(blob: bytes, number: int) -> tuple[bytes, bytes]:
    """The row that says that `blob` has this number."""
    return blob[:KEY_BYTES], number.to_bytes((number.bit_length() + 7) // 8, "big")


def put(w: Writing, blob: bytes, number: int) -> None:
    """Say that `blob` has this number."""
    w.put("addresses", *row(blob, number))


def forget(w: Writing, blob: bytes) -> None:
    """Say it no longer."""
    w.delete("addresses", blob[:KEY_BYTES])


def shorten(w: Writing) -> None:
    """Make the rows of those that format 3 had, with the whole sha256 and eight bytes of number.

    All of them are in memory meanwhile, as 28 bytes each (a tenth of what they are as objects). Each made short in its
    place, none would be, and the table half as large again: only one that is written anew in its order has full pages.
    """
    packed = bytearray()
    for blob, number in w.scan("addresses"):
        packed += blob[:KEY_BYTES] + number[-_NUMBER:].rjust(_NUMBER, b"\0")
    w.clear("addresses")
    each = KEY_BYTES + _NUMBER
    for first in range(0, len(packed), each * _SLICE):
        few = (packed[at : at + each] for at in range(first, min(first + each * _SLICE, len(packed)), each))
        rows = [row(bytes(one[:KEY_BYTES]), int.from_bytes(one[KEY_BYTES:], "big")) for one in few]
        w.put_all("addresses", rows)


class Whole:
    """A reading of a journal that has whole addresses, as it was before format 4, for who looks for the beginnings."""

    def __init__(self, r: Reading) -> None:
        self._r = r
        self.known = r.known

    def get(self, table: str, key: bytes) -> bytes | None:
        if table != "addresses":
            return self._r.get(table, key)
        found = next(self._r.scan(table, key), None)
        return found[1] if found is not None and found[0].startswith(key) else None

    def scan(
        self, table: str, start: bytes = b"", stop: bytes | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for key, value in self._r.scan(table, start, stop, reverse):
            yield row(key, int.from_bytes(value, "big")) if table == "addresses" else (key, value)

    def values(self, table: str, start: bytes = b"", most: int | None = None) -> list[bytes]:
        return self._r.values(table, start, most)

    def count(self, table: str) -> int:
        return self._r.count(table)
