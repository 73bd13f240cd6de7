"""Maintenance: services for the whole journal: verify, repair, purge, export, import, garbage collection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.maintenance.export_session import ExportSessions as ExportSessions
    from quire_daemon.maintenance.service import ServiceHost as ServiceHost
    from quire_daemon.maintenance.shutdown import SHUTDOWN as SHUTDOWN
    from quire_daemon.maintenance.table import SERVICES as SERVICES
else:
    __getattr__ = face(
        __name__,
        export_session="ExportSessions",
        service="ServiceHost",
        shutdown="SHUTDOWN",
        table="SERVICES",
    )
