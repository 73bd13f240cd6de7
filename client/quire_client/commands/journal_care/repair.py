"""`quire repair`: repairs a damaged journal as far as possible."""

from __future__ import annotations

from typing import Final

from quire_client.cli import Progress, render
from quire_client.commands import DAMAGED, DONE, Command, Invocation, Option

TIMEOUT_S: Final = 3600.0


def run(call: Invocation) -> int:
    call.at_most(0)
    execute = "yes" in call.options
    with call.connect() as client, Progress("Checking", call.person_watches):
        reply = client.repair(execute=execute, timeout_s=call.timeout_s(TIMEOUT_S))
    if reply.get("executed"):
        with call.connect(told=lambda doing: None) as client:
            reply |= {"salvaged": client.status().get("salvaged")}
    status = call.answer(reply, lambda reply: render.clean_text(reply.get("salvaged") or reply.get("message", "")))
    for finding in reply.get("findings") or ():
        call.say(f"  {render.one_line(finding, 500)}")
    if status == DONE and reply.get("findings") and not execute:
        call.say("Nothing was changed. `quire repair --yes` does it.")
        return DAMAGED
    return status


COMMAND = Command(
    arguments="",
    about="Checks the whole journal and says what would be done about what is wrong; with --yes it is done. Views are\n"
    "folded again; what is damaged otherwise is set aside, what its hashes still prove becomes a new journal, which\n"
    "says what was lost. Ends with status 7 when something is wrong and nothing was done about it.",
    example="quire repair --yes",
    run=run,
    options=(Option("yes", "", "do it"),),
)
