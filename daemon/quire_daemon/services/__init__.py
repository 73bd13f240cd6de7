"""The table of services: tools about the daemon and the journal as a whole, by name."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.services.base import Service
from quire_daemon.services.doctor import DOCTOR
from quire_daemon.services.export import EXPORT
from quire_daemon.services.gc import GC
from quire_daemon.services.purge import PURGE
from quire_daemon.services.repair import REPAIR
from quire_daemon.services.shutdown import SHUTDOWN
from quire_daemon.services.verify import VERIFY

SERVICES: Final[dict[str, Service[Any]]] = {
    service.name: service for service in (VERIFY, GC, DOCTOR, EXPORT, PURGE, REPAIR, SHUTDOWN)
}
