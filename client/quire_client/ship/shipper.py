"""The shipper: carries what the outbox of a journal holds to the far side, one segment after the other.

Steps of a segment; a kill after any of them loses nothing, and sends nothing twice:

1. its contents are put, and read back
2. the segment is put, unless there is one of this number
3. what is there under the number is read back
4. the outbox is told: it is ours as sent, or the outbox judges it (`found`)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from quire_client.ship.address import FarSide
from quire_client.ship.port import FarSideUnreachable


class Parcel(NamedTuple):
    """A sealed segment, and the encrypted contents that are to be there before it."""

    journal: str
    number: int
    data: bytes
    contents: Mapping[str, bytes]


class Shipment(NamedTuple):
    """The last segment that the outbox knows to be at the far side; number 0: none."""

    journal: str
    number: int
    hash: bytes


class Outbox(Protocol):
    """What a journal has to ship. The daemon keeps it."""

    def last(self) -> Shipment:
        """The last segment that was shipped."""

    def next(self) -> Parcel | None:
        """What comes after it; None if nothing is due."""

    def shipped(self, parcel: Parcel) -> None:
        """The parcel is at the far side, and was read back."""

    def found(self, data: bytes) -> None:
        """This segment is there under the number of the next one."""

    def restart(self) -> None:
        """The last segment is not there any more: begin at the first one."""


class Shipper:
    def __init__(self, outbox: Outbox, far: FarSide, step: Callable[[str], None] = lambda name: None) -> None:
        """`step` is called at each fault point."""
        self._outbox, self._far, self._step = outbox, far, step
        self._looked = False

    def ship(self) -> bool:
        """Ship one segment; False if nothing is due. After `FarSideUnreachable` it may be called again."""
        looked, self._looked = self._looked, False
        if not looked:
            self._look()
        parcel = self._outbox.next()
        if parcel is None:
            self._looked = True
            return False
        self._step("sealed")
        for name, content in parcel.contents.items():
            self._put_content(name, content)
        self._step("contents_put")
        self._far.segments.put(parcel.journal, parcel.number, parcel.data)
        self._step("segment_put")
        there = self._far.segments.get(parcel.journal, parcel.number)
        self._step("read_back")
        if there is None:
            raise FarSideUnreachable(f"the far side lost segment {parcel.number} right after it took it")
        if there == parcel.data:
            self._outbox.shipped(parcel)
        else:
            self._outbox.found(there)
        self._step("told")
        self._looked = True
        return True

    def _look(self) -> None:
        last = self._outbox.last()
        if last.number:
            there = self._far.segments.get(last.journal, last.number)
            if there is None or hashlib.sha256(there).digest() != last.hash:
                self._outbox.restart()
                self._step("restarted")

    def _put_content(self, name: str, content: bytes) -> None:
        self._far.blobs.put(name, content)
        if self._far.blobs.get(name) != content:
            raise FarSideUnreachable(f"the far side has other bytes under {name}")
