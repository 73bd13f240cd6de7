"""The daemon as a service of the user's service manager: systemd (service and socket) or launchd (agent)."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.service import units as units
    from quire_client.service.units import *
else:
    __getattr__ = face(
        __name__,
        units="MARK Service UnitFile spelled",
    )
