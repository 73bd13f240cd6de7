"""Frames: how the bytes of one blob are written down, alone or as what tells them from those of another, its base.

The bytes themselves, zstd of them, the one stretch in which they differ from the base's, or zstd with the base as
dictionary: whichever is shorter, as far as finding out takes no longer than an edit can wait. Nothing here knows a
table.

A delta is short, so every byte that a frame of zstd spends on itself counts. Tables that stand in front of every base
(`entropy`) save a sixteenth, because no frame needs tables of its own, and what the size tells is left out.

What comes out of a frame is not trusted: declared sizes are held against what was stored and against `MAX_BYTES`
before anything is unpacked, and frames carry a checksum (a wrong prefix would otherwise unpack to wrong text).
"""

from __future__ import annotations

import functools
import struct
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from quire_journal.model import BlobId, JournalDamaged, blob_id
from quire_journal.storage.blobs.entropy import TABLES
from quire_journal.storage.blobs.row import BlobRow, read_number, write_number
from quire_journal.text import same_end, same_start

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_BYTES: Final = 1 << 30
"""Bytes of the largest blob that is stored or unpacked. Settings limit what is captured far below."""

PLAIN: Final = 0
"""Kind of a frame: the bytes as they are."""
PACKED: Final = 1
"""Kind of a frame: zstd of the bytes."""
DELTA: Final = 2
"""Kind of a frame: zstd of the bytes with the base's bytes as prefix."""
SPLICED: Final = 3
"""Kind of a frame: `STRETCH` as it was up to format 5 (`_Between`)."""
BARE_PACKED: Final = 4
"""Kind of a frame: `PACKED` without the four bytes that every frame of zstd begins with."""
BARE_DELTA: Final = 5
"""Kind of a frame: `DELTA` without them."""

TABLED: Final = 6
"""Kind of a frame: zstd with `TABLES` and the base's bytes as dictionary, without the head that the size tells."""
TABLED_BLOCK: Final = 7
"""Kind of a frame: `TABLED`, and without the head of its only block, which is as long as the rest."""

STRETCH: Final = 8
"""Kind of a frame: what stands between the beginning and the end that the bytes share with the base's, behind how long
that beginning is. How long the end is follows from the size."""

WITH_TABLES: Final = (TABLED, TABLED_BLOCK)

MADE_OF_BASE: Final = (DELTA, SPLICED, STRETCH, BARE_DELTA, *WITH_TABLES)
"""Kinds of frames that need a base."""

_SHORTEST: Final = (PLAIN, SPLICED, STRETCH)

_OF_ZSTD: Final = (PACKED, DELTA, BARE_PACKED, BARE_DELTA)

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SINGLE: Final = 0x20  # of a frame: one segment
_SINGLE_WITH_CHECKSUM: Final = 0x24  # and a checksum behind it
_LAST_PACKED: Final = 0b101
_BLOCK_HEAD: Final = 3
_HEAD_OF_TWO: Final = struct.Struct("<4sBIHB").pack  # of a frame of less than 4 GB, and of a block that is not packed
_CHECKSUM: Final = 4
_LEVEL: Final = 3
_DELTA_LEVEL: Final = 8
"""Deltas are a sixth shorter than with 3, and take a third longer; above this, twice as long for a hundredth."""
_DELTA_SEARCH: Final = 6
"""Of what `TABLED` is made of 2^6 places are compared, instead of 2^5: for as much time, a fiftieth shorter."""
_TABLES_LEAST: Final = 10
_TABLES_MOST: Final = 17
_TABLED_BYTES: Final = 1 << 16
"""The most bytes in a `TABLED` frame: in longer ones zstd finds more where the base is a prefix."""
_TABLED_BASE_BYTES: Final = 1 << 18
_MOST_IN_BLOCK: Final = 1 << 17  # of a frame of zstd
_MIN_PREFIX_BYTES: Final = 8  # zstd takes no shorter one
_FAR_BYTES: Final = 1 << 20  # of old and new, from which on long-distance matching pays
_SPLICED_BYTES: Final = 96
"""Most bytes between common ends that are kept as they are: zstd packs more of them shorter. It takes 0.3 ms to find
the ends of a file of 60 kB, and can spend 300 bytes on telling them where the file repeats itself; a comparison takes
0.02 ms, and tells them in ten."""
_TIGHT_LEVEL: Final = 19
"""6 to 8 % shorter than with 8, in twenty times the time: for work that nobody waits for."""
_TIGHT_LEAST: Final = 48  # of a shorter frame there is too little left to gain
_TIGHT_MOST: Final = 1 << 19  # of old and new; more would take a second, and a hundred megabytes
_WORTH_A_LINK: Final = 0.8
"""A delta stays when it takes at most this part of a keyframe: with half of it, as once, one byte in twelve of a real
history stood in keyframes that a delta would have saved. What saves less is not worth the link that readers follow."""
_LINK_BYTES: Final = 4  # a stretch of an empty file, or of a word, is not worth one
_MOST_GAIN: Final = 16  # a keyframe is hardly ever this many times smaller than its bytes
_FEW_BYTES: Final = 1 << 16  # of a keyframe that is packed in the loop, up to which `_DELTA_LEVEL` takes 0.3 ms more


class _Between(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The frame of `SPLICED`: bytes of the base at the beginning and at the end, and what stands between them."""

    head: int
    tail: int
    middle: bytes


class Frame(msgspec.Struct, frozen=True):
    """Bytes made ready to be stored, outside of any transaction: the slow part of a first capture."""

    blob: BlobId
    size: int
    kind: int
    body: bytes


_decode_between: Final = msgspec.msgpack.Decoder(_Between).decode


def require_size(data: bytes) -> None:
    """Raise `ValueError` over `MAX_BYTES`."""
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data)} bytes are more than a blob may have ({MAX_BYTES})")


def compress(data: bytes) -> Frame:
    """`data` as a keyframe, for workers: pure; other threads run meanwhile. Raises `ValueError` over `MAX_BYTES`."""
    require_size(data)
    return Frame(blob_id(data), len(data), *_packed_or_plain(data, _LEVEL))


class Whole:
    """Kind and frame of bytes by themselves, made when they are first asked for: most versions never need them."""

    __slots__ = ("_data", "_made")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._made: tuple[int, bytes] | None = None

    def __call__(self) -> tuple[int, bytes]:
        if self._made is None:
            self._made = whole(self._data)
        return self._made


def whole(data: bytes) -> tuple[int, bytes]:
    """Kind and frame of `data` by itself, where nobody waits for thousands of them."""
    return _packed_or_plain(data, _DELTA_LEVEL if len(data) <= _FEW_BYTES else _LEVEL)


def delta(data: bytes, base: bytes, whole: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes] | None:
    """Kind and frame of `data` against `base`; None where a keyframe, which `whole` makes, is better."""
    if len(base) < _MIN_PREFIX_BYTES:
        return None
    spliced = _splice(data, base)
    if spliced is not None:
        return (STRETCH, spliced) if len(spliced) + _LINK_BYTES <= _WORTH_A_LINK * len(data) else None
    kind, packed = _packed_with(data, base, _DELTA_LEVEL)
    return (kind, packed) if is_part(packed, _WORTH_A_LINK, data, whole) else None


def is_part(packed: bytes, part: float, data: bytes, whole: Callable[[], tuple[int, bytes]]) -> bool:
    """Does a frame of `data` take at most this part of a keyframe?

    `whole` makes that one, which takes as long as a delta: only where the bytes themselves leave a doubt.
    """
    return len(packed) * _MOST_GAIN <= part * len(data) or len(packed) <= part * len(whole()[1])


def tighter(number: int, stored: BlobRow, data: bytes, base: bytes) -> BlobRow | None:
    """Blob `number`, which is `data`, in a shorter frame that needs the same base; None where none is found.

    It takes a few milliseconds, during which other threads run. The new frame was unpacked again. One stretch stays
    one, though zstd packs some of them shorter: it is read in a tenth of the time.
    """
    made_of_base = stored.kind in MADE_OF_BASE
    if stored.kind in _SHORTEST or len(stored.frame) < _TIGHT_LEAST or len(data) + len(base) > _TIGHT_MOST:
        return None
    if made_of_base and len(base) < _MIN_PREFIX_BYTES:
        return None
    made_as = _packed_with(data, base, _TIGHT_LEVEL) if made_of_base else (BARE_PACKED, _pack(data, b"", _TIGHT_LEVEL))
    kind, packed = made_as
    if len(packed) >= len(stored.frame):
        return None
    made = msgspec.structs.replace(stored, kind=kind, frame=packed)
    return made if unframe(number, made, base) == data else None


def _packed_or_plain(data: bytes, level: int) -> tuple[int, bytes]:
    packed = _pack(data, b"", level)
    return (BARE_PACKED, packed) if len(packed) < len(data) else (PLAIN, data)


def _splice(data: bytes, base: bytes) -> bytes | None:
    """`data` as one stretch between the ends that it shares with `base`; None where that is long, or half of it."""
    head = same_start(base, data)
    tail = same_end(base, data, head)
    between = len(data) - tail - head
    if between > _SPLICED_BYTES or between * 2 > len(data):
        return None
    frame = bytearray()
    write_number(frame, head)
    return bytes(frame) + data[head : len(data) - tail]


def _window_log(size: int) -> int:
    """The smallest window that spans `size` bytes, in the bounds of zstd."""
    least, most = _window_bounds()
    return max(least, min(most, size.bit_length()))


@functools.cache
def _window_bounds() -> tuple[int, int]:
    return zstd.CompressionParameter.window_log.bounds()


def _pack(data: bytes, prefix: bytes, level: int) -> bytes:
    """zstd of `data`, without its first four bytes."""
    return pack_after(data, prefix, level)[len(_MAGIC) :]


def pack_after(data: bytes, prefix: bytes, level: int = _DELTA_LEVEL) -> bytes:
    """A frame of zstd: `data` with a prefix. What is large is packed at `_LEVEL`, whatever `level` says."""
    far = len(data) + len(prefix) >= _FAR_BYTES
    window = _window_log(len(data) + len(prefix))
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL if far else level,
        zstd.CompressionParameter.checksum_flag: 1,
        # Without these two a prefix of some megabytes lies out of reach, and a delta is as long as the file. Below
        # that the second finds nothing more and costs a third of the time.
        zstd.CompressionParameter.window_log: window,
        zstd.CompressionParameter.enable_long_distance_matching: int(far),
    }
    if not prefix:
        return zstd.compress(data, options=options)
    return zstd.compress(data, options=options, zstd_dict=zstd.ZstdDict(prefix, is_raw=True).as_prefix)


def _packed_with(data: bytes, base: bytes, level: int) -> tuple[int, bytes]:
    """Kind and frame of `data` with `base`."""
    if len(data) > _TABLED_BYTES or len(base) > _TABLED_BASE_BYTES:
        return BARE_DELTA, _pack(data, base, level)
    frame = pack_with_tables(data, base, level)
    head = _head(len(data))
    if not frame.startswith(head):  # another zstd may write another one
        return BARE_DELTA, _pack(data, base, level)
    block = frame[len(head) + _BLOCK_HEAD :]
    if frame.startswith(_block_head(len(block) - _CHECKSUM), len(head)):
        return TABLED_BLOCK, block
    return TABLED, frame[len(head) :]


def pack_with_tables(data: bytes, base: bytes, level: int = _DELTA_LEVEL, tables: bytes = TABLES) -> bytes:
    """A frame of zstd: `data` with a dictionary of `tables` and `base`."""
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: level,
        zstd.CompressionParameter.checksum_flag: 1,
        zstd.CompressionParameter.dict_id_flag: 0,
        zstd.CompressionParameter.window_log: _window_log(len(data) + len(base)),
    }
    if level == _DELTA_LEVEL:
        # Tables of the size of what stands in them: to clear larger ones takes as long as to look.
        tables_log = max(_TABLES_LEAST, min(_TABLES_MOST, (len(data) + len(base)).bit_length() - 1))
        options[zstd.CompressionParameter.hash_log] = tables_log
        options[zstd.CompressionParameter.chain_log] = tables_log
        options[zstd.CompressionParameter.search_log] = _DELTA_SEARCH
    return zstd.compress(data, options=options, zstd_dict=zstd.ZstdDict(tables + base).as_undigested_dict)


def _head(size: int) -> bytes:
    """How a frame of `size` bytes begins that says them, has a checksum, and names no dictionary (RFC 8878, 3.1.1)."""
    if size < 1 << 8:
        return _MAGIC + bytes((_SINGLE_WITH_CHECKSUM, size))
    if size < (1 << 8) + (1 << 16):
        return _MAGIC + bytes((_SINGLE_WITH_CHECKSUM | 1 << 6,)) + (size - (1 << 8)).to_bytes(2, "little")
    return _MAGIC + bytes((_SINGLE_WITH_CHECKSUM | 2 << 6,)) + size.to_bytes(4, "little")


def _block_head(size: int) -> bytes:
    """How a block of `size` bytes begins that is packed, and the last."""
    return (size << 3 | _LAST_PACKED).to_bytes(_BLOCK_HEAD, "little")


def unframe(number: int, stored: BlobRow, base: bytes, proven: bool = False) -> bytes:
    """The bytes of one blob from its frame and its base's bytes; never more than declared. Raises `log.JournalDamaged`.

    `proven`: what comes of it is held against a sha256. Then the frame's own checksum need not be looked at, and it
    takes two thirds of the time.
    """
    if not 0 <= stored.size <= MAX_BYTES:
        raise JournalDamaged(f"blob {number} claims to have {stored.size} bytes; run `quire verify`")
    try:
        if proven and stored.kind == TABLED_BLOCK and len(base) <= _MOST_IN_BLOCK:  # nearly always
            data = _unpack_behind(stored, base)
        elif stored.kind in (STRETCH, SPLICED):
            data = _unsplice(stored, base)
        elif stored.kind == PLAIN:
            data = stored.frame
        elif stored.kind in _OF_ZSTD:
            data = _unpack_by_itself(stored, base)
        elif stored.kind in WITH_TABLES:
            data = _unpack_with_tables(stored, base)
        else:
            raise ValueError(f"it is of kind {stored.kind}, which this version does not know")
        if len(data) != stored.size:
            raise ValueError(f"it gives {len(data)} bytes, not {stored.size}")
    except (zstd.ZstdError, msgspec.MsgspecError, ValueError) as error:
        raise JournalDamaged(f"the frame of blob {number} cannot be read ({error}); run `quire verify`") from error
    return data


def _unpack_by_itself(stored: BlobRow, base: bytes) -> bytes:
    frame = stored.frame if stored.kind in (PACKED, DELTA) else _MAGIC + stored.frame
    declared = zstd.get_frame_info(frame).decompressed_size
    if declared != stored.size:
        raise ValueError(f"it declares {declared} bytes, not {stored.size}")
    prefix = zstd.ZstdDict(base, is_raw=True).as_prefix if stored.kind in MADE_OF_BASE else None
    window = _window_log(stored.size + len(base))
    return _unpack(prefix, frame, stored.size, {zstd.DecompressionParameter.window_log_max: window})


def _unpack_with_tables(stored: BlobRow, base: bytes) -> bytes:
    block = stored.frame if stored.kind == TABLED else b""
    if stored.kind == TABLED_BLOCK and _CHECKSUM < len(stored.frame) <= _TABLED_BYTES + _CHECKSUM:
        block = _block_head(len(stored.frame) - _CHECKSUM) + stored.frame
    if not block or stored.size > _TABLED_BYTES:
        raise ValueError(f"it cannot be one of {stored.size} bytes")
    return _unpack(zstd.ZstdDict(TABLES + base).as_undigested_dict, _head(stored.size) + block, stored.size)


def _unpack_behind(stored: BlobRow, base: bytes) -> bytes:
    """The bytes of a `TABLED_BLOCK`, of which the checksum is left out: as what follows the base in one frame.

    Taking in a dictionary, tables and all, takes half of the time of a link. So the tables alone are taken in once, and
    the base goes in front of the block as a block of its own, not packed: whatever the block refers to is the same.
    """
    size, packed = len(base) + stored.size, len(stored.frame) - _CHECKSUM
    if not 0 < packed <= _TABLED_BYTES or stored.size > _TABLED_BYTES:
        raise ValueError(f"it cannot be one of {stored.size} bytes")
    head = _HEAD_OF_TWO(_MAGIC, _SINGLE | 2 << 6, size, len(base) << 3 & 0xFFFF, len(base) >> 13)
    frame = b"".join((head, base, _block_head(packed), stored.frame[:packed]))
    return _unpack(_tables_alone(), frame, size)[len(base) :]


@functools.cache
def _tables_alone() -> tuple[zstd.ZstdDict, int]:
    return zstd.ZstdDict(TABLES + bytes(_MIN_PREFIX_BYTES)).as_digested_dict


def _unpack(
    base: tuple[zstd.ZstdDict, int] | None, frame: bytes, size: int, options: dict[int, int] | None = None
) -> bytes:
    unpacking = zstd.ZstdDecompressor(base, options)
    data = unpacking.decompress(frame, max_length=size + 1)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it does not end where it should")
    return data


def _unsplice(stored: BlobRow, base: bytes) -> bytes:
    if stored.kind == STRETCH:
        head, at = read_number(stored.frame, 0)
        middle = stored.frame[at:]
        tail = stored.size - head - len(middle)
    else:
        between = _decode_between(stored.frame)
        head, middle, tail = between.head, between.middle, between.tail
    if head < 0 or tail < 0 or head + tail > len(base) or head + len(middle) + tail != stored.size:
        raise ValueError("it does not fit its base")
    return base[:head] + middle + base[len(base) - tail :]
