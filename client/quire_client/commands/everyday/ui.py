"""`quire ui`: shows the history live in the terminal, and undoes changes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from quire_client.commands import DONE, Command, Invocation, Option, Usage

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.ui import Filter


def run(call: Invocation) -> int:
    from quire_client.ui import INSTALL, TIMELINE, Filter, installed

    call.at_most(1)
    if not is_screen(call):
        raise Usage("`quire ui` wants a terminal that can be drawn on; `quire log` prints the same.")
    if not installed():
        raise Usage(INSTALL)
    path = call.in_workspace(call.arguments[0]) if call.arguments else ""
    wanted = Filter(call.options.get("writer", ""), path, agents="agents" in call.options)
    call.connect().close()  # starts a daemon if none runs
    return show(call, TIMELINE, wanted)


def is_screen(call: Invocation) -> bool:
    """Return True if stdin, stdout and stderr are a terminal that Textual can draw on."""
    terminals = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return terminals and not call.json and call.environ.get("TERM") != "dumb"


def show(call: Invocation, first: str, wanted: Filter) -> int:
    """Run the screen, starting with the page `first`, and return the exit status."""
    from quire_client.ui import open_screen

    # A viewer must not count as the agent: the agent's notices are for its own calls.
    asks = Invocation((), {"agent": "", "session": "", **call.options}, call.environ, call.opener, call.name)

    def connect() -> Client:
        return asks.connect(start=False)

    asks.person_watches = False  # nothing else may be written on the screen
    open_screen(connect, _short(os.fspath(call.place.root)), first, wanted)
    return DONE


def _short(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


COMMAND = Command(
    arguments="[PATH]",
    about="Shows what happened, newest first and live, on a screen: a story opens to its files and calls, a file to\n"
    "its difference, and from there who wrote each line. u shows what taking back a story, a file or a call would\n"
    "do, and asks; r brings it back. w tells who works now, / filters, ? lists the keys, q leaves. A daemon that\n"
    "ends is waited for. It needs the extra `ui` (Textual): `pip install 'quire[ui]'`.",
    example="quire ui --agents",
    run=run,
    options=(
        Option("writer", "WHO", "begin with what WHO did: an agent's name, ada/s1, user, w3, or outside"),
        Option("agents", "", "begin with what agents did"),
    ),
)
