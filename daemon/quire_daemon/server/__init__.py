"""Server: requests and replies over ZeroMQ or files, and the limits of connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.server.connections import (
        CONNECTION as CONNECTION,
        ConnectionBound as ConnectionBound,
        Connections as Connections,
    )
    from quire_daemon.server.file_transport_switch import SpoolSwitch as SpoolSwitch
    from quire_daemon.server.socket import Server as Server, listen as listen, raise_file_limit as raise_file_limit
else:
    __getattr__ = face(
        __name__,
        connections="CONNECTION ConnectionBound Connections",
        file_transport_switch="SpoolSwitch",
        socket="Server listen raise_file_limit",
    )
