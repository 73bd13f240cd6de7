"""`quire release`: gives up leases."""

from __future__ import annotations

import os

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Usage, is_number


def run(call: Invocation) -> int:
    call.at_most(1)
    arguments = call.stated(("reason",), ("lease",), ("all", "force"))
    if call.arguments:
        given = call.arguments[0]
        if is_number(given) and not os.path.lexists(call.folder / given):
            arguments["lease"] = int(given)  # as in the rows of `quire claims`
        else:
            arguments["path"] = call.in_workspace(given)
    if not arguments.keys() & {"path", "lease", "all"}:
        raise Usage("Say which: PATH, LEASE or --all; `quire claims` lists them.")
    with call.connect() as client:
        reply = client.call("release", arguments)
    return call.answer(reply, lambda reply: render.said(reply.get("message", "")))


COMMAND = Command(
    arguments="[PATH | LEASE]",
    about="Gives up your leases on PATH (as it was claimed), the LEASE of a number, or all of them. With --force also\n"
    "those of others are ended: that is recorded with the reason, and their holders are told.",
    example="quire release src/app.py",
    run=run,
    options=(
        Option("lease", "LEASE", "this lease"),
        Option("all", "", "all of yours"),
        Option("force", "", "also break leases of others"),
        Option("reason", "TEXT", "why they are broken"),
    ),
)
