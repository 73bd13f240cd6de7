"""Integrity: whether the journal can be trusted, checked in another process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.integrity import check_client as check_client, verdict as verdict
    from quire_daemon.integrity.check_client import CheckAnswer as CheckAnswer, copied as copied, examine as examine
    from quire_daemon.integrity.check_worker import CheckTask as CheckTask
    from quire_daemon.integrity.verdict import (
        ask_for_repair as ask_for_repair,
        only_views as only_views,
        set_aside as set_aside,
    )
else:
    __getattr__ = face(
        __name__,
        check_client="CheckAnswer copied examine",
        check_worker="CheckTask",
        verdict="ask_for_repair only_views set_aside",
    )
