"""Blobs: the bytes of every version, found by hash, compressed, and stored as deltas."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.storage.blobs import codec as codec, index as index, overflow as overflow, row as row
    from quire_journal.storage.blobs.blobs import *
    from quire_journal.storage.blobs.codec import *
    from quire_journal.storage.blobs.row import BlobRow as BlobRow
else:
    __getattr__ = face(
        __name__,
        blobs=(
            "BlobCache HashedBytes NotHeld base_of drop get holds number_of put put_prepared read_row rows_of unpack"
        ),
        codec="Frame packed unpacked",
        row="BlobRow",
    )
