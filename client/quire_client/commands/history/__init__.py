"""History: log, since, watch, show, diff, blame, why, cat, ls, exports and import."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.history.diff_text import *
else:
    __getattr__ = face(
        __name__,
        diff_text="counts names names_with_status patches whole words",
    )
