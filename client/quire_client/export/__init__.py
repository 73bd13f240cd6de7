"""Export: a tree written to a folder, and events as a Parquet table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.export.parquet import Table as Table
    from quire_client.export.tree import (
        RESERVED as RESERVED,
        DiskRefuses as DiskRefuses,
        ExportStop as ExportStop,
        Tree as Tree,
        Unwritable as Unwritable,
        bytes_of as bytes_of,
        export as export,
        fetch as fetch,
    )
else:
    __getattr__ = face(
        __name__,
        parquet="Table",
        tree="DiskRefuses ExportStop RESERVED Tree Unwritable bytes_of export fetch",
    )
