"""Transport: the connection to a daemon by socket or by files, and its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.transport.autostart import Door as Door, checking_settings as checking_settings, start as start
    from quire_client.transport.errors import NoDaemon as NoDaemon, NoReply as NoReply, NotSent as NotSent
    from quire_client.transport.fast_client import (
        DaemonAbsent as DaemonAbsent,
        NoAccess as NoAccess,
        Quick as Quick,
        Unreachable as Unreachable,
    )
else:
    __getattr__ = face(
        __name__,
        autostart="Door checking_settings start",
        errors="NoDaemon NoReply NotSent",
        fast_client="DaemonAbsent NoAccess Quick Unreachable",
    )
