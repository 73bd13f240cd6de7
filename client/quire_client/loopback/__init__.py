"""HTTP servers on 127.0.0.1: checks of requests, and limits for connections."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.loopback.connections import *
    from quire_client.loopback.gate import *
    from quire_client.loopback.listener import *
else:
    __getattr__ = face(
        __name__,
        connections="MOST_HEAD TimedConnection",
        gate="App Gate Headers Message NAMES No Receive Scope Send by_name has_token refuse stranger token_in",
        listener="HOST listen",
    )
