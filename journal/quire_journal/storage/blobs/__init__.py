"""Blobs: the bytes of every version, found by hash, compressed, and kept as differences from older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.storage.blobs import (
        codec as codec,
        index as index,
        overflow as overflow,
        row as row,
    )
    from quire_journal.storage.blobs.blobs import (
        BlobCache as BlobCache,
        HashedBytes as HashedBytes,
        NotHeld as NotHeld,
        base_of as base_of,
        drop as drop,
        get as get,
        holds as holds,
        number_of as number_of,
        put as put,
        put_prepared as put_prepared,
        read_row as read_row,
        rows_of as rows_of,
        unpack as unpack,
    )
    from quire_journal.storage.blobs.codec import Frame as Frame
    from quire_journal.storage.blobs.row import BlobRow as BlobRow
else:
    __getattr__ = face(
        __name__,
        blobs=(
            "BlobCache HashedBytes NotHeld base_of drop get holds number_of put put_prepared read_row rows_of unpack"
        ),
        codec="Frame",
        row="BlobRow",
    )
