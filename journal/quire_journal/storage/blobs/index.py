"""Addresses: which number the blob with a sha256 has.

There is one for each blob, and they come in no order, so pages are two thirds full whatever is done, and each byte of
an address costs one and a half. So only a mark of nine bytes is kept of the sha256, and addresses whose marks begin
alike share a row:

    key: the digits with which the marks begin, two at least
    value: bytes of a number | (what is left of a mark, without the bytes that the key tells | number), in no order

A row that would have more than `MOST` becomes empty, and sixteen of one more digit stand in for it; so an address is
found by two digits, or where that row is empty by three, and so on.

A mark is a hash of the sha256 with a key that is drawn for each journal. Two of ten million agree by chance in one of
10^8 journals; and nobody who does not read the journal can make two files whose marks agree, as would be possible with
as few bytes of the sha256. That finds the blob: its bytes are held against all of the sha256 whenever they are read.

Up to format 5 a row was one address: 20 bytes of its sha256, or all 32 up to format 3. Such a table is still read.
"""

from __future__ import annotations

import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from quire_journal.model import JournalDamaged
from quire_journal.storage import ReadTransaction, WriteTransaction, random_id

KEY: Final = b"key"
"""In the table: what marks are made with, and four bytes that prove it. Rows of addresses have digits for keys."""

MARK_BYTES: Final = 9
MOST: Final = 64
"""Addresses in a row."""

_FEWEST_DIGITS: Final = 2
_PROOF: Final = 4
_SHA256: Final = 32
_OLD: Final = 20
"""Bytes of the sha256 of which a mark is made, which is all that formats 4 and 5 have."""

_MOST_NUMBER_BYTES: Final = 8
_DIGITS: Final = frozenset(b"0123456789abcdef")

Address = tuple[bytes, int]
"""The mark of a blob, and its number. Up to format 5 the first bytes of the sha256 stand for a mark."""


def find(r: ReadTransaction, blob: bytes) -> int | None:
    """The number of `blob`; None when the journal does not hold it. Raises `JournalDamaged`."""
    return at(r, mark(r, blob)) if len(blob) == _SHA256 else None


def mark(r: ReadTransaction, blob: bytes) -> bytes:
    """The mark that stands for the address `blob`. Raises `JournalDamaged` where what marks are made with is
    damaged."""
    key = _key(r)
    return _mark(key, blob) if key else blob[:_OLD]


def at(r: ReadTransaction, mark: bytes) -> int | None:
    """The number of the blob with this mark. Raises `JournalDamaged`."""
    if len(mark) != MARK_BYTES:
        old = next((row for key, row in r.scan("addresses", mark) if key.startswith(mark)), None)
        return None if old is None else int.from_bytes(old, "big")
    key, row = _row_of(r, mark)
    found = _place(row, mark[len(key) // 2 :]) if row else -1
    return int.from_bytes(row[found : found + row[0]], "big") if found >= 0 else None


def put(w: WriteTransaction, blob: bytes, number: int) -> None:
    """Say that `blob` has this number. Raises `JournalDamaged`."""
    own = _mark(_key(w) or _draw(w), blob)
    key, row = _row_of(w, own)
    longer = _with(row, own[len(key) // 2 :], number) if row else b""
    if longer:
        w.put("addresses", key, longer)
    else:
        _put_in(w, key, [(own, number)])


def put_all(w: WriteTransaction, numbers: Iterable[tuple[bytes, int]]) -> None:
    """Say of each of these blobs that it has this number. Raises `JournalDamaged`."""
    key = _key(w) or _draw(w)
    _put_marks(w, ((_mark(key, blob), number) for blob, number in numbers))


def forget(w: WriteTransaction, blob: bytes) -> None:
    """Forget which number `blob` has. Raises `JournalDamaged`."""
    own = mark(w, blob)
    key, row = _row_of(w, own)
    rest = own[len(key) // 2 :]
    found = _place(row, rest) if row else -1
    if found < 0:
        return
    left = row[: found - len(rest)] + row[found + row[0] :]
    if len(left) > 1:
        w.put("addresses", key, left)
    else:
        w.delete("addresses", key)


def numbers(r: ReadTransaction) -> Iterator[int]:
    """The numbers of all blobs that have an address, in no order. Raises `JournalDamaged`."""
    for key, row in r.scan("addresses"):
        yield from (number for _, number in _read(r, key, row))


def in_row(r: ReadTransaction, key: bytes, row: bytes) -> list[Address]:
    """The addresses that stand in one row of the table. Raises `ValueError` where it cannot be one."""
    if not _key(r):
        number = int.from_bytes(row, "big")
        if len(key) not in (_OLD, _SHA256) or not 0 < number < 1 << 64 or (len(key) == _OLD and row[0] == 0):
            raise ValueError("it is not that of a sha256 with a blob's number")
        return [(key[:_OLD], number)]
    if key == KEY or not row:
        return []
    if not _FEWEST_DIGITS <= len(key) <= 2 * MARK_BYTES or not _DIGITS.issuperset(key):
        raise ValueError("its key has no digits of a mark")
    known = bytes.fromhex(key[: len(key) // 2 * 2].decode())
    rest = MARK_BYTES - len(known)
    each = rest + row[0]
    if not 0 < row[0] <= _MOST_NUMBER_BYTES or len(row) == 1 or (len(row) - 1) % each:
        raise ValueError(f"it cannot have {len(row)} bytes")
    places = range(1, len(row), each)
    return [(known + row[at : at + rest], int.from_bytes(row[at + rest : at + each], "big")) for at in places]


def gather(w: WriteTransaction) -> None:
    """Make the rows of those that formats 3 to 5 had.

    All of them are in memory meanwhile, as 17 bytes each, for they come in another order and are only written once.
    """
    key, each = _draw(w), MARK_BYTES + _MOST_NUMBER_BYTES
    by_first: defaultdict[int, bytearray] = defaultdict(bytearray)
    for old, number in w.scan("addresses"):
        if len(old) >= _OLD:
            own = _mark(key, old)
            by_first[own[0]] += own + number[-_MOST_NUMBER_BYTES:].rjust(_MOST_NUMBER_BYTES, b"\0")
    w.clear("addresses")
    _keep(w, key)
    for _, packed in sorted(by_first.items()):
        few = (bytes(packed[at : at + each]) for at in range(0, len(packed), each))
        _put_marks(w, ((one[:MARK_BYTES], int.from_bytes(one[MARK_BYTES:], "big")) for one in few))


def _read(r: ReadTransaction, key: bytes, row: bytes) -> list[Address]:
    try:
        return in_row(r, key, row)
    except ValueError as error:
        raise JournalDamaged(f"a row of addresses cannot be read ({error}); run `quire verify`") from error


def _key(r: ReadTransaction) -> bytes:
    """What marks are made with; b"" in a table of format 5 or before, and in an empty one."""
    known: bytes | None = r.known.get((KEY,))
    if known is None:
        held = r.get("addresses", KEY)
        if held is None:
            first, _ = next(r.scan("addresses"), (b"", b""))
            if 0 < len(first) < _OLD:  # with another one, all that are there would never be found again
                raise JournalDamaged("what addresses are made with is gone; run `quire verify`")
            return b""
        known = r.known[KEY,] = _proven(held)
    return known


@functools.lru_cache(maxsize=4)
def _proven(held: bytes) -> bytes:
    key = held[:-_PROOF]
    if _kept(key) != held:
        raise JournalDamaged("what addresses are made with is not what it was; run `quire verify`")
    return key


def _draw(w: WriteTransaction) -> bytes:
    key = bytes.fromhex(random_id())
    _keep(w, key)
    return key


def _keep(w: WriteTransaction, key: bytes) -> None:
    w.put("addresses", KEY, _kept(key))
    w.known[KEY,] = key


def _kept(key: bytes) -> bytes:
    return key + hashlib.sha256(key).digest()[:_PROOF]


@functools.lru_cache(maxsize=64)  # asked for when a version comes, and again when the next one is made from it
def _mark(key: bytes, blob: bytes) -> bytes:
    return hashlib.blake2b(blob[:_OLD], digest_size=MARK_BYTES, key=key).digest()


def _row_of(r: ReadTransaction, mark: bytes) -> tuple[bytes, bytes]:
    """The row where the address with this mark stands or would stand, and its key; b"" where there is no row yet."""
    digits = mark.hex().encode()
    for count in range(_FEWEST_DIGITS, len(digits)):
        row = r.get("addresses", digits[:count])
        if row is None or row:
            return digits[:count], row or b""
    return digits, r.get("addresses", digits) or b""


def _place(row: bytes, rest: bytes) -> int:
    """Where in a row the number stands of the mark that ends with `rest`; -1: nowhere.

    Raises `JournalDamaged` for a row that was not made so: what is added to it would not be found again.
    """
    each = len(rest) + row[0]
    if not 0 < row[0] <= _MOST_NUMBER_BYTES or (len(row) - 1) % each:
        raise JournalDamaged(f"a row of addresses cannot be read (it cannot have {len(row)} bytes); run `quire verify`")
    found = row.find(rest, 1)
    while found >= 0 and (found - 1) % each:
        found = row.find(rest, found + 1)
    return found + len(rest) if found >= 0 else -1


def _with(row: bytes, rest: bytes, number: int) -> bytes:
    """The row with one address more, of which its key does not tell `rest`; b"" where it takes more than to add it."""
    width = row[0]
    if len(row) > MOST * (len(rest) + width) or number >> 8 * width or _place(row, rest) >= 0:
        return b""
    return row + rest + number.to_bytes(width, "big")


def _put_marks(w: WriteTransaction, new: Iterable[Address]) -> None:
    rows: defaultdict[bytes, list[Address]] = defaultdict(list)
    for own, number in new:
        rows[own[:1].hex().encode()].append((own, number))
    for key, some in sorted(rows.items()):
        _put_in(w, key, some)


def _put_in(w: WriteTransaction, key: bytes, new: list[Address]) -> None:
    """Add these, of which `key` has the first digits, to its row, or to the ones that stand in for it."""
    row = w.get("addresses", key)
    if row:
        names = {own for own, _ in new}
        new = [one for one in _read(w, key, row) if one[0] not in names] + new
    if row != b"" and len(new) <= MOST:
        width = max((number.bit_length() + 7) // 8 for _, number in new)
        known = len(key) // 2
        w.put(
            "addresses",
            key,
            bytes((width,)) + b"".join(own[known:] + number.to_bytes(width, "big") for own, number in new),
        )
        return
    if row != b"":
        w.put("addresses", key, b"")
    parts: defaultdict[bytes, list[Address]] = defaultdict(list)
    for one in new:
        parts[one[0].hex()[: len(key) + 1].encode()].append(one)
    for longer, some in sorted(parts.items()):
        _put_in(w, longer, some)
