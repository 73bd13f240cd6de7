"""Leaves of the Merkle tree over a log. The entry of a record is its sha256, so a proof shows no other record, and a
purge changes no leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from quire_journal.model import RecordLost, decode_record, record_hash
from quire_journal.storage import ReadTransaction, u64
from quire_journal.transparency.merkle import leaf_hash
from quire_journal.views import lost_bytes

_HASH_BYTES = 32


def leaves(
    r: ReadTransaction, first: int, most: int | None = None, replaced: Mapping[int, bytes] | None = None
) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (seq, leaf hash, known) of the records from `first` on. `known` is False for a record lost to damage, whose
    leaf is that of its stand-in. `replaced` has the original hashes of replaced records; None: those in the view.
    """
    by_view = replaced is None and not r.empty("replaced")
    salvaged = not r.empty("salvages")
    for key, stored in islice(r.scan("records", u64(first)), most):
        seq = int.from_bytes(key, "big")
        hash, known = record_hash(stored), True
        if salvaged:
            known = not _is_lost(stored)
        was = lost_bytes.hash_of_replaced(r, seq) if by_view else replaced.get(seq) if replaced else None
        if was is not None:
            hash, known = (was, True) if len(was) == _HASH_BYTES else (hash, False)
        yield seq, leaf_hash(hash), known


def _is_lost(stored: bytes) -> bool:
    try:
        return decode_record(stored).kind == RecordLost.kind
    except msgspec.MsgspecError:
        return True
