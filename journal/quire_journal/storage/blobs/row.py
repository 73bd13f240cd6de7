"""Blob rows: the stored form of a frame and its metadata. As every version has a row, often below a hundred bytes,
numbers have variable length, and the base is stored as its distance in blob numbers.

    frame kind, and whether the frame is in `pieces` | distance to the base, 0: none
    | (`links` - `run`) * `RUN` + `run`, of `BlobRow` | size | if in pieces: bytes of the frame | the frame

The row of a blob whose frame is in a pack (`packs`), which has no base:

    frame kind | size | bytes of the frame | their offset in the pack | id of the pack
"""

from __future__ import annotations

from typing import Final

import msgspec

RUN: Final = 32
"""Number of successive short links after which a long link is tried, plus one."""

_HERE: Final = 0x80
_IN_PIECES: Final = 0xA0
_IN_PACK: Final = 0xC0
"""First bytes of rows, without the kind; a salvage recognizes blob rows by them."""

_KINDS: Final = 16
_STARTS: Final = frozenset(first + kind for first in (_HERE, _IN_PIECES, _IN_PACK) for kind in range(_KINDS))
_LONGEST: Final = 9  # maximum bytes of a number, more than any count needs


class BlobRow(msgspec.Struct, frozen=True, gc=False):
    base: int  # number of the base; 0: none
    links: int  # from this blob to the keyframe
    size: int  # of the bytes
    kind: int
    frame: bytes
    rest: int = 0  # bytes of the frame in `pieces` or in a pack; `frame` is empty then
    run: int = 0  # successive short links (to the version before) up to this blob, modulo `RUN`
    pack: bytes = b""  # id of the pack that has the frame
    at: int = 0  # offset of the frame in the pack


def row(number: int, stored: BlobRow) -> bytes:
    back = number - stored.base if stored.base else 0
    if not (0 <= stored.kind < _KINDS and back >= 0 and 0 <= stored.run < RUN and stored.run <= stored.links):
        raise ValueError(f"no row can say of blob {number} what it should")
    if stored.pack:
        out = bytearray((stored.kind + _IN_PACK,))
        for value in (stored.size, stored.rest, stored.at):
            write_number(out, value)
        return bytes(out + stored.pack)
    out = bytearray((stored.kind + (_IN_PIECES if stored.rest else _HERE),))
    for value in (back, (stored.links - stored.run) * RUN + stored.run, stored.size):
        write_number(out, value)
    if stored.rest:
        write_number(out, stored.rest)
    return bytes(out + stored.frame)


def read(number: int, row: bytes) -> BlobRow:
    """Decode the row of blob `number`. Raises `ValueError`."""
    begins = row[0] if row else 0
    if begins not in _STARTS:
        raise ValueError("it does not begin as a blob does")
    if begins >= _IN_PACK:
        return _in_pack(row)
    if len(row) > 3 and (row[1] | row[2]) < 0x80:  # nearly always
        back, links, at = row[1], row[2], 3
    else:
        back, at = read_number(row, 1)
        links, at = read_number(row, at)
    size, at = read_number(row, at)
    rest, at = read_number(row, at) if begins >= _IN_PIECES else (0, at)
    run = links % RUN
    return BlobRow(number - back if back else 0, links // RUN + run, size, begins % _KINDS, row[at:], rest, run)


def _in_pack(row: bytes) -> BlobRow:
    size, at = read_number(row, 1)
    rest, at = read_number(row, at)
    offset, at = read_number(row, at)
    if not row[at:]:
        raise ValueError("it names no pack")
    return BlobRow(0, 0, size, row[0] % _KINDS, b"", rest, pack=row[at:], at=offset)


def may_be(row: bytes) -> bool:
    return bool(row) and row[0] in _STARTS


def write_number(out: bytearray, value: int) -> None:
    """Append a number: seven bits a byte, the lowest first; all but the last byte have bit 8 set."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_number(row: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at`, and the next offset. Raises `ValueError`."""
    value = shift = 0
    for byte in row[at : at + _LONGEST]:
        at += 1
        if byte < 0x80:
            return value | byte << shift, at
        value |= (byte & 0x7F) << shift
        shift += 7
    raise ValueError("it ends in the middle of a number")
