"""`quire redo`: restores undone changes."""

from __future__ import annotations

from quire_client.cli import in_the_way, show_files
from quire_client.commands import DONE, Command, Invocation
from quire_client.commands.take_back.undo import CHOICE, choices


def run(call: Invocation) -> int:
    """Redo, or plan it."""
    status = DONE
    for chosen in choices(call, newest_first=False):
        with call.connect() as client:
            reply = client.call("redo", chosen)
        status = max(status, call.answer(reply, show_files, below=in_the_way))
    return status


COMMAND = Command(
    arguments="[PATH ...]",
    about="Takes your own last undo back; or brings back, of what was undone, what the options choose, in everything\n"
    "or in the PATHs. `--batch` names an undone batch, or an undo. What others wrote meanwhile stays.",
    example="quire redo --plan",
    run=run,
    options=CHOICE,
)
