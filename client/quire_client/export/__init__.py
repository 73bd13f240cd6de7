"""Export: writes a tree to a folder, events to a Parquet table, and a commit's authorship as a note or statement."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.export.commit_notes import *
    from quire_client.export.parquet import *
    from quire_client.export.tree import *
else:
    __getattr__ = face(
        __name__,
        commit_notes="CommitAuthor agent_trace_record git_ai_note in_toto_statement",
        parquet="Table",
        tree="DiskRefuses ExportStop KeptFiles RESERVED Tree Unwritable bytes_of export fetch",
    )
