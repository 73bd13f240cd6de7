"""Startup: recovery of writes that the last run of the daemon did not finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.startup.power_loss import bring_back as bring_back
    from quire_daemon.startup.recovery import recover as recover
    from quire_daemon.startup.recovery_context import RecoveryContext as RecoveryContext
else:
    __getattr__ = face(
        __name__,
        power_loss="bring_back",
        recovery="recover",
        recovery_context="RecoveryContext",
    )
