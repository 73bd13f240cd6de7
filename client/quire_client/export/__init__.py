"""Export: a tree written to a folder, and events as a Parquet table."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.export.parquet import *
    from quire_client.export.tree import *
else:
    __getattr__ = face(
        __name__,
        parquet="Table",
        tree="DiskRefuses ExportStop RESERVED Tree Unwritable bytes_of export fetch",
    )
