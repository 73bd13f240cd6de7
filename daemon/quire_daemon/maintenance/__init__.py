"""Maintenance: services for the whole journal (verify, repair, purge, export, import, signing, garbage collection), and
the queue of rejected work.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.maintenance.export_session import *
    from quire_daemon.maintenance.head_signer import *
    from quire_daemon.maintenance.outbox import *
    from quire_daemon.maintenance.rejections import Rejections as Rejections
    from quire_daemon.maintenance.service import *
    from quire_daemon.maintenance.shutdown import *
    from quire_daemon.maintenance.table import *
else:
    __getattr__ = face(
        __name__,
        export_session="ExportSessions",
        head_signer="HeadSigner",
        outbox="Outbox",
        rejections="Rejections",
        service="ServiceHost",
        shutdown="SHUTDOWN",
        table="SERVICES",
    )
