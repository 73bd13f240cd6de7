"""`quire adopt`: reconnects a moved folder with its journal."""

from __future__ import annotations

from quire_client.commands import Command, Invocation


def run(call: Invocation) -> int:
    from quire_journal.workspaces import adopt

    call.at_most(1)
    place = adopt(call.folder / (call.arguments[0] if call.arguments else "."), call.state_dir)
    message = f"{place.root} has its journal back."
    reply = {"ok": True, "message": message, "workspace": str(place.root), "state_dir": str(place.state)}
    return call.answer(reply, lambda reply: str(reply["message"]))


COMMAND = Command(
    arguments="[PATH]",
    about="After a workspace was moved or renamed: finds its journal by the id that the folder carries, and ties it\n"
    "to the new path. Refused while a daemon runs on it, and for a copy of a folder that is still there.",
    example="quire adopt ~/projects/site-renamed",
    run=run,
)
