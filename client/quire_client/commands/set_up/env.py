"""`quire env`: lines for a shell, so that git tells the daemon what it does, and calls say who calls."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quire_client.cli import render
from quire_client.commands import DONE, Command, Invocation, Option

if TYPE_CHECKING:
    from quire_journal.workspaces import Place

TOLD = ("QUIRE_AGENT", "QUIRE_SESSION")
"""What git is asked to tell of its environment."""

_OPTIONS = ("agent", "session")
"""The options that say the same."""


def run(call: Invocation) -> int:
    """Print the variables. Nothing is started, asked or configured."""
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


def variables_for(place: Place, environ: Mapping[str, str], agent: str, session: str) -> dict[str, str]:
    """What a shell's environment needs for git and `quire` to say who runs them, beside what it has already."""
    from quire_journal.workspaces import running, trace_socket

    found = running(place)
    socket = found.socket if found is not None and found.socket else place.socket
    asked = [name for name in environ.get("GIT_TRACE2_ENV_VARS", "").split(",") if name and name not in TOLD]
    variables = {
        "GIT_TRACE2_EVENT": f"af_unix:stream:{trace_socket(socket)}",
        "GIT_TRACE2_ENV_VARS": ",".join([*asked, *TOLD]),
    }
    return variables | {name: value for name, value in zip(TOLD, (agent, session), strict=True) if value}


def exports(variables: Mapping[str, str]) -> str:
    """Lines for a shell."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


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
