"""Regex: searches by regular expression in a separate process, which is killed if it takes too long."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.workers.regex.client import *
    from quire_daemon.workers.regex.job import *
else:
    __getattr__ = face(
        __name__,
        client="SearchClient",
        job=(
            "Answer BadPattern BadReplacement NO_TEXT NeedsSearch Replacements ResultTooLarge "
            "Search SearchFailure TimedOut"
        ),
    )
