"""The `hub` service: exchanges news between this checkout and other hosts of its team, for `quire ship`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import HubReply
from quire_daemon.family import HubLease, RemoteHost
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_journal.model import counted


class HubParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    hosts: list[RemoteHost] | None = None  # news of all other hosts; None: unchanged
    leases: Mapping[str, HubLease] = {}  # number of an exclusive lease here → its state at the hub
    join: bool = False  # this checkout has joined a team
    leave: bool = False  # it has left its team


def run(call: Call, host: ServiceHost) -> None:
    """Store the news of other hosts, and reply with this checkout's news for them."""
    params: HubParams = call.params
    family = host.family
    if params.join:
        family.join_hub()
    if params.leave:
        family.leave_hub()
    elif params.hosts is not None:
        family.hear(params.hosts, {int(key): value for key, value in params.leases.items() if key.isdecimal()})
    hidden = host.outbox.hidden()
    note, hosts = family.told_to_hosts(hidden), family.hosts()
    message = f"{counted(len(hosts), 'other checkout')} on other hosts." if hosts else "No other host is heard of."
    reply: dict[str, Any] = {
        "ok": True,
        "message": message,
        "journal": host.outbox.journal(),
        "checkout": host.root.name,
        "note": msgspec.to_builtins(note),
        "hosts": msgspec.to_builtins(hosts),
        "leases": {str(number): msgspec.to_builtins(lease) for number, lease in family.leases_at_hub().items()},
        "linked": family.linked(),
    }
    host.answer(call, reply)


HUB: Final = Service("hub", HubParams, run, reply=HubReply)
