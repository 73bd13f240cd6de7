"""`quire watch`: prints each new record until interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, Command, Invocation, Option, status_of
from quire_client.commands.history.log import row

if TYPE_CHECKING:
    from quire_client.api import Client

WAIT_MS: Final = 25_000
AGAIN_S: Final = 0.3
_LOST: Final = ("unknown", "no_daemon", "expired")


def run(call: Invocation) -> int:
    call.at_most(1)
    feed = _Feed(call)
    try:
        status = feed.follow()
    except KeyboardInterrupt:
        status = DONE
    if feed.cursor and (status == DONE or feed.cursor != call.options.get("cursor")):  # not a cursor that was refused
        call.say(f"To go on from here: --cursor {render.one_line(feed.cursor)}")
    return status


class _Feed:
    def __init__(self, call: Invocation) -> None:
        self._call = call
        self.cursor = call.options.get("cursor", "")
        self._filters = call.stated(("writer", "kind"))
        if call.arguments:
            self._filters["path"] = call.in_workspace(call.arguments[0])

    def follow(self) -> int:
        from quire_client.transport import NoDaemon

        start = True
        while True:
            try:
                with self._call.connect(start=start) as client:
                    status = self._listen(client)
                if status is not None:
                    return status
            except NoDaemon:
                if start:
                    raise
            if start:
                self._call.say("The daemon ended; waiting for the next one.")
            start = False  # a listener does not restart a stopped daemon
            time.sleep(AGAIN_S)

    def _listen(self, client: Client) -> int | None:
        while True:
            wait = {"cursor": self.cursor, "wait_ms": WAIT_MS} if self.cursor else {}
            limit_s = self._call.timeout_s(30.0) + WAIT_MS / 1000
            reply = client.call("since", {**self._filters, **wait}, timeout_s=limit_s)
            if not reply.get("ok"):
                if reply.get("error") in _LOST:
                    return None
                if self._call.json:
                    print(render.as_json(reply))
                else:
                    self._call.complain(reply)
                return status_of(reply)
            self._print(reply)

    def _print(self, reply: Mapping[str, Any]) -> None:
        if reply.get("fresh"):
            self._call.say("Unknown cursor; showing all records from the beginning.")
        for record in reply.get("records") or ():
            print(render.as_json(record) if self._call.json else "  ".join(cell for cell in row(record) if cell))
        sys.stdout.flush()
        if not self.cursor:
            self._call.warn(reply)
        self.cursor = str(reply.get("cursor") or self.cursor)  # after the printed records


COMMAND = Command(
    arguments="[PATH]",
    about="Prints each record of the journal as it comes, one a line; with --json one JSON object a line. PATH is a\n"
    "file, a folder or a quoted glob. Ctrl-C ends it; the cursor that it then names is where --cursor goes on (so\n"
    "does seq:N, with the `seq` of the last record). When the daemon is restarted it goes on without a gap.",
    example="quire watch src --writer outside",
    run=run,
    options=(
        Option("writer", "WHO", "an agent's name, ada/s1, user, me, w3, or outside"),
        Option("kind", "KIND", "only records of this kind, such as 'file written'"),
        Option("cursor", "C", "go on where an earlier watch ended; from now if not said"),
    ),
)
