"""Commands about the history: log, since, watch, show, diff, blame, why, cat, ls, bisect, reports, exports and
import.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.history.diff_text import *
    from quire_client.commands.history.ls import BEFORE_IT as BEFORE_IT, began_later as began_later
else:
    __getattr__ = face(
        __name__,
        diff_text="counts names names_with_status patches whole words",
        ls="BEFORE_IT began_later",
    )
