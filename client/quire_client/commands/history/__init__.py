"""History: log, since, watch, show, diff, blame, why, cat, ls, exports and import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.commands.history import log as log
    from quire_client.commands.history.diff import patches as patches, whole as whole
else:
    __getattr__ = face(
        __name__,
        diff="patches whole",
    )
