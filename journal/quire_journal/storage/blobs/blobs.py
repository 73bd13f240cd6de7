"""Blobs: bytes by their sha256, each stored once, most of them as a delta against an earlier version of the path.

A blob has a number (its place in the table) and an address (its sha256). What is stored is a *frame* (see `codec`):
the bytes themselves, or what tells them from the bytes of another blob, its *base*. Bases follow skip-deltas: a version
is made from the one that stood at its path before, and after a run of 31 such short links from the one in front of the
run, as long as that is much like it. So of a thousand versions that change little each has at most 62 links to its
keyframe, and none ever has more than `MAX_CHAIN`; nothing but the row of the blob before says where a chain stands. The
first version of a path is made from one that is likely to be like it (`similar`), or is a keyframe.

Nothing that comes out of a frame is trusted, and every blob's sha256 is computed when it is read.
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
"""The most links from a blob to its keyframe; the next one becomes a keyframe. A link takes a reader 0.01 to 0.02
ms."""


_WORTH_A_LONG_LINK: Final = 0.35
"""The part of a keyframe's size up to which a long link is worth it. A long link repeats what its run told: in files
that change a lot, longer ones took up a tenth of all contents. There the next run follows the last one, while links
last."""

KIN_LINKS: Final = 2
"""Most links from what a first version is made from: it and all that follow need them, and more save nothing."""

KIN_BYTES: Final = 1 << 17
"""The most bytes of a first version, and of what it is made from; for larger ones looking takes longer than it is
worth."""

_NEWEST: Final = b"newest_blob"
"""In `meta`: the highest number of a blob that was dropped."""


class NotHeld(KeyError):
    """The journal does not have these bytes: never captured, or dropped."""

    def __init__(self, blob: bytes) -> None:
        super().__init__(blob)
        self.blob = blob

    def __str__(self) -> str:
        return f"the journal does not hold the bytes with sha256 {self.blob.hex()}"


class HashedBytes(msgspec.Struct, frozen=True):
    """Bytes with their address, which took as long to compute as everything else that storing them takes."""

    data: bytes
    blob: BlobId


class BlobCache(Recent[bytes]):
    """Bytes of blobs used last, at most `limit_bytes` of them; none that would take more than a quarter.

    `entry_bytes` are counted for each blob besides its bytes.
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
    """Store `data`, once, and say its address.

    The delta is made against the blob that `before` names, which stood at the path, or where it names none, against the
    first of those that `like` names of which it is worth it. `blob` is the address, where it is known already;
    `bytes_of` gives the bytes of a base, say from what is at hand. Raises `ValueError` over `MAX_BYTES`,
    `log.StoreFailure` as every write does. A base that is damaged is not built upon.
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
    """Store frames from `compress`, as they are. Where their paths have earlier versions, `put` stores less."""
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


def get(r: ReadTransaction, blob: bytes, cache: BlobCache | None = None) -> bytes:
    """The bytes of `blob`. Raises `NotHeld`, or `JournalDamaged` when what is stored does not give these bytes."""
    if cache is not None and (cached := cache.find(blob)) is not None:
        return cached
    at = number_of(r, blob)
    data = unpack(r, at)
    if hashlib.sha256(data).digest() != blob:
        raise JournalDamaged(f"blob {at} does not have the bytes with sha256 {blob.hex()} any more; run `quire verify`")
    if cache is not None:
        cache.keep(blob, data)
    return data


def number_of(r: ReadTransaction, blob: bytes) -> int:
    """The number of `blob`. Raises `NotHeld`."""
    found = blob_index.find(r, blob)
    if found is None:
        raise NotHeld(blob)
    return found


def holds(r: ReadTransaction, blob: bytes) -> bool:
    """Does the journal have these bytes?"""
    return blob_index.find(r, blob) is not None


def unpack(r: ReadTransaction, number: int, cache: BlobCache | None = None) -> bytes:
    """What the frames of blob `number` and of its bases give; whether it is what it must be is for `get` to say.

    `cache` saves unpacking a base again. It holds what this function gave, by number: not the cache of `get`. Raises
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
    """Remove the bytes of `blob`; how many the frame took, 0 when they are not held.

    The caller sees to it that nothing that stays is made from it.
    """
    found = blob_index.find(w, blob)
    if found is None:
        return 0
    number = u64(found)
    if last_number(w, "blobs") == found:
        w.put("meta", _NEWEST, max(number, w.get("meta", _NEWEST) or b""))  # no other blob ever gets this number
    size = len(w.get("blobs", number) or b"") + overflow.forget(w, found)
    blob_index.forget(w, blob)
    w.delete("blobs", number)
    return size


def stored_at(r: ReadTransaction, number: int) -> BlobRow:
    """Blob `number` as it is stored. Raises `JournalDamaged`, also where it is gone."""
    stored = _row(r, number)
    if not stored.rest:
        return stored
    return msgspec.structs.replace(stored, frame=overflow.joined(r, number, stored.rest), rest=0)


def _row(r: ReadTransaction, number: int) -> BlobRow:
    row = r.get("blobs", u64(number))
    if row is None:
        raise JournalDamaged(f"blob {number}, which others may be made from, is gone; run `quire verify`")
    return read_row(number, row)


def read_row(number: int, row: bytes) -> BlobRow:
    """The blob without the part of its frame that stands in pieces. Raises `JournalDamaged`."""
    try:
        stored = blob_row.read(number, row)
    except ValueError as error:
        raise JournalDamaged(f"blob {number} is not a blob ({error}); run `quire verify`") from error
    if not 0 <= stored.base < number:
        raise JournalDamaged(f"blob {number} names blob {stored.base} as its base; run `quire verify`")
    return stored


def base_of(r: ReadTransaction, number: int) -> int:
    """The number of the blob that this one is made from; 0: of none. Raises `JournalDamaged`, also where it is
    gone."""
    return _row(r, number).base


def rows_of(number: int, stored: BlobRow) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The row of blob `number`, and the rows in `overflow` that belong to it."""
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
    """`data` as what comes after `last` at the same path; None where a keyframe, which `whole` makes, is better."""
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
    """`data` as what comes after a whole run of versions; None where the file has become another meanwhile.

    Then another run follows behind the first, for which there are links enough.
    """
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
    """`data` as what tells it from one of those; None where a keyframe, which `whole` makes, is better."""
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
    """The blob that this one is made from over as many links as it takes. Raises `JournalDamaged`."""
    while row.base and not enough(row):
        number, row = row.base, _row(r, row.base)
    return number, row


def _checked(r: ReadTransaction, number: int) -> bytes:
    """The bytes of a blob of which the address is not known. Raises `JournalDamaged` when they lead to another one."""
    data = unpack(r, number)
    if blob_index.find(r, blob_id(data)) != number:
        raise JournalDamaged(f"blob {number} does not have the bytes that it had; run `quire verify`")
    return data
