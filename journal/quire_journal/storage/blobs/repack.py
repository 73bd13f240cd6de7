"""Repacking: before a journal is compacted, frames are made again, with more time than an edit has.

An edit waits until its version is packed, which takes a third of a millisecond; here nobody waits, and each blob can
take some. What a frame is made of stays as it is: neither do chains grow, nor does it matter to who drops or purges
bytes, and a reader finds the same kinds of frames. It goes on from where the last one ended (`meta` says so), so that
a blob is tried once in its life.

    1. `next`   on a worker thread: what some blobs become
    2. `write`  in the loop, in a transaction: that takes the place of what stands there, if that still does

It can end after any of these, and a crash costs no more than what was not written yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from quire_journal.model import JournalDamaged
from quire_journal.storage import Store, WriteTransaction, last_number, u64
from quire_journal.storage.blobs import blobs, codec, overflow
from quire_journal.storage.blobs.blobs import BlobCache
from quire_journal.storage.blobs.codec import MADE_OF_BASE

KEY: Final = b"repacked"
"""In `meta`: the number of the last blob that was tried."""

AT_ONCE: Final = 64
"""Blobs that are tried before what they became is written."""

AT_ONCE_BYTES: Final = 2 << 20
"""Bytes of blobs and bases, about half a second's work: no snapshot of the journal is held for long."""

NEAR_BYTES: Final = 16 << 20
"""Bytes kept at hand: the next blob is most likely made from one of the last."""


class Tighter(msgspec.Struct, frozen=True):
    """What a blob becomes."""

    number: int
    was: bytes  # its row
    row: bytes
    parts: list[tuple[bytes, bytes]]  # rows in `overflow`
    saved: int  # bytes of the frame


class RepackTrial(msgspec.Struct, frozen=True):
    """What came out of a few blobs."""

    upto: int
    made: list[Tighter]


class RepackRun:
    """One pass over the blobs that were stored since the last one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._near = BlobCache(NEAR_BYTES)
        self.blobs = 0
        """How many became shorter."""
        self.saved_bytes = 0
        with store.reading() as r:
            self._at = int.from_bytes(r.get("meta", KEY) or b"", "big")
            self._last = last_number(r, "blobs")

    def next(self, pause: Callable[[], None] = lambda: None) -> RepackTrial | None:
        """Try the next few; None when all were. `pause` is called before each of them, and may end it by raising."""
        if self._at >= self._last:
            return None
        upto, made, size = self._last, list[Tighter](), 0
        with self._store.reading() as r:
            rows = r.scan("blobs", u64(self._at + 1), u64(self._last + 1))
            for tried, (key, was) in enumerate(rows):
                if tried == AT_ONCE or size >= AT_ONCE_BYTES:
                    upto = int.from_bytes(key, "big") - 1
                    break
                pause()
                number = int.from_bytes(key, "big")
                try:
                    stored = blobs.stored_at(r, number)
                    data = blobs.unpack(r, number, self._near)
                    base = blobs.unpack(r, stored.base, self._near) if stored.kind in MADE_OF_BASE else b""
                except JournalDamaged:
                    continue  # that is for `verify` to tell
                size += len(data) + len(base)
                better = codec.tighter(number, stored, data, base)
                if better is not None:
                    saved = len(stored.frame) - len(better.frame)
                    made.append(Tighter(number, was, *blobs.rows_of(number, better), saved))
        self._at = upto
        return RepackTrial(upto, made)

    def write(self, w: WriteTransaction, tried: RepackTrial) -> None:
        """Put what they became in the place of what they were."""
        for one in tried.made:
            key = u64(one.number)
            if w.get("blobs", key) != one.was:
                continue  # it was dropped or purged meanwhile
            overflow.forget(w, one.number)
            w.put("blobs", key, one.row)
            w.put_all("pieces", one.parts)
            self.blobs += 1
            self.saved_bytes += one.saved
        w.put("meta", KEY, u64(tried.upto))
