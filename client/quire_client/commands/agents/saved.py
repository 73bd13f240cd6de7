"""`quire saved`: an editor's plugin reports that a user saved a file."""

from __future__ import annotations

import getpass
from typing import Final

from quire_client.cli import render
from quire_client.commands import ClientOptions, Command, Invocation, Option, Usage

NAMELESS: Final = "someone"


def run(call: Invocation) -> int:
    path = call.in_workspace(call.one_argument("PATH"))
    if "sha256" not in call.options:
        raise Usage("--sha256 is missing: the hash of the bytes that the editor wrote.")
    agent, session = call.caller
    guessed = not (agent or session)  # the daemon recognises an agent that drives the editor by its process
    wanted = ClientOptions(call.place, agent, session or _login(), call.timeout_s(30.0), start=False, guessed=guessed)
    with call.opener(wanted) as client:
        reply = client.call("saved", {"path": path, "sha256": call.options["sha256"].lower().split(",")})
    return call.answer(reply, lambda reply: render.said(str(reply["message"])))


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return NAMELESS  # a user id without an account, as in containers


COMMAND = Command(
    arguments="PATH",
    about="For editors' plugins: its person has just saved PATH. The version with these bytes is the person's, as\n"
    "`user/NAME`: the name of the login, or --session. No daemon is started for it.",
    example="quire saved app.py --sha256 27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a",
    run=run,
    options=(Option("sha256", "HEX", "of the bytes that were written; several: one of these", several=True),),
)
