"""Transport: connects a client to a workspace's daemon, by Unix socket or by files, and starts the daemon if
necessary.
"""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.transport.autostart import *
    from quire_client.transport.errors import *
    from quire_client.transport.fast_client import *
else:
    __getattr__ = face(
        __name__,
        autostart="Door checking_settings start",
        errors="NoDaemon NoReply NotSent",
        fast_client="DaemonAbsent NoAccess Quick Unreachable",
    )
