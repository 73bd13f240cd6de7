"""Rows of blobs: how a frame, and what is known of it, stand in the table.

There is one for every version, and its frame is often no longer than a hundred bytes: so numbers are as short as they
are small, the base is told by how far it lies back, and the frame is the rest of the row.

    kind of the frame, and whether it stands in `overflow` | how far back the base lies, 0: none
    | links: the long ones in front of `RUN` short ones | size | if in pieces: bytes there | the frame
"""

from __future__ import annotations

from typing import Final

import msgspec

RUN: Final = 32
"""There are always fewer short links in a row than this (`BlobRow.run`)."""

_HERE: Final = 0x80
_IN_PIECES: Final = 0xA0
"""How a row begins, to which the kind is added. Rows of other tables with such keys begin otherwise, and so does an
array: that matters to a salvage, which has to find rows of blobs in a damaged file."""

_KINDS: Final = 16
_STARTS: Final = frozenset((*range(_HERE, _HERE + _KINDS), *range(_IN_PIECES, _IN_PIECES + _KINDS)))
_LONGEST: Final = 9  # bytes of a number; nothing that is counted here needs as many


class BlobRow(msgspec.Struct, frozen=True, gc=False):
    """A blob as it stands in the table."""

    base: int  # number of the blob that the frame needs; 0: none
    links: int  # from here to the keyframe
    size: int  # of the bytes
    kind: int
    frame: bytes
    rest: int = 0  # bytes of the frame that stand in `overflow`; here it has none then
    run: int = 0  # of the links how many lead from a version of the path to the one before it, until a longer one comes


def row(number: int, stored: BlobRow) -> bytes:
    """The row of blob `number`."""
    back = number - stored.base if stored.base else 0
    if not (0 <= stored.kind < _KINDS and back >= 0 and 0 <= stored.run < RUN and stored.run <= stored.links):
        raise ValueError(f"no row can say of blob {number} what it should")
    out = bytearray((stored.kind + (_IN_PIECES if stored.rest else _HERE),))
    for value in (back, (stored.links - stored.run) * RUN + stored.run, stored.size):
        write_number(out, value)
    if stored.rest:
        write_number(out, stored.rest)
    return bytes(out + stored.frame)


def read(number: int, row: bytes) -> BlobRow:
    """What the row of blob `number` says. Raises `ValueError` where it makes no sense."""
    begins = row[0] if row else 0
    if begins not in _STARTS:
        raise ValueError("it does not begin as a blob does")
    if len(row) > 3 and (row[1] | row[2]) < 0x80:  # nearly always
        back, links, at = row[1], row[2], 3
    else:
        back, at = read_number(row, 1)
        links, at = read_number(row, at)
    size, at = read_number(row, at)
    rest, at = read_number(row, at) if begins >= _IN_PIECES else (0, at)
    run = links % RUN
    return BlobRow(number - back if back else 0, links // RUN + run, size, begins % _KINDS, row[at:], rest, run)


def may_be(row: bytes) -> bool:
    """Does this begin as the row of a blob does?"""
    return bool(row) and row[0] in _STARTS


def write_number(out: bytearray, value: int) -> None:
    """Seven bits a byte, the lowest first; all but the last byte have the eighth."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_number(row: bytes, at: int) -> tuple[int, int]:
    """The number there, and where what follows it begins."""
    value = shift = 0
    for byte in row[at : at + _LONGEST]:
        at += 1
        if byte < 0x80:
            return value | byte << shift, at
        value |= (byte & 0x7F) << shift
        shift += 7
    raise ValueError("it ends in the middle of a number")
