"""`quire claims`: lists leases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire_client.cli import render
from quire_client.commands import ALL_CHECKOUTS, Command, Invocation, asked, shown
from quire_client.commands.together.claim import table
from quire_client.hub import joined


def run(call: Invocation) -> int:
    call.at_most(1)
    arguments: dict[str, Any] = {"path": call.in_workspace(call.arguments[0])} if call.arguments else {}
    if ALL_CHECKOUTS.name in call.options:
        return call.answer(asked(call, "claims", arguments), lambda reply: shown(reply, _show))
    with call.connect() as client:
        reply = client.call("claims", arguments)
        if reply.get("ok") and joined(call.place.state):
            reply = _with_hub(reply, client.hub().get("leases") or {})
    return call.answer(reply, _show)


def _with_hub(reply: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the reply with the field `hub` at each exclusive lease: its state at the team's hub."""
    hub = {int(number): lease for number, lease in known.items()}
    rows = [{**row, "hub": hub[row["lease"]]} if row.get("lease") in hub else row for row in reply["leases"]]
    return {**reply, "leases": rows}


def _show(reply: Mapping[str, Any]) -> str:
    rows = table([*(reply.get("leases") or ()), *(reply.get("waiting") or ())])
    none = "There is no lease; `quire claim PATH` asks for one."
    lines = [render.said(reply.get("message", "")) if rows else none, *rows]
    for lease in reply.get("broken") or ():
        if isinstance(lease, Mapping):
            who, why = render.writer(lease.get("broken_by")), render.one_line(lease.get("broken_why", ""))
            about = f"{render.one_line(lease.get('lease', ''))} on {render.one_line(lease.get('path', ''))}"
            lines.append(f"Your lease {about} was broken by {who}{f': {why}' if why else ''}")
    return "\n".join(lines)


COMMAND = Command(
    arguments="[PATH]",
    about="Lists the leases in force, everywhere or about PATH (a file, a folder or a quoted glob), the claims that\n"
    "wait for one, and those of yours that somebody broke.",
    example="quire claims src",
    run=run,
    options=(ALL_CHECKOUTS,),
)
