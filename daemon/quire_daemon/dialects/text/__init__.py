"""Text search: where a quoted text stands in a file, exactly, nearly, and what to suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.dialects.text.find import (
        LineIndex as LineIndex,
        count_of as count_of,
        normalised as normalised,
        occurrences as occurrences,
        require_few as require_few,
        require_searchable as require_searchable,
    )
    from quire_daemon.dialects.text.replace import (
        Draft as Draft,
        replaced as replaced,
        replaced_everywhere as replaced_everywhere,
    )
    from quire_daemon.dialects.text.suggest import (
        SHOWN_CHARS as SHOWN_CHARS,
        near_miss as near_miss,
        nearest as nearest,
        nearest_line as nearest_line,
        not_in as not_in,
        why_not as why_not,
    )
else:
    __getattr__ = face(
        __name__,
        find="LineIndex count_of normalised occurrences require_few require_searchable",
        replace="Draft replaced replaced_everywhere",
        suggest="SHOWN_CHARS near_miss nearest nearest_line not_in why_not",
    )
