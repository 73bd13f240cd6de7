"""Frames: how the bytes of one blob are written down, alone or as what tells them from those of another, its base.

The bytes themselves, zstd of them, the one stretch in which they differ from the base's, or zstd with the base as
dictionary: whichever is shorter, as far as finding out takes no longer than an edit can wait. Nothing here knows a
table.

What comes out of a frame is not trusted: declared sizes are held against what was stored and against `MAX_BYTES`
before anything is unpacked, and frames carry a checksum (a wrong prefix would otherwise unpack to wrong text).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Final

import msgspec

from quire_journal.model import BlobId, JournalDamaged, blob_id
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
STRETCH: Final = 3
"""Kind of a frame: what stands between the beginning and the end that the bytes share with the base's, behind how long
that beginning is. How long the end is follows from the size."""

MADE_OF_BASE: Final = (DELTA, STRETCH)
"""Kinds of frames that need a base."""

_LEVEL: Final = 3
_DELTA_LEVEL: Final = 8
"""Deltas are a sixth shorter than with 3, and take a third longer; above this, twice as long for a hundredth."""
_MIN_PREFIX_BYTES: Final = 8  # zstd takes no shorter one
_FAR_BYTES: Final = 1 << 20  # of old and new, from which on long-distance matching pays
_STRETCH_BYTES: Final = 96
"""Most bytes between common ends that are kept as they are: zstd packs more of them shorter. It takes 0.3 ms to find
the ends of a file of 60 kB, and can spend 300 bytes on telling them where the file repeats itself; a comparison takes
0.02 ms, and tells them in ten."""
_WORTH_A_LINK: Final = 0.8
"""A delta stays when it takes at most this part of a keyframe: with half of it, as once, one byte in twelve of a real
history stood in keyframes that a delta would have saved. What saves less is not worth the link that readers follow."""
_LINK_BYTES: Final = 4  # a stretch of an empty file, or of a word, is not worth one
_MOST_GAIN: Final = 16  # a keyframe is hardly ever this many times smaller than its bytes
_FEW_BYTES: Final = 1 << 16  # of a keyframe that is packed in the loop, up to which `_DELTA_LEVEL` takes 0.3 ms more


class Frame(msgspec.Struct, frozen=True):
    """Bytes made ready to be stored, outside of any transaction: the slow part of a first capture."""

    blob: BlobId
    size: int
    kind: int
    body: bytes


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
    stretch = _stretch(data, base)
    if stretch is not None:
        return (STRETCH, stretch) if len(stretch) + _LINK_BYTES <= _WORTH_A_LINK * len(data) else None
    packed = _pack(data, base, _DELTA_LEVEL)
    return (DELTA, packed) if is_part(packed, _WORTH_A_LINK, data, whole) else None


def is_part(packed: bytes, part: float, data: bytes, whole: Callable[[], tuple[int, bytes]]) -> bool:
    """Does a frame of `data` take at most this part of a keyframe?

    `whole` makes that one, which takes as long as a delta: only where the bytes themselves leave a doubt.
    """
    return len(packed) * _MOST_GAIN <= part * len(data) or len(packed) <= part * len(whole()[1])


def _packed_or_plain(data: bytes, level: int) -> tuple[int, bytes]:
    packed = _pack(data, b"", level)
    return (PACKED, packed) if len(packed) < len(data) else (PLAIN, data)


def _stretch(data: bytes, base: bytes) -> bytes | None:
    """`data` as one stretch between the ends that it shares with `base`; None where that is long, or half of it."""
    head = same_start(base, data)
    tail = same_end(base, data, head)
    between = len(data) - tail - head
    if between > _STRETCH_BYTES or between * 2 > len(data):
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
    """zstd of `data` with a prefix. What is large is packed at `_LEVEL`, whatever `level` says."""
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


def unframe(number: int, stored: BlobRow, base: bytes) -> bytes:
    """The bytes of one blob from its frame and its base's bytes; never more than declared. Raises `JournalDamaged`."""
    if not 0 <= stored.size <= MAX_BYTES:
        raise JournalDamaged(f"blob {number} claims to have {stored.size} bytes; run `quire verify`")
    try:
        if stored.kind == STRETCH:
            data = _put_back(stored, base)
        elif stored.kind == PLAIN:
            data = stored.frame
        elif stored.kind in (PACKED, DELTA):
            data = _unpack(stored, base)
        else:
            raise ValueError(f"it is of kind {stored.kind}, which this version does not know")
        if len(data) != stored.size:
            raise ValueError(f"it gives {len(data)} bytes, not {stored.size}")
    except (zstd.ZstdError, ValueError) as error:
        raise JournalDamaged(f"the frame of blob {number} cannot be read ({error}); run `quire verify`") from error
    return data


def _unpack(stored: BlobRow, base: bytes) -> bytes:
    declared = zstd.get_frame_info(stored.frame).decompressed_size
    if declared != stored.size:
        raise ValueError(f"it declares {declared} bytes, not {stored.size}")
    prefix = zstd.ZstdDict(base, is_raw=True).as_prefix if stored.kind == DELTA else None
    window = _window_log(stored.size + len(base))
    unpacking = zstd.ZstdDecompressor(prefix, {zstd.DecompressionParameter.window_log_max: window})
    data = unpacking.decompress(stored.frame, max_length=stored.size + 1)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("it does not end where it should")
    return data


def _put_back(stored: BlobRow, base: bytes) -> bytes:
    head, at = read_number(stored.frame, 0)
    middle = stored.frame[at:]
    tail = stored.size - head - len(middle)
    if tail < 0 or head + tail > len(base):
        raise ValueError("it does not fit its base")
    return base[:head] + middle + base[len(base) - tail :]
