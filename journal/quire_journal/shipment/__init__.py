"""Shipment: what leaves the machine of a journal: sealed segments of its records, and encrypted bytes."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.shipment.segment import *
else:
    __getattr__ = face(
        __name__,
        segment="BadSegment Position Segment follow read_segment",
    )
