"""The `outbox` service: the other end of `quire ship`."""

from __future__ import annotations

from typing import Final

from quire_daemon.core import Call
from quire_daemon.core.replies import OutboxReply
from quire_daemon.maintenance.outbox import OutboxParams
from quire_daemon.maintenance.service import Service, ServiceHost


def run(call: Call, host: ServiceHost) -> None:
    """Record which part of the history has arrived at the remote store; reply with the next part if there are new
    records.
    """
    host.outbox.answer(call)


OUTBOX: Final = Service("outbox", OutboxParams, run, reply=OutboxReply)
