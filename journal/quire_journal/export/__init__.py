"""Export: the history in the formats of other tools, and its import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.export.formats import FORMATS as FORMATS
    from quire_journal.export.git_patch import (
        CONTEXT as CONTEXT,
        USUAL as USUAL,
        Content as Content,
        DiffHunk as DiffHunk,
        PatchStyle as PatchStyle,
        file_patch as file_patch,
        hunks as hunks,
        is_binary as is_binary,
        is_remade as is_remade,
        split as split,
        text_patch as text_patch,
    )
    from quire_journal.export.importer import (
        ImportResult as ImportResult,
        NotAnExport as NotAnExport,
        import_lines as import_lines,
    )
    from quire_journal.export.jsonl_schema import EventLine as EventLine, decode_line as decode_line, schema as schema
    from quire_journal.export.source import Source as Source, Stretch as Stretch
    from quire_journal.export.steps import BY as BY, git_mode as git_mode
    from quire_journal.export.wording import fits_git as fits_git
else:
    __getattr__ = face(
        __name__,
        formats="FORMATS",
        git_patch=("CONTEXT Content DiffHunk PatchStyle USUAL file_patch hunks is_binary is_remade split text_patch"),
        importer="ImportResult NotAnExport import_lines",
        jsonl_schema="EventLine decode_line schema",
        source="Source Stretch",
        steps="BY git_mode",
        wording="fits_git",
    )
