"""Integrity: checks in a separate process whether the journal is damaged, and salvages it."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.integrity import verdict as verdict
    from quire_daemon.integrity.check_client import *
    from quire_daemon.integrity.check_worker import *
    from quire_daemon.integrity.head_audit import *
    from quire_daemon.integrity.verdict import *
else:
    __getattr__ = face(
        __name__,
        check_client="CheckAnswer copied examine",
        check_worker="AuditTask CheckTask HEADS",
        head_audit="SAVED",
        verdict="ask_for_repair only_views set_aside",
    )
