"""`quire down`: ends the daemon."""

from __future__ import annotations

from quire_client.commands import Command, Invocation


def run(call: Invocation) -> int:
    call.at_most(1)
    if call.arguments:
        call.options = {**call.options, "workspace": str(call.folder / call.arguments[0])}
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import running

    try:
        with call.connect(start=False) as client:
            reply = client.shutdown_daemon()
    except NoDaemon:
        if running(call.place) is not None:
            raise  # a daemon runs but cannot be reached
        where = f" for {call.place.root}" if call.arguments else ""
        reply = {"ok": True, "message": f"No daemon runs{where}."}
    return call.answer(reply, lambda reply: str(reply["message"]))


COMMAND = Command(
    arguments="[PATH]",
    about="Stops the daemon of the workspace that holds the current folder, or PATH, and waits until it has ended.\n"
    "Nothing is lost: what others write in the meantime is found when it starts again, though not every step of it.",
    example="quire down",
    run=run,
)
