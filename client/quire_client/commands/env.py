"""`quire env`: lines for a shell, so that git tells the daemon what it does, and calls say who calls."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from quire_client import render
from quire_client.commands.base import DONE, Command, Invocation, Option

TOLD = ("QUIRE_AGENT", "QUIRE_SESSION")
"""What git is asked to tell of its environment."""


def run(call: Invocation) -> int:
    """Print the variables. Nothing is started, asked or configured."""
    call.at_most(0)
    variables = _variables(call)
    if "unset" in call.options:
        variables = dict.fromkeys(variables, "")
    if call.json:
        print(render.as_json({"ok": True, "message": "For the environment of a shell.", "env": variables}))
    elif "unset" in call.options:
        print("\n".join(f"unset {name}" for name in variables))
    else:
        print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items()))
    return DONE


def _variables(call: Invocation) -> Mapping[str, str]:
    from quire_journal.places import running, trace_socket

    found = running(call.place)
    socket = found.socket if found is not None and found.socket else call.place.socket
    asked = [name for name in call.environ.get("GIT_TRACE2_ENV_VARS", "").split(",") if name and name not in TOLD]
    variables = {
        "GIT_TRACE2_EVENT": f"af_unix:stream:{trace_socket(socket)}",
        "GIT_TRACE2_ENV_VARS": ",".join([*asked, *TOLD]),
    }
    for name, option in zip(TOLD, ("agent", "session"), strict=True):
        value = call.options.get(option, call.environ.get(name, ""))
        if value:
            variables[name] = value
    return variables


COMMAND = Command(
    arguments="",
    about="Prints `export` lines for the shell of an agent or a person. With them each git command tells the daemon\n"
    "while it runs, so that what it does to the tree is labelled with the command and the agent session. Only the\n"
    "environment is used: Quire never writes git configuration. A git that finds no daemon goes on in silence.\n"
    'A shell takes them with eval "$(quire env)".',
    example="quire env --agent ada --session s1 > git.env && . ./git.env",
    run=run,
    options=(Option("unset", "", "print the lines that take it back"),),
)
