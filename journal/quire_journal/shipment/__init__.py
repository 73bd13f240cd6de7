"""Shipment: the form in which a journal leaves the machine: sealed segments of records, and encrypted bytes."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.shipment.disclosure import Hidden as Hidden, shipped_blob as shipped_blob
    from quire_journal.shipment.ledger import *
    from quire_journal.shipment.outbox import *
    from quire_journal.shipment.segment import *
else:
    __getattr__ = face(
        __name__,
        disclosure="Hidden shipped_blob",
        ledger=(
            "ContentKeys address beginning fork_at forked keep_keys keep_position keep_receipt lineage origin_of "
            "position receipt"
        ),
        outbox="Rules SealedSegment adopted adopted_after_gap seal",
        segment="BadSegment Position Segment follow position_before read_segment",
    )
