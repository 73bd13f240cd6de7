"""Startup: recovery of writes that the last run of the daemon did not finish."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.startup.power_loss import *
    from quire_daemon.startup.recovery import *
    from quire_daemon.startup.recovery_context import *
else:
    __getattr__ = face(
        __name__,
        power_loss="bring_back",
        recovery="recover",
        recovery_context="RecoveryContext",
    )
