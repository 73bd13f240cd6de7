"""Text search: finds and replaces quoted texts, and suggests similar lines for missing ones."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects.text.find import *
    from quire_daemon.dialects.text.replace import *
    from quire_daemon.dialects.text.suggest import *
else:
    __getattr__ = face(
        __name__,
        find="LineIndex count_of normalised occurrences require_few require_searchable",
        replace="Draft replaced replaced_everywhere",
        suggest="SHOWN_CHARS near_miss nearest nearest_line not_in why_not",
    )
