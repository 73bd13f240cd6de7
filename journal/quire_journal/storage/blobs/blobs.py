"""Blobs: bytes by their sha256, each stored once, mostly as a delta against an earlier version of the path.

A blob has a number (its key in the table) and an address (its sha256). Its *frame* (`codec`) holds the bytes (then it
is a keyframe), or their delta against a *base* blob. Bases follow skip-deltas: a version is a delta against the version
before (short link); after 31 short links, against the version before them (long link), if similar. A thousand similar
versions have at most 62 links to a keyframe, and no chain exceeds `MAX_CHAIN`. Reads verify the sha256.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from quire_journal.model import BlobId, JournalDamaged, blob_id
from quire_journal.storage import ReadTransaction, Recent, WriteTransaction, last_number, u64
from quire_journal.storage.blobs import codec, index as blob_index, overflow, row as blob_row
from quire_journal.storage.blobs.codec import MADE_OF_BASE, Frame
from quire_journal.storage.blobs.row import RUN, BlobRow

MAX_CHAIN: Final = 80
"""Maximum number of links from a blob to its keyframe; each takes a reader 0.01 to 0.02 ms."""


_WORTH_A_LONG_LINK: Final = 0.35
"""Maximum size of a long link's frame as a part of the keyframe's; above it the link is short."""

KIN_LINKS: Final = 2
"""Maximum number of links from the base of a path's first version to its keyframe."""

KIN_BYTES: Final = 1 << 17
"""Maximum size of a path's first version, and of its base, for which a delta is tried."""

_NEWEST: Final = b"newest_blob"
"""Key in `meta` of the highest dropped number, as numbers are never reused."""


class NotHeld(KeyError):
    """The journal does not hold these bytes: never captured, dropped or purged."""

    def __init__(self, blob: bytes) -> None:
        super().__init__(blob)
        self.blob = blob

    def __str__(self) -> str:
        return f"the journal does not hold the bytes with sha256 {self.blob.hex()}"


class HashedBytes(msgspec.Struct, frozen=True):
    """Bytes with their address, so that the hash is computed once."""

    data: bytes
    blob: BlobId


class BlobCache(Recent[bytes]):
    """LRU cache of blob bytes, at most `limit_bytes`; larger blobs than a quarter of that are not cached. `entry_bytes`
    are counted for each blob besides its bytes.
    """

    def __init__(self, limit_bytes: int, entry_bytes: int = 0) -> None:
        super().__init__(limit_bytes, lambda data: len(data) + entry_bytes, limit_bytes // 4)


def put(
    w: WriteTransaction,
    data: bytes,
    cache: BlobCache | None = None,
    blob: BlobId | None = None,
    before: Callable[[], bytes] = bytes,
    like: Callable[[], Iterable[bytes]] = tuple,
    bytes_of: Callable[[ReadTransaction, bytes], bytes] | None = None,
) -> BlobId:
    """Store `data` unless held, and return its address.

    The base is the blob that `before` returns, else the first from `like` for which a delta is worthwhile; a damaged
    base is not used. `blob` is the address if known; `bytes_of` returns the bytes of a base. Raises `ValueError` above
    `MAX_BYTES`, and `StoreFailure`.
    """
    codec.require_size(data)
    blob = blob or blob_id(data)
    if blob_index.find(w, blob) is None:
        whole = codec.Whole(data)
        base_of = bytes_of or functools.partial(get, cache=cache)
        last = before()
        stored = _after(w, data, last, base_of, whole) if last else _like(w, data, like, base_of, whole)
        if stored is None:
            kind, frame = whole()
            stored = BlobRow(0, 0, len(data), kind, frame)
        _add(w, _next_number(w), blob, stored)
    if cache is not None:
        cache.keep(blob, data)
    return blob


def put_prepared(w: WriteTransaction, frames: Iterable[Frame]) -> None:
    """Store frames from `compress` unchanged. For paths with earlier versions, `put` takes less space."""
    first = _next_number(w)
    new: dict[bytes, Frame] = {}
    for frame in frames:
        if frame.blob not in new and not holds(w, frame.blob):
            new[frame.blob] = frame
    stored = (BlobRow(0, 0, frame.size, frame.kind, frame.body) for frame in new.values())
    rows = [rows_of(number, one) for number, one in enumerate(stored, first)]
    w.append_all("blobs", [(u64(number), row) for number, (row, _) in enumerate(rows, first)])
    w.append_all("pieces", [part for _, parts in rows for part in parts])
    blob_index.put_all(w, ((blob, number) for number, blob in enumerate(new, first)))


def get(r: ReadTransaction, blob: bytes, cache: BlobCache | None = None, bases: BlobCache | None = None) -> bytes:
    """Return the bytes of `blob`. `bases` is the cache of `unpack`.

    Raises `NotHeld`, or `JournalDamaged` for bytes with another hash.
    """
    if cache is not None and (cached := cache.find(blob)) is not None:
        return cached
    at = number_of(r, blob)
    data = unpack(r, at, bases)
    if hashlib.sha256(data).digest() != blob:
        raise JournalDamaged(f"blob {at} does not have the bytes with sha256 {blob.hex()} any more; run `quire verify`")
    if cache is not None:
        cache.keep(blob, data)
    return data


def number_of(r: ReadTransaction, blob: bytes) -> int:
    """Return the number of a blob. Raises `NotHeld`, `JournalDamaged`."""
    found = blob_index.find(r, blob)
    if found is None:
        raise NotHeld(blob)
    return found


def holds(r: ReadTransaction, blob: bytes) -> bool:
    return blob_index.find(r, blob) is not None


def unpack(r: ReadTransaction, number: int, cache: BlobCache | None = None) -> bytes:
    """Return the unverified bytes of blob `number`. `cache` holds bases by number, unlike that of `get`. Raises
    `JournalDamaged`.
    """
    links: list[tuple[int, BlobRow]] = []
    at, data = number, None
    while data is None:
        stored = stored_at(r, at)
        links.append((at, stored))
        if stored.kind not in MADE_OF_BASE:
            break
        if not stored.base:
            raise JournalDamaged(f"blob {at} names no blob as its base; run `quire verify`")
        at = stored.base
        data = cache.find(u64(at)) if cache is not None else None
    data = data or b""
    for at, stored in reversed(links):
        data = codec.unframe(at, stored, data)
        if cache is not None:
            cache.keep(u64(at), data)
    return data


def drop(w: WriteTransaction, blob: bytes) -> int:
    """Remove `blob` and return its size in the tables, 0 if not held. No remaining blob may be based on it."""
    found = blob_index.find(w, blob)
    if found is None:
        return 0
    number = u64(found)
    if last_number(w, "blobs") == found:
        w.put("meta", _NEWEST, max(number, w.get("meta", _NEWEST) or b""))  # numbers are never reused
    size = len(w.get("blobs", number) or b"") + overflow.forget(w, found)
    blob_index.forget(w, blob)
    w.delete("blobs", number)
    return size


def stored_at(r: ReadTransaction, number: int) -> BlobRow:
    """Return the row of blob `number` with its whole frame. Raises `JournalDamaged`, also if missing."""
    stored = _row(r, number)
    if not stored.rest:
        return stored
    if stored.pack:
        frame = r.packed(stored.pack, stored.at, stored.rest)
        return msgspec.structs.replace(stored, frame=frame, rest=0, pack=b"", at=0)
    return msgspec.structs.replace(stored, frame=overflow.joined(r, number, stored.rest), rest=0)


def _row(r: ReadTransaction, number: int) -> BlobRow:
    row = r.get("blobs", u64(number))
    if row is None:
        raise JournalDamaged(f"blob {number}, which others may be made from, is gone; run `quire verify`")
    return read_row(number, row)


def read_row(number: int, row: bytes) -> BlobRow:
    """Decode the row of blob `number`, without overflow pieces. Raises `JournalDamaged`."""
    try:
        stored = blob_row.read(number, row)
    except ValueError as error:
        raise JournalDamaged(f"blob {number} is not a blob ({error}); run `quire verify`") from error
    if not 0 <= stored.base < number:
        raise JournalDamaged(f"blob {number} names blob {stored.base} as its base; run `quire verify`")
    return stored


def base_of(r: ReadTransaction, number: int) -> int:
    """Return the number of the blob's base; 0: none. Raises `JournalDamaged`, also if the blob is missing."""
    return _row(r, number).base


def rows_of(number: int, stored: BlobRow) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Return the row of blob `number` for table `blobs`, and its rows for table `pieces`: the frame, if too long for
    the row.
    """
    frame = stored.frame
    if len(frame) <= overflow.IN_ROW:
        return blob_row.row(number, stored), []
    return blob_row.row(number, msgspec.structs.replace(stored, frame=b"", rest=len(frame))), overflow.cut(
        number, frame
    )


def _next_number(r: ReadTransaction) -> int:
    return max(last_number(r, "blobs"), int.from_bytes(r.get("meta", _NEWEST) or b"", "big")) + 1


def _add(w: WriteTransaction, number: int, blob: bytes, stored: BlobRow) -> None:
    row, parts = rows_of(number, stored)
    w.append("blobs", u64(number), row)
    if parts:
        w.append_all("pieces", parts)
    blob_index.put(w, blob, number)


def _after(
    r: ReadTransaction,
    data: bytes,
    last: bytes,
    bytes_of: Callable[[ReadTransaction, bytes], bytes],
    whole: Callable[[], tuple[int, bytes]],
) -> BlobRow | None:
    number = blob_index.find(r, last)
    if number is None:
        return None
    try:
        row = _row(r, number)
        if row.links >= MAX_CHAIN:
            return None
        if row.run == RUN - 1:
            stored = _long_link(r, number, row, data, whole)
            if stored is not None:
                return stored
        base = bytes_of(r, last)
    except (JournalDamaged, NotHeld):
        return None
    made = codec.delta(data, base, whole)
    return None if made is None else BlobRow(number, row.links + 1, len(data), *made, run=(row.run + 1) % RUN)


def _long_link(
    r: ReadTransaction, number: int, row: BlobRow, data: bytes, whole: Callable[[], tuple[int, bytes]]
) -> BlobRow | None:
    at, first = _back(r, number, row, lambda one: one.run == 0)
    made = codec.delta(data, _checked(r, at), whole)
    if made is None or not codec.is_part(made[1], _WORTH_A_LONG_LINK, data, whole):
        return None
    return BlobRow(at, first.links + 1, len(data), *made)


def _like(
    r: ReadTransaction,
    data: bytes,
    like: Callable[[], Iterable[bytes]],
    bytes_of: Callable[[ReadTransaction, bytes], bytes],
    whole: Callable[[], tuple[int, bytes]],
) -> BlobRow | None:
    for blob in like():
        number = blob_index.find(r, blob)
        if number is None:
            continue
        try:
            row = _row(r, number)
            if max(len(data), row.size) > KIN_BYTES or b"\0" in data:
                continue
            at, row = _back(r, number, row, lambda one: one.links <= KIN_LINKS)
            if row.size > KIN_BYTES:
                continue
            base = bytes_of(r, blob) if at == number else _checked(r, at)
        except (JournalDamaged, NotHeld):
            continue
        made = codec.delta(data, base, whole)
        if made is not None:
            return BlobRow(at, row.links + 1, len(data), *made)
    return None


def _back(r: ReadTransaction, number: int, row: BlobRow, enough: Callable[[BlobRow], bool]) -> tuple[int, BlobRow]:
    while row.base and not enough(row):
        number, row = row.base, _row(r, row.base)
    return number, row


def _checked(r: ReadTransaction, number: int) -> bytes:
    data = unpack(r, number)
    if blob_index.find(r, blob_id(data)) != number:
        raise JournalDamaged(f"blob {number} does not have the bytes that it had; run `quire verify`")
    return data
