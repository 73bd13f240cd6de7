"""Export: the history in the formats of other tools, and its import."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.export.formats import *
    from quire_journal.export.git_patch import *
    from quire_journal.export.importer import *
    from quire_journal.export.jsonl_schema import *
    from quire_journal.export.source import *
    from quire_journal.export.steps import *
    from quire_journal.export.wording import *
else:
    __getattr__ = face(
        __name__,
        formats="FORMATS",
        git_patch=(
            "CONTEXT Content DiffHunk PatchStyle USUAL at_name file_patch hunks is_binary is_remade quoted split "
            "text_patch"
        ),
        importer="ImportResult NotAnExport import_lines",
        jsonl_schema="EventLine decode_line schema withheld",
        source="Source Stretch",
        steps="BY git_mode",
        wording="fits_git",
    )
