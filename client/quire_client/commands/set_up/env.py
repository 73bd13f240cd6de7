"""`quire env`: prints shell variables by which git commands and calls of `quire` report their caller."""

from __future__ import annotations

from quire_client.cli import render
from quire_client.commands import DONE, Command, Invocation, Option
from quire_client.hooks import TOLD, exports, variables_for

_OPTIONS = ("agent", "session")


def run(call: Invocation) -> int:
    call.at_most(0)
    agent, session = (call.options.get(o, call.environ.get(n, "")) for n, o in zip(TOLD, _OPTIONS, strict=True))
    variables = variables_for(call.place, call.environ, agent, session)
    if "unset" in call.options:
        variables = dict.fromkeys(variables, "")
    if call.json:
        print(render.as_json({"ok": True, "message": "For the environment of a shell.", "env": variables}))
    elif "unset" in call.options:
        print("\n".join(f"unset {name}" for name in variables))
    else:
        print(exports(variables))
    return DONE


COMMAND = Command(
    arguments="",
    about="Prints `export` lines for the shell of an agent or a person. With them each git command tells the daemon\n"
    "while it runs, so that what it does to the tree is labelled with the command and the agent session. Only the\n"
    "environment is used; `quire setup git` does the same for every shell by git's configuration. A git that finds no\n"
    "daemon goes on in silence.\n"
    'A shell takes them with eval "$(quire env)".',
    example="quire env --agent ada --session s1 > git.env && . ./git.env",
    run=run,
    options=(Option("unset", "", "print the lines that take it back"),),
)
