"""`quire up`: the daemon runs, and the workspace is captured."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client import render
from quire_client.commands.base import Command, Invocation, Option
from quire_client.commands.status import uncaptured
from quire_client.progress import Progress

if TYPE_CHECKING:
    from quire_client.api import Client

PAUSE_S: Final = 0.1
"""Between two looks at the capture."""


def run(call: Invocation) -> int:
    """Start the daemon and wait until everything is in the journal."""
    call.at_most(1)
    if call.arguments:
        call.options = {**call.options, "workspace": str(call.folder / call.arguments[0])}
    try:
        with call.connect(told=_Told(call)) as client:
            reply = client.status() if "no-wait" in call.options else _captured(client, call.person_watches)
            return call.answer(reply, _show)
    except KeyboardInterrupt:
        call.say("The daemon goes on by itself; `quire status` tells how far it is, `quire down` ends it.")
        raise


class _Told:
    """Says once what the daemon does before it answers, and then when it does something else."""

    def __init__(self, call: Invocation) -> None:
        self._call = call
        self._said = ""

    def __call__(self, doing: str) -> None:
        what = doing if self._call.person_watches else doing.partition(" (")[0]
        if what != self._said:
            self._said = what
            self._call.say(f"The daemon is {render.one_line(what)}.")


def _captured(client: Client, shown: bool) -> dict[str, Any]:
    """The status when the first capture is over, or waits for something that may never come."""
    with Progress("Capturing", shown) as bar:
        while True:
            reply = client.status()
            capture = reply.get("capture") or {}
            if not reply.get("ok") or capture.get("finished", True) or capture.get("waits_for"):
                return reply
            bar.update(int(capture.get("done") or 0), int(capture.get("total") or 0))
            time.sleep(PAUSE_S)


def _show(reply: Mapping[str, Any]) -> str:
    left_out = uncaptured(reply)
    said = [_runs(reply), f"{left_out.capitalize()}." if left_out else "", reply.get("salvaged") or ""]
    return "\n".join(render.clean_text(one) for one in said if one)


def _runs(reply: Mapping[str, Any]) -> str:
    root, pid = render.clean(reply.get("workspace", "")), reply.get("pid")
    capture = reply.get("capture") or {}
    if capture.get("waits_for"):
        return f"The daemon (pid {pid}) runs for {root}; its files are not captured yet: {capture['waits_for']}."
    if not capture.get("finished", True):
        return f"The daemon (pid {pid}) runs for {root}; it captures the files."
    return f"The daemon (pid {pid}) runs for {root}."


COMMAND = Command(
    arguments="[PATH]",
    about="Starts the daemon for the workspace that holds the current folder, or for PATH, which becomes a workspace\n"
    "if it is none, and waits until every file is in the journal. Other commands start it as well.",
    example="quire up ~/projects/site",
    run=run,
    options=(Option("no-wait", "", "return when the daemon answers, before everything is captured"),),
)
