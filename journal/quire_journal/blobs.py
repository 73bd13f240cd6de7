"""Blobs: bytes by their sha256, each stored once, most of them as a delta against an earlier version of the path.

A blob has a number (its place in the table) and an address (its sha256). What is stored is a *frame* (see `frames`):
the bytes themselves, or what tells them from the bytes of another blob, its *base*. Bases follow skip-deltas: of the
blobs of one path, counted from its last keyframe, blob i is made against i - 1, and when 32 divides i against
i - 32^k with the largest 32^k that divides i. So a chain has at most 31 links for each digit of i to that base,
and every blob is the base of few others.

Nothing that comes out of a frame is trusted, and every blob's sha256 is computed when it is read.
"""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from quire_journal import addresses, frames, pieces
from quire_journal.frames import MADE_OF_BASE, Frame, Stored
from quire_journal.ids import BlobId, blob_id
from quire_journal.log import Damaged, Reading, Writing, u64

MAX_CHAIN: Final = 64
"""Most links from a blob to its keyframe; a further one becomes a keyframe."""

RADIX: Final = 32
"""Of the skip-deltas."""

_NEWEST: Final = b"newest_blob"
"""In `meta`: the highest number that a blob had which is dropped."""


class NotHeld(KeyError):
    """The journal does not have these bytes: never captured, or dropped."""

    def __init__(self, blob: bytes) -> None:
        super().__init__(blob)
        self.blob = blob

    def __str__(self) -> str:
        return f"the journal does not hold the bytes with sha256 {self.blob.hex()}"


class Chain(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where the deltas of a path stand. `levels[k]` is the newest blob whose place 32^k divides, where not `first`."""

    count: int  # blobs since the keyframe, which has place 0
    first: tuple[int, bytes]  # number and address of that keyframe
    levels: tuple[tuple[int, bytes], ...]

    @classmethod
    def starting(cls, number: int, blob: bytes) -> Chain:
        return cls(1, (number, blob), ())

    @property
    def base(self) -> tuple[int, bytes]:
        """Number and address of the blob that the next one should be made against."""
        level = _level(self.count)
        return self.levels[level] if level < len(self.levels) else self.first

    def longer(self, number: int, blob: bytes) -> Chain:
        """The chain with one more blob."""
        levels = list(self.levels)
        top = _level(self.count)
        levels += [self.first] * (top + 1 - len(levels))
        for level in range(top + 1):
            levels[level] = (number, blob)
        return Chain(self.count + 1, self.first, tuple(levels))


def _level(place: int) -> int:
    """The largest k such that 32^k divides `place`, which is not 0."""
    level = 0
    while place % RADIX == 0:
        place //= RADIX
        level += 1
    return level


class Addressed(msgspec.Struct, frozen=True):
    """Bytes, and their address, which took as long to compute as everything else that is done to store them."""

    data: bytes
    blob: BlobId


class BlobCache:
    """Bytes of blobs used last, at most `limit_bytes` of them. Addressed by content, so that it is never wrong.

    For one thread.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._held: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes held now."""
        return self._bytes

    def find(self, blob: bytes) -> bytes | None:
        """The bytes, if they are here."""
        data = self._held.get(blob)
        if data is not None:
            self._held.move_to_end(blob)
        return data

    def forget(self, blob: bytes) -> None:
        """Hold these bytes no longer."""
        self._bytes -= len(self._held.pop(blob, b""))

    def keep(self, blob: bytes, data: bytes) -> None:
        """Hold `data`, unless it would take more than a quarter of the limit; the longest unused go."""
        if blob in self._held or len(data) * 4 > self._limit:
            return
        self._held[blob] = data
        self._bytes += len(data)
        while self._bytes > self._limit:
            self._bytes -= len(self._held.popitem(last=False)[1])


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_stored: Final = msgspec.msgpack.Decoder(Stored).decode
_decode_chain: Final = msgspec.msgpack.Decoder(Chain).decode


def put(
    w: Writing,
    data: bytes,
    path: str | None = None,
    cache: BlobCache | None = None,
    blob: BlobId | None = None,
    before: Callable[[], bytes] = bytes,
    bytes_of: Callable[[Reading, bytes], bytes] | None = None,
) -> BlobId:
    """Store `data`, once, and say its address.

    `path` is the path that it is a version of: the delta is made against an earlier one of the same path, or where none
    was stored under it (frames made ready, a path that was moved), against the blob that `before` names, if any. `blob`
    is the address, where it is known already; `bytes_of` gives the bytes of a base, say from what is at hand. Raises
    `ValueError` over `MAX_BYTES`, `log.StoreFailed` as every write does. A base that is damaged is not built upon.
    """
    frames.require_size(data)
    blob = blob or blob_id(data)
    chain = _chain(w, path)
    if chain is None and path is not None:
        chain = _starting(w, before())
    if not _join(w, blob, path, chain):
        whole = frames.Whole(data)
        base_of = bytes_of or functools.partial(get, cache=cache)
        stored = _delta(w, data, chain, base_of, whole) if chain is not None else None
        if stored is None:
            kind, frame = whole()
            stored = Stored(0, 0, len(data), kind, frame)
        _add(w, _next_number(w), blob, stored, path, chain)
    if cache is not None:
        cache.keep(blob, data)
    return blob


def put_prepared(w: Writing, frames: Iterable[Frame]) -> None:
    """Store frames from `compress`, as they are. Where their paths have earlier versions, `put` stores less.

    No chain begins: most files never get a second version, and the one who has one says what stood `before`.
    """
    first = _next_number(w)
    new: dict[bytes, Frame] = {}
    for frame in frames:
        if frame.blob not in new and not holds(w, frame.blob):
            new[frame.blob] = frame
    stored = (Stored(0, 0, frame.size, frame.kind, frame.body) for frame in new.values())
    rows = [rows_of(number, one) for number, one in enumerate(stored, first)]
    w.append_all("blobs", [(u64(number), row) for number, (row, _) in enumerate(rows, first)])
    w.append_all("pieces", [part for _, parts in rows for part in parts])
    w.put_all("addresses", sorted(addresses.row(blob, number) for number, blob in enumerate(new, first)))


def get(r: Reading, blob: bytes, cache: BlobCache | None = None) -> bytes:
    """The bytes of `blob`. Raises `NotHeld`, or `log.Damaged` when what is stored does not give these bytes."""
    if cache is not None and (cached := cache.find(blob)) is not None:
        return cached
    at = number_of(r, blob)
    data = unpack(r, at)
    if hashlib.sha256(data).digest() != blob:
        raise Damaged(f"blob {at} does not have the bytes with sha256 {blob.hex()} any more; run `quire verify`")
    if cache is not None:
        cache.keep(blob, data)
    return data


def number_of(r: Reading, blob: bytes) -> int:
    """The number of `blob`. Raises `NotHeld`."""
    found = addresses.find(r, blob)
    if found is None:
        raise NotHeld(blob)
    return found


def holds(r: Reading, blob: bytes) -> bool:
    """Does the journal have these bytes?"""
    return addresses.find(r, blob) is not None


def unpack(r: Reading, number: int, cache: BlobCache | None = None) -> bytes:
    """What the frames of blob `number` and of its bases give; whether it is what it must be is for `get` to say.

    `cache` saves unpacking a base again. It holds what this function gave, by number: not the cache of `get`.
    Raises `log.Damaged`.
    """
    links: list[tuple[int, Stored]] = []
    at, data = number, None
    while data is None:
        stored = _stored(r, at)
        if stored is None:
            raise Damaged(f"blob {at}, which blob {number} is made from, is gone; run `quire verify`")
        links.append((at, stored))
        if stored.kind not in MADE_OF_BASE:
            break
        if not 0 < stored.base < at:
            raise Damaged(f"blob {at} names blob {stored.base} as its base; run `quire verify`")
        at = stored.base
        data = cache.find(u64(at)) if cache is not None else None
    data = data or b""
    for at, stored in reversed(links):
        data = frames.unframe(at, stored, data)
        if cache is not None:
            cache.keep(u64(at), data)
    return data


def drop(w: Writing, blob: bytes) -> int:
    """Remove the bytes of `blob`; how many the frame took, 0 when they are not held.

    The caller sees to it that nothing that stays is made from it, and calls `forget_chains`.
    """
    found = addresses.find(w, blob)
    if found is None:
        return 0
    number = u64(found)
    newest = next(w.scan("blobs", reverse=True), None)
    if newest is not None and newest[0] == number:
        w.put("meta", _NEWEST, max(number, w.get("meta", _NEWEST) or b""))  # no other blob ever gets this number
    size = len(w.get("blobs", number) or b"") + pieces.forget(w, found)
    addresses.forget(w, blob)
    w.delete("blobs", number)
    return size


def forget_chains(w: Writing, paths: Iterable[str]) -> None:
    """After a drop: a chain that leads to something that is not there ends, and the next blob begins another.

    `paths` are those that may have such a chain; with none, every chain is looked at.
    """
    keys = [_chain_key(path) for path in paths] or [key for key, _ in w.scan("chains")]
    for key in keys:
        found = w.get("chains", key)
        chain = None if found is None else _decode_chain(found)
        if chain is not None and any(addresses.find(w, blob) != n for n, blob in (chain.first, *chain.levels)):
            w.delete("chains", key)


def stored_at(r: Reading, number: int) -> Stored:
    """Blob `number` as it is stored. Raises `NotHeld` or `log.Damaged`."""
    stored = _stored(r, number)
    if stored is None:
        raise NotHeld(u64(number))
    return stored


def _stored(r: Reading, number: int) -> Stored | None:
    found = r.get("blobs", u64(number))
    if found is None:
        return None
    try:
        stored = _decode_stored(found)
    except msgspec.MsgspecError as error:
        raise Damaged(f"blob {number} is not a blob ({error}); run `quire verify`") from error
    if not stored.rest:
        return stored
    return msgspec.structs.replace(stored, frame=stored.frame + pieces.joined(r, number, stored.rest), rest=0)


def rows_of(number: int, stored: Stored) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The row of blob `number`, and the rows in `pieces` that belong to it."""
    base, links, size, kind, frame = stored.base, stored.links, stored.size, stored.kind, stored.frame
    if len(frame) <= pieces.IN_ROW:
        return _encode((base, links, size, kind, frame)), []
    return _encode(Stored(base, links, size, kind, b"", len(frame))), pieces.cut(number, frame)


@functools.lru_cache(maxsize=16)  # asked for and written, one after the other
def _chain_key(path: str) -> bytes:
    # Not the path's number: chains outlive the views, and the first blob of a path comes before its number.
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).digest()[:16]


def _chain(r: Reading, path: str | None) -> Chain | None:
    found = None if path is None else r.get("chains", _chain_key(path))
    if found is None:
        return None
    try:
        return _decode_chain(found)
    except msgspec.MsgspecError:
        return None  # it only ever saves space: the next blob begins another


def _starting(r: Reading, blob: bytes) -> Chain | None:
    """A chain that begins with this blob, if it is held."""
    number = addresses.find(r, blob)
    return None if number is None else Chain.starting(number, blob)


def _join(w: Writing, blob: bytes, path: str | None, chain: Chain | None) -> bool:
    """Is `blob` stored already? A path without versions then begins its chain with it, as after a rename."""
    number = addresses.find(w, blob)
    if number is None:
        return False
    if path is not None and chain is None:
        w.put("chains", _chain_key(path), _encode(Chain.starting(number, blob)))
    return True


def _next_number(r: Reading) -> int:
    last = next(r.scan("blobs", reverse=True), (b"", b""))[0]
    return int.from_bytes(max(last, r.get("meta", _NEWEST) or b""), "big") + 1


def _add(w: Writing, number: int, blob: bytes, stored: Stored, path: str | None, chain: Chain | None) -> None:
    """Store the blob under the next number, and give the path its place in the chain: a keyframe begins another."""
    row, parts = rows_of(number, stored)
    w.append("blobs", u64(number), row)
    if parts:
        w.append_all("pieces", parts)
    addresses.put(w, blob, number)
    if path is not None:
        grown = chain.longer(number, blob) if chain is not None and stored.base else Chain.starting(number, blob)
        w.put("chains", _chain_key(path), _encode(grown))


def _delta(
    r: Reading,
    data: bytes,
    chain: Chain,
    bytes_of: Callable[[Reading, bytes], bytes],
    whole: Callable[[], tuple[int, bytes]],
) -> Stored | None:
    """`data` against its base in `chain`; None where a keyframe, which `whole` makes, is better."""
    number, blob = chain.base
    try:
        base_stored = _stored(r, number)
        if base_stored is None or base_stored.links >= MAX_CHAIN:
            return None
        base = bytes_of(r, blob)
    except (Damaged, NotHeld):
        return None
    made = frames.delta(data, base, whole)
    return None if made is None else Stored(number, base_stored.links + 1, len(data), *made)
