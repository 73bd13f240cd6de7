"""`quire down`: ends the daemon."""

from __future__ import annotations

from quire_client.commands import Command, Invocation


def run(call: Invocation) -> int:
    call.at_most(0)
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import running

    try:
        with call.connect(start=False) as client:
            reply = client.shutdown_daemon()
    except NoDaemon:
        if running(call.place) is not None:
            raise  # a daemon runs but cannot be reached
        reply = {"ok": True, "message": "No daemon runs."}
    return call.answer(reply, lambda reply: str(reply["message"]))


COMMAND = Command(
    arguments="",
    about="Stops the daemon of the workspace and waits until it has ended. Nothing is lost: what others write in the\n"
    "meantime is found when it starts again, though not every step of it.",
    example="quire down",
    run=run,
)
