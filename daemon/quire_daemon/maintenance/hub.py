"""`hub`: what this checkout tells other hosts of the team, and what `quire ship` heard of them there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from quire_daemon.core import Call
from quire_daemon.core.replies import HubReply
from quire_daemon.family import RemoteHost
from quire_daemon.maintenance.service import Service, ServiceHost
from quire_journal.model import counted


class HubParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    hosts: list[RemoteHost] | None = None  # all that are heard of; None: only tell
    standing: Mapping[str, str] = {}  # number of a lease here → its standing at the hub


def run(call: Call, host: ServiceHost) -> None:
    """Take the news, and answer with what other hosts may know."""
    params: HubParams = call.params
    family = host.family
    if params.hosts is not None:
        family.hear(params.hosts, {int(key): value for key, value in params.standing.items() if key.isdigit()})
    hidden = host.outbox.hidden()
    note, hosts = family.told_to_hosts(hidden), family.hosts()
    message = f"{counted(len(hosts), 'other checkout')} on other hosts." if hosts else "No other host is heard of."
    reply: dict[str, Any] = {
        "ok": True,
        "message": message,
        "journal": host.recorder.journal.workspace_id,
        "checkout": host.root.name,
        "note": msgspec.to_builtins(note),
        "hosts": msgspec.to_builtins(hosts),
        "linked": family.linked(),
    }
    host.answer(call, reply)


HUB: Final = Service("hub", HubParams, run, reply=HubReply)
