"""Export: the history in the formats of other tools, and its import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.export.formats import FORMATS as FORMATS
    from quire_journal.export.git_patch import quoted as quoted
    from quire_journal.export.importer import (
        ImportResult as ImportResult,
        NotAnExport as NotAnExport,
        import_lines as import_lines,
    )
    from quire_journal.export.jsonl_schema import EventLine as EventLine, decode_line as decode_line, schema as schema
    from quire_journal.export.source import Source as Source, Stretch as Stretch
    from quire_journal.export.steps import BY as BY
else:
    __getattr__ = face(
        __name__,
        formats="FORMATS",
        git_patch="quoted",
        importer="ImportResult NotAnExport import_lines",
        jsonl_schema="EventLine decode_line schema",
        source="Source Stretch",
        steps="BY",
    )
