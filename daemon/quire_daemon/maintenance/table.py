"""Table of all services by name."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.maintenance.collect import GC
from quire_daemon.maintenance.doctor import DOCTOR
from quire_daemon.maintenance.export import EXPORT
from quire_daemon.maintenance.hub import HUB
from quire_daemon.maintenance.prove import PROVE
from quire_daemon.maintenance.purge import PURGE
from quire_daemon.maintenance.repair import REPAIR
from quire_daemon.maintenance.service import Service
from quire_daemon.maintenance.ship import OUTBOX
from quire_daemon.maintenance.shutdown import SHUTDOWN
from quire_daemon.maintenance.verify import VERIFY

SERVICES: Final[dict[str, Service[Any]]] = {
    service.name: service for service in (VERIFY, PROVE, OUTBOX, HUB, GC, DOCTOR, EXPORT, PURGE, REPAIR, SHUTDOWN)
}
