"""Regex: searches by regular expression in a process that can be killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workers.regex.client import SearchClient as SearchClient
    from quire_daemon.workers.regex.job import (
        NO_TEXT as NO_TEXT,
        Answer as Answer,
        BadPattern as BadPattern,
        BadReplacement as BadReplacement,
        NeedsSearch as NeedsSearch,
        Replacements as Replacements,
        ResultTooLarge as ResultTooLarge,
        Search as Search,
        SearchFailure as SearchFailure,
        TimedOut as TimedOut,
    )
else:
    __getattr__ = face(
        __name__,
        client="SearchClient",
        job=(
            "Answer BadPattern BadReplacement NO_TEXT NeedsSearch Replacements ResultTooLarge "
            "Search SearchFailure TimedOut"
        ),
    )
