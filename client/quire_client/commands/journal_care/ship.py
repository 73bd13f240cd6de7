"""`quire ship`: copies the journal to a remote store until interrupted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, FAULT, NO_DAEMON, Command, Invocation, Option, Usage

if TYPE_CHECKING:
    from quire_client.api import Client

POLL_S: Final = 1.0
MOST_REST_S: Final = 60.0
TIMEOUT_S: Final = 120.0

NICE: Final = 10


def run(call: Invocation) -> int:
    call.at_most(1)
    once = "once" in call.options
    os.nice(0 if once else NICE)
    try:
        return _Carrier(call, once).carry()
    except KeyboardInterrupt:
        return DONE


class _Carrier:
    def __init__(self, call: Invocation, once: bool) -> None:
        self._call, self._once = call, once
        self._to = call.arguments[0] if call.arguments else ""
        self._rest_s = POLL_S
        self._told = ""  # the last trouble

    def carry(self) -> int:
        from quire_client.ship import FarSideUnreachable, NoOutbox
        from quire_client.transport import NoDaemon

        start = True
        while True:
            try:
                with self._call.connect(start=start) as client:
                    return self._from(client)
            except NoDaemon:
                if start:
                    raise
            except NoOutbox as error:
                if self._once:
                    self._call.say(str(error))
                    return NO_DAEMON
                self._say(str(error))
            except FarSideUnreachable as error:
                if self._once:
                    self._call.say(f"The far side cannot be reached: {error}.")
                    return FAULT
                self._say(f"The far side cannot be reached: {error}. Nothing is lost; it is tried again.")
            start = False
            time.sleep(self._rest_s)
            self._rest_s = min(2 * self._rest_s, MOST_REST_S)

    def _from(self, client: Client) -> int:
        from quire_client.ship import DaemonOutbox, FarSideUnreachable, Shipper, open_far_side

        ask = _asking(client, self._to, self._call.timeout_s(TIMEOUT_S))
        outbox = DaemonOutbox(ask)
        begun = ask({"look": True})
        to, goal = self._to or str(begun["to"]), int(begun["records"]) + int(begun["behind"])
        if not to:
            raise Usage("Say where to: quire ship TO, or [ship] to in your config.toml.")
        try:
            shipper = Shipper(outbox, open_far_side(to))
            segments = 0
            while True:
                while shipper.ship():
                    segments += 1
                    self._fine()
                self._fine()
                if self._once and int(ask({"look": True})["records"]) >= goal:
                    message = f"Everything is at {to}, {render.counted(segments, 'segment')} more."
                    reply = {"ok": True, "message": message, "to": to, "segments": segments}
                    return self._call.answer(reply, lambda reply: str(reply["message"]))
                time.sleep(POLL_S if not self._once else POLL_S / 5)
        except FarSideUnreachable as error:
            outbox.unreachable(str(error))
            raise

    def _fine(self) -> None:
        if self._told:
            self._call.say("It goes on.")
        self._rest_s, self._told = POLL_S, ""

    def _say(self, trouble: str) -> None:
        if trouble != self._told:
            self._call.say(trouble)
        self._told = trouble


def _asking(client: Client, to: str, timeout_s: float) -> Callable[[dict[str, Any]], Mapping[str, Any]]:
    from quire_client.ship import NoOutbox

    def ask(arguments: dict[str, Any]) -> Mapping[str, Any]:
        while True:
            reply = client.outbox(to=to, timeout_s=timeout_s, **arguments)
            if reply.get("ok"):
                return reply
            if reply.get("error") != "busy":
                raise NoOutbox(str(reply.get("message") or "The daemon did not answer."))
            time.sleep(POLL_S / 5)

    return ask


COMMAND = Command(
    arguments="[TO]",
    about="Carries the history to a far side that the agents of this machine cannot rewrite: TO is a folder that is\n"
    "there, on another disk or a share, or s3://BUCKET/PREFIX?endpoint=URL (pip install 'quire[ship]'); without it\n"
    "[ship] to of your config.toml. It runs beside the daemon until Ctrl-C; with --once it ends when everything is\n"
    "there. Records go as they are, signed; bytes of versions encrypted with a key for each, which `quire purge`\n"
    "destroys. What is secret, ignored or uncaptured never leaves, nor prompts and command lines. If the far side\n"
    "cannot be reached, nothing changes here: `quire status` says how far behind it is. `quire verify --against TO`\n"
    "reads it back.",
    example="quire ship /mnt/audit --once",
    run=run,
    options=(Option("once", "", "end when everything is there"),),
)
