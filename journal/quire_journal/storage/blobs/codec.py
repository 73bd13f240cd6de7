"""Frames: the stored form of a blob's bytes, alone or as a delta against a base: plain bytes, zstd, the one stretch
that differs from the base, or zstd with the base as dictionary. Sizes are checked before unpacking, and zstd frames
have a checksum, because a wrong base would unpack to wrong text.
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
"""Maximum size of a blob. Settings limit captures far below."""

PLAIN: Final = 0
"""Frame kind: the bytes unchanged."""
PACKED: Final = 1
DELTA: Final = 2
"""Frame kind: zstd with the base as dictionary."""
STRETCH: Final = 3
"""Frame kind: length of the common beginning with the base, then the bytes up to the common end."""

MADE_OF_BASE: Final = (DELTA, STRETCH)

_LEVEL: Final = 3
_QUICK_LEVEL: Final = 1
"""zstd level of what leaves beside edits: a twentieth longer than at level 3, in two thirds of the time."""
_DELTA_LEVEL: Final = 8
"""zstd level of deltas, which are a sixth shorter than at level 3, and take a third longer."""
_MIN_PREFIX_BYTES: Final = 8  # zstd's minimum
_FAR_BYTES: Final = 1 << 20  # size of old and new bytes from which long-distance matching pays
_STRETCH_BYTES: Final = 96
"""Maximum length of a stretch; zstd packs longer stretches better, but slower."""
_WORTH_A_LINK: Final = 0.8
"""Maximum size of a delta as a part of the keyframe; above it a link costs readers more than it saves."""
_LINK_BYTES: Final = 4  # cost of a link, which a stretch in a file of a few bytes does not save
_MOST_GAIN: Final = 16  # factor by which a keyframe is hardly ever smaller than its bytes
_FEW_BYTES: Final = (
    1 << 16
)  # keyframes up to this size are packed in the loop; `_DELTA_LEVEL` takes up to 0.3 ms longer


class Frame(msgspec.Struct, frozen=True):
    """Keyframe compressed outside of any transaction, the slow part of a first capture."""

    blob: BlobId
    size: int
    kind: int
    body: bytes


def require_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise ValueError(f"{len(data)} bytes are more than a blob may have ({MAX_BYTES})")


def compress(data: bytes) -> Frame:
    """Return `data` as a keyframe. Pure, for worker threads. Raises `ValueError` above `MAX_BYTES`."""
    require_size(data)
    return Frame(blob_id(data), len(data), *_packed_or_plain(data, _LEVEL))


def packed(data: bytes) -> bytes:
    """Return `data` compressed, for other places than the journal. Raises `ValueError` above `MAX_BYTES`."""
    require_size(data)
    return zstd.compress(data, level=_QUICK_LEVEL)


def unpacked(frame: bytes) -> bytes:
    """Return what `packed` compressed. Raises `ValueError` for other bytes."""
    try:
        size = zstd.get_frame_info(frame).decompressed_size or 0
        return _unpack(BlobRow(base=0, links=0, size=min(size, MAX_BYTES), kind=PACKED, frame=frame), b"")
    except zstd.ZstdError as error:
        raise ValueError(f"these bytes are no zstd frame ({error})") from error


class Whole:
    """Kind and frame of a keyframe, computed at the first call, as most versions never need it."""

    __slots__ = ("_data", "_made")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._made: tuple[int, bytes] | None = None

    def __call__(self) -> tuple[int, bytes]:
        if self._made is None:
            self._made = whole(self._data)
        return self._made


def whole(data: bytes) -> tuple[int, bytes]:
    return _packed_or_plain(data, _DELTA_LEVEL if len(data) <= _FEW_BYTES else _LEVEL)


def delta(data: bytes, base: bytes, whole: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes] | None:
    """Return kind and frame of `data` against `base`; None if the keyframe from `whole` is better."""
    if len(base) < _MIN_PREFIX_BYTES:
        return None
    stretch = _stretch(data, base)
    if stretch is not None:
        return (STRETCH, stretch) if len(stretch) + _LINK_BYTES <= _WORTH_A_LINK * len(data) else None
    packed = _pack(data, base, _DELTA_LEVEL)
    return (DELTA, packed) if is_part(packed, _WORTH_A_LINK, data, whole) else None


def is_part(packed: bytes, part: float, data: bytes, whole: Callable[[], tuple[int, bytes]]) -> bool:
    """True if the frame `packed` takes at most this part of what a keyframe of `data` takes. Calls the slow `whole`
    only in doubt.
    """
    return len(packed) * _MOST_GAIN <= part * len(data) or len(packed) <= part * len(whole()[1])


def _packed_or_plain(data: bytes, level: int) -> tuple[int, bytes]:
    packed = _pack(data, b"", level)
    return (PACKED, packed) if len(packed) < len(data) else (PLAIN, data)


def _stretch(data: bytes, base: bytes) -> bytes | None:
    head = same_start(base, data)
    tail = same_end(base, data, head)
    between = len(data) - tail - head
    if between > _STRETCH_BYTES or between * 2 > len(data):
        return None
    frame = bytearray()
    write_number(frame, head)
    return bytes(frame) + data[head : len(data) - tail]


def _window_log(size: int) -> int:
    least, most = _window_bounds()
    return max(least, min(most, size.bit_length()))


@functools.cache
def _window_bounds() -> tuple[int, int]:
    return zstd.CompressionParameter.window_log.bounds()


def _pack(data: bytes, prefix: bytes, level: int) -> bytes:
    far = len(data) + len(prefix) >= _FAR_BYTES
    window = _window_log(len(data) + len(prefix))
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL if far else level,
        zstd.CompressionParameter.checksum_flag: 1,
        # Without both options a prefix of megabytes is out of reach, and a delta is as long as the file. Below
        # `_FAR_BYTES` the second finds nothing more and costs a third of the time.
        zstd.CompressionParameter.window_log: window,
        zstd.CompressionParameter.enable_long_distance_matching: int(far),
    }
    if not prefix:
        return zstd.compress(data, options=options)
    return zstd.compress(data, options=options, zstd_dict=zstd.ZstdDict(prefix, is_raw=True).as_prefix)


def unframe(number: int, stored: BlobRow, base: bytes) -> bytes:
    """Return the bytes of blob `number`, unpacked from its row and the bytes of its base. Raises `JournalDamaged`, also
    for another size than the row declares.
    """
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
