"""`quire forget`: removes a journal."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from quire_client.cli import render
from quire_client.commands import ClientOptions, Command, Invocation, Option, Usage
from quire_journal.model import Refusal

if TYPE_CHECKING:
    from quire_client.journals import KnownJournal

_ID: Final = re.compile(r"[0-9a-f]{4,32}")


def run(call: Invocation) -> int:
    from quire_client.journals import forget

    call.at_most(1)
    try:
        journal = _wanted(call)
        name = f"The journal of {journal.identity.root}"
        if journal.daemon is not None and "stop" not in call.options:
            who = f"pid {journal.daemon.pid}"
            raise Refusal("busy", f"{name} is in use by a daemon ({who}), and stays.", "stop_daemon")
        if "yes" not in call.options:
            if not call.can_ask:
                raise Refusal("not_confirmed", f"{name} stays: --yes was not said.", "confirm")
            size = render.size(journal.bytes)
            if not call.agreed(f"{name} ({size}) and all history in it will be gone. Remove it?"):
                return call.declined(f"{name} stays.")
        if journal.daemon is not None:
            _stop(call, journal)
        freed = forget(journal)
    except Refusal as refused:
        return call.answer(refused.reply(), lambda reply: "")
    message = f"{name} is gone; {render.size(freed)} are free again. The files of the workspace are untouched."
    reply = {"ok": True, "message": message, "id": journal.identity.id, "path": journal.identity.root, "freed": freed}
    return call.answer(reply, lambda reply: render.clean(reply["message"]))


def _wanted(call: Invocation) -> KnownJournal:
    from quire_client.journals import journals

    known = list(journals(call.state_dir))
    said = call.arguments[0] if call.arguments else ""
    if said and _ID.fullmatch(said) and not (call.folder / said).exists():
        found = [one for one in known if one.identity.id.startswith(said)]
    else:
        path = os.path.realpath(call.folder / said)
        found = [one for one in known if one.identity.root == path]
    if len(found) == 1:
        return found[0]
    if found:
        raise Usage(f"{said} is the beginning of {len(found)} ids; give more of it.")
    raise Refusal("not_found", f"No journal is known for {said or os.path.realpath(call.folder)}.", "list_journals")


def _stop(call: Invocation, journal: KnownJournal) -> None:
    opened = call.opener(ClientOptions(journal.place, "", "", call.timeout_s(30.0), start=False))
    with opened as client:
        reply = client.shutdown_daemon()
    if not reply.get("ok"):
        raise Refusal(
            "busy", f"The daemon of {journal.identity.root} does not end: {reply.get('message', '')}", "retry"
        )


COMMAND = Command(
    arguments="[PATH|ID]",
    about="Removes the journal of a workspace, by its folder (the current one if none is named) or by the beginning\n"
    "of its id as `quire list` shows it; also when the folder is gone. Every version in it that is not the one on the\n"
    "disk is lost for good. It asks first, or wants --yes. The files of the workspace stay as they are.",
    example="quire forget ~/projects/old --yes",
    run=run,
    options=(
        Option("yes", "", "do not ask", "y"),
        Option("stop", "", "end the daemon that runs for it"),
    ),
)
