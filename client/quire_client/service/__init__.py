"""The daemon as a service of the user's own service manager: systemd (unit and socket) or launchd (an agent)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.service import units as units
    from quire_client.service.units import MARK as MARK, Service as Service, UnitFile as UnitFile, spelled as spelled
else:
    __getattr__ = face(
        __name__,
        units="MARK Service UnitFile spelled",
    )
