"""HTTP on this machine's loopback: who may ask, how long a connection may take, and how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_client.loopback.connections import MOST_HEAD as MOST_HEAD, TimedConnection as TimedConnection
    from quire_client.loopback.gate import NAMES as NAMES, Gate as Gate, token_in as token_in
    from quire_client.loopback.listener import HOST as HOST, listen as listen
else:
    __getattr__ = face(
        __name__,
        connections="MOST_HEAD TimedConnection",
        gate="Gate NAMES token_in",
        listener="HOST listen",
    )
