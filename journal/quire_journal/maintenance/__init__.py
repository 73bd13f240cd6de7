"""Maintenance: retention of versions, and removal of secrets from the journal."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.maintenance import purge as purge, retention as retention, secret_scan as secret_scan
    from quire_journal.maintenance.multi_search import *
    from quire_journal.maintenance.purge import *
    from quire_journal.maintenance.retention import *
else:
    __getattr__ = face(
        __name__,
        multi_search="AnyOf",
        purge="Found PurgeSurvey PurgeTarget PurgeTransaction Texts",
        retention="Pins Policy RetentionVerdict duration_ns judge span",
    )
