"""Server: requests and replies, over a ZeroMQ socket or as files."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.server.connections import *
    from quire_daemon.server.file_transport_switch import *
    from quire_daemon.server.socket import *
else:
    __getattr__ = face(
        __name__,
        connections="CONNECTION ConnectionBound Connections",
        file_transport_switch="SpoolSwitch",
        socket="Server listen raise_file_limit",
    )
