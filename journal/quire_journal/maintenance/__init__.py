"""Maintenance: which versions are kept, and the removal of secrets from the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.maintenance import purge as purge, retention as retention, secret_scan as secret_scan
    from quire_journal.maintenance.multi_search import AnyOf as AnyOf
    from quire_journal.maintenance.purge import (
        Found as Found,
        PurgeSurvey as PurgeSurvey,
        PurgeTarget as PurgeTarget,
        PurgeTransaction as PurgeTransaction,
        Texts as Texts,
    )
    from quire_journal.maintenance.retention import (
        Pins as Pins,
        Policy as Policy,
        RetentionVerdict as RetentionVerdict,
        duration_ns as duration_ns,
        judge as judge,
        span as span,
    )
else:
    __getattr__ = face(
        __name__,
        multi_search="AnyOf",
        purge="Found PurgeSurvey PurgeTarget PurgeTransaction Texts",
        retention="Pins Policy RetentionVerdict duration_ns judge span",
    )
