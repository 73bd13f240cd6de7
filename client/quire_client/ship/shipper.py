"""Copies the segments (signed groups of records) of a journal's outbox to a remote store, one after the other.

An interruption after any step loses nothing and sends nothing twice:

1. read back the last shipped segment: if the store lost a segment, begin again at the first, and put what is missing
2. put the segment's blobs, and read them back
3. put the segment, unless its number exists
4. read back the segment of this number
5. tell the outbox that the store has the bytes sent (`shipped`), or other bytes (`found`)

A lost segment is sealed again, usually with the same bytes. If its bytes differ, because of other settings or a purge,
it does not fit in front of the next segment: the gap stays, and the outbox is told (`passed`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, Protocol

from quire_client.ship.address import FarSide
from quire_client.ship.port import FarSideUnreachable
from quire_client.ship.reader import has_all

LOOK_S: Final = 5.0
"""Seconds between two looks for the last segment while nothing is due."""


WHOLE_S: Final = 3600.0
"""Seconds between two looks for all segments: a store may lose one in the middle."""


class Parcel(NamedTuple):
    """A segment, and the encrypted blobs that must be in the remote store before it."""

    journal: str
    number: int
    data: bytes
    contents: Mapping[str, bytes]
    changed: bool = False  # what was shipped under this number once had other bytes


class Shipment(NamedTuple):
    """The last segment known to be at the remote store; number 0 means none."""

    journal: str
    number: int
    hash: bytes
    gaps: Collection[int] = ()  # segments that are missing before it, and cannot be made again


class Outbox(Protocol):
    """Interface of the outbox: the segments that a journal has yet to ship, as the daemon keeps them."""

    def last(self) -> Shipment:
        """Return the last segment that is known to be at the remote store."""

    def next(self) -> Parcel | None:
        """Return the next segment to ship, or None if nothing is due."""

    def shipped(self, parcel: Parcel) -> None:
        """Record that `parcel` is at the remote store, and was read back unchanged."""

    def found(self, data: bytes) -> None:
        """Report that the remote store already has the bytes `data` under the next segment's number."""

    def passed(self, number: int, data: bytes) -> None:
        """Report that the remote store has no segment under the next segment's number, but `data` under the later
        `number`, which holds the lost segment's hash.
        """

    def restart(self) -> None:
        """Ship again from the first segment on, because the remote store has lost a shipped segment."""


class Shipper:
    def __init__(
        self,
        outbox: Outbox,
        far: FarSide,
        step: Callable[[str], None] = lambda name: None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`step` is called at each point where tests inject a fault; `now_s` returns monotonic seconds."""
        self._outbox, self._far, self._step, self._now_s = outbox, far, step, now_s
        self._looked_s = self._whole_s = float("-inf")
        self._last: Shipment | None = None  # None: the outbox is to be asked

    def ship(self) -> bool:
        """Ship the next segment with its blobs; return False if nothing is due, else True.

        It may be called again after FarSideUnreachable.
        """
        last, self._last = self._last, None  # after trouble the outbox is asked
        last = last or self._outbox.last()
        parcel = self._outbox.next()
        if parcel is None:
            now_s = self._now_s()
            if now_s - self._looked_s >= LOOK_S:
                if not self._stands(last):
                    return True
                self._looked_s = now_s
            self._last = last
            return False
        if not self._stands(last):
            return True
        self._step("sealed")
        if parcel.changed and (later := self._after_gap(parcel)):
            self._outbox.passed(*later)  # nothing fits in front of it
            self._step("told")
            return True
        self._put_contents(parcel.contents)
        self._step("contents_put")
        self._far.segments.put(parcel.journal, parcel.number, parcel.data)
        self._step("segment_put")
        there = self._far.segments.get(parcel.journal, parcel.number)
        self._step("read_back")
        if there is None:
            raise FarSideUnreachable(f"the far side lost segment {parcel.number} right after it took it")
        if there == parcel.data:
            self._outbox.shipped(parcel)
            self._last = Shipment(parcel.journal, parcel.number, hashlib.sha256(there).digest())
        else:
            self._outbox.found(there)
        self._step("told")
        return True

    def _stands(self, last: Shipment) -> bool:
        """Return True if the store has the last shipped segment and all before it; else tell the outbox to begin again
        at the first segment, and return False.
        """
        if last.number and not (self._has(last) and self._has_all_before(last)):
            self._whole_s = self._now_s()  # a gap that another journal fills stays
            self._outbox.restart()
            self._step("restarted")
            return False
        return True

    def _after_gap(self, parcel: Parcel) -> tuple[int, bytes] | None:
        """Return (number, bytes) of the first stored segment after `parcel`'s number; None if the store has a segment
        of that number, or none after it.
        """
        if self._far.segments.get(parcel.journal, parcel.number) is not None:
            return None
        number = next(self._far.segments.numbers(parcel.journal, parcel.number), 0)
        data = self._far.segments.get(parcel.journal, number) if number else None
        return (number, data) if data is not None else None

    def _has(self, last: Shipment) -> bool:
        there = self._far.segments.get(last.journal, last.number)
        return there is not None and hashlib.sha256(there).digest() == last.hash

    def _has_all_before(self, last: Shipment) -> bool:
        now_s = self._now_s()
        if now_s - self._whole_s < WHOLE_S:
            return True
        self._whole_s = now_s
        return has_all(self._far, last.journal, last.number, last.gaps)

    def _put_contents(self, contents: Mapping[str, bytes]) -> None:
        there = self._far.blobs.put_all(contents)
        if wrong := [name for name, content in contents.items() if there[name] != content]:
            raise FarSideUnreachable(f"the far side has other bytes under {wrong[0]}")
