"""`quire redo`: restores undone changes."""

from __future__ import annotations

from quire_client.cli import in_the_way, show_files
from quire_client.commands import Command, Invocation, Usage
from quire_client.commands.take_back.undo import CHOICE, choice


def run(call: Invocation) -> int:
    chosen = choice(call)
    if "lines" in chosen:
        raise Usage("Lines are for `quire undo`; a redo is of whole changes.")
    with call.connect() as client:
        reply = client.call("redo", chosen)
    return call.answer(reply, show_files, below=in_the_way)


COMMAND = Command(
    arguments="[PATH ...]",
    about="Takes your own last undo back; or brings back, of what was undone, what the options choose, in everything\n"
    "or in the PATHs. `--batch` names an undone batch, or an undo. What others wrote meanwhile stays.",
    example="quire redo --plan",
    run=run,
    options=CHOICE,
)
