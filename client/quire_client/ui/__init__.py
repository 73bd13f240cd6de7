"""UI: the terminal program `quire ui`, which shows the journal's history live."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.ui.filters import *
    from quire_client.ui.launch import *
    from quire_client.ui.now_page import *
    from quire_client.ui.rows import *
    from quire_client.ui.timeline_page import TIMELINE as TIMELINE
    from quire_client.ui.writers import *
else:
    __getattr__ = face(
        __name__,
        filters="Filter",
        launch="INSTALL installed open_screen",
        now_page="NOW NOW_ASKED NowReplies now_rows",
        rows="plain",
        timeline_page="TIMELINE",
        writers="Marks",
    )
