"""`quire claim`: takes a lease, which announces work on files or excludes other callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quire_client.cli import render
from quire_client.commands import Command, Invocation, MissingArgument, Option
from quire_client.commands.everyday import line_range


def run(call: Invocation) -> int:
    call.at_most(1)
    arguments: dict[str, Any] = {}
    if call.arguments:
        folder = "/" if call.arguments[0].endswith("/") else ""  # also for a missing folder
        arguments["path"] = call.in_workspace(call.arguments[0]) + folder
    elif "renew" not in call.options:
        raise MissingArgument("PATH")
    arguments |= call.stated(("kind", "reason"), {"ttl": "ttl_s", "renew": "renew"}, ("dry-run",))
    arguments |= line_range(call.options.get("lines", ""))
    wait_s = call.number("wait") or 0
    if wait_s:
        arguments["wait_ms"] = wait_s * 1000
    with call.connect() as client:
        reply = client.call("claim", arguments)
    return call.answer(reply, _show)


def _show(reply: Mapping[str, Any]) -> str:
    lines = [render.said(reply.get("message", ""))]
    if reply.get("lease"):
        lines.append(f"Lease {render.one_line(reply['lease'])}")
    return "\n".join([*lines, *table(reply.get("conflicts") or ())])


def table(leases: Iterable[object]) -> list[str]:
    """Return leases as a table: number, kind, expiry, holder, path, reason."""
    return render.columns(row(lease) for lease in leases if isinstance(lease, Mapping))


def row(lease: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_cells(lease))


def _cells(lease: Mapping[str, Any]) -> Iterator[str]:
    yield f"  {render.one_line(lease.get('lease') or 'waits')}"
    yield render.one_line(lease.get("kind", ""))
    yield f"until {render.moment(lease['expires_at'])}" if lease.get("expires_at") else ""
    yield "you" if lease.get("yours") else render.writer({"uid": 0, **(lease.get("holder") or {})})
    span = render.lines([lease["lines"]]) if lease.get("lines") else ""
    yield render.one_line(lease.get("path", "")) + (f":{span}" if span else "")
    yield render.one_line(lease.get("reason", ""))
    yield _at_hub(lease["hub"]) if lease.get("hub") else ""


def _at_hub(hub: Mapping[str, Any]) -> str:
    if hub.get("standing") == "held":
        return f"held at the hub, token {hub.get('token')}"
    return "another host has it" if hub.get("standing") == "taken" else "lease_unconfirmed: not held at the hub"


COMMAND = Command(
    arguments="PATH",
    about="Says that you work on PATH: a file, a folder (everything in it; with / at its end if it is yet to be made)\n"
    "or a quoted glob. An intent only tells others; a shared lease keeps exclusive ones away; an exclusive lease also\n"
    "refuses what other agents write there.\n"
    "It ends by itself, and belongs to the agent session (--agent, --session), not to this command. Exit status 6:\n"
    "others hold it; the message says who, why, until when, and what is free.",
    example='quire claim src/app.py --kind exclusive --lines 10:40 --reason "splitting it" --wait 30',
    run=run,
    options=(
        Option("kind", "KIND", "intent (if not said), shared or exclusive", choices=("intent", "shared", "exclusive")),
        Option("lines", "A:B", "only these lines, from 1, wherever they move"),
        Option("ttl", "SECONDS", "how long; 600 if not said"),
        Option("reason", "TEXT", "why, for others to read"),
        Option("wait", "SECONDS", "wait so long where others hold it; first come, first served"),
        Option("dry-run", "", "only tell whether it would be granted"),
        Option("renew", "LEASE", "keep a lease of yours for longer"),
    ),
)
