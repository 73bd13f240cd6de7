"""The `shutdown` service: replies, then ends the daemon."""

from __future__ import annotations

import os
from typing import Final

from quire_daemon.core import Call
from quire_daemon.core.replies import ShutdownReply
from quire_daemon.maintenance.service import NoArguments, Service, ServiceHost


def run(call: Call, host: ServiceHost) -> None:
    """Reply with the daemon's `pid`, then end the daemon."""
    host.answer(call, {"ok": True, "message": "The daemon stops.", "pid": os.getpid()})
    host.stop()


SHUTDOWN: Final = Service("shutdown", NoArguments, run, reply=ShutdownReply)
