"""`quire ship`: copies the journal to a remote store until interrupted."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import fork_told, gaps_told, render
from quire_client.commands import DONE, FAULT, NO_DAEMON, Command, Invocation, Option, Usage
from quire_journal.model import capitalised

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.ship import FarSide

POLL_S: Final = 1.0
MOST_REST_S: Final = 60.0
HUB_REST_S: Final = 5.0
"""Maximum pause in seconds after a failure of a hub, as the team's other hosts wait for news."""

TIMEOUT_S: Final = 120.0

NICE: Final = 10


def run(call: Invocation) -> int:
    from quire_client.hub import shipper, shipping

    call.at_most(1)
    if "once" in call.options:
        return _Carrier(call, once=True).carry()
    os.nice(NICE)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with call.connect():  # creates the state folder
        pass
    try:
        with shipping(call.place.state) as ours:
            if not ours:
                raise Usage(f"quire ship runs here already, as process {shipper(call.place.state)}.")
            return _Carrier(call, once=False).carry()
    except KeyboardInterrupt:
        return DONE


class _Carrier:
    def __init__(self, call: Invocation, once: bool) -> None:
        from quire_client.hub import joined
        from quire_client.ship import from_here

        self._call, self._once = call, once
        self._to = from_here(call.arguments[0]) if call.arguments else joined(call.place.state)
        self._rest_s = POLL_S
        self._longest_s = MOST_REST_S
        self._told = ""  # last failure reported
        self._journal = ""  # last name at the far side

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
            self._rest_s = min(2 * self._rest_s, self._longest_s)

    def _from(self, client: Client) -> int:
        from quire_client.ship import DaemonOutbox, FarSideUnreachable, Shipper, without_password

        ask = _asking(client, without_password(self._to), self._call.timeout_s(TIMEOUT_S))
        outbox = DaemonOutbox(ask)
        begun = ask({"look": True})
        to, goal = self._to or str(begun["to"]), int(begun["records"]) + int(begun["behind"])
        if not to:
            raise Usage("Say where to: quire ship TO, or [ship] to in your config.toml, or quire hub join.")
        try:
            with self._far(to, client) as (far, step):
                shipper = Shipper(outbox, far)
                segments = 0
                while True:
                    while shipper.ship():
                        segments += 1
                        self._fine()
                        step()
                    self._fine()
                    step()
                    self._tell_of_fork(outbox.journal)
                    if self._once and int((now := ask({"look": True}))["records"]) >= goal:
                        reply = _done(without_password(to), segments, now)
                        return self._call.answer(reply, lambda reply: str(reply["message"]))
                    time.sleep(POLL_S if not self._once else POLL_S / 5)
        except FarSideUnreachable as error:
            outbox.unreachable(str(error))
            raise

    @contextmanager
    def _far(self, to: str, client: Client) -> Iterator[tuple[FarSide, Callable[[], None]]]:
        """Yield the remote store, and a function to call between shipments: at a hub, it exchanges news as a member of
        the team.
        """
        from quire_client.ship import FarSide, HubAddress, JetStreamObjects, NatsConnection, is_hub, open_far_side

        if not is_hub(to) or self._once:
            with closing(open_far_side(to)) as far:
                yield far, lambda: None
            return
        from quire_client.hub import TeamMember

        self._longest_s = HUB_REST_S
        connection = NatsConnection(HubAddress.parse(to))
        with closing(FarSide.of(JetStreamObjects(connection))) as far:
            place, environ = self._call.place, self._call.environ
            keys = _granted(client.prove(timeout_s=self._call.timeout_s(TIMEOUT_S)))["keys"]
            member = TeamMember(connection, _exchanging(client), _writers(client), keys, place, environ, time.monotonic)
            yield far, member.step

    def _tell_of_fork(self, journal: str) -> None:
        from quire_journal.shipment import origin_of

        if journal != self._journal and journal != origin_of(journal):
            self._call.say(f"{capitalised(fork_told(journal, origin_of(journal)))}.")
        self._journal = journal

    def _fine(self) -> None:
        if self._told:
            self._call.say("It goes on.")
        self._rest_s, self._told = POLL_S, ""

    def _say(self, trouble: str) -> None:
        if trouble != self._told:
            self._call.say(trouble)
        self._told = trouble


def _done(to: str, segments: int, now: Mapping[str, Any]) -> dict[str, Any]:
    message = (
        f"Shipped to {to} up to record {now['records']}, {render.counted(segments, 'segment')} more. "
        f"What was there before was not read again: `quire verify --against {shlex.quote(to)}` does that."
    )
    if gaps := now.get("gaps") or ():
        message += f" {capitalised(gaps_told(gaps))}."
    return {
        "ok": True,
        "message": message,
        "to": to,
        "segments": segments,
        "records": now["records"],
        **({"gaps": gaps} if gaps else {}),
    }


def _exchanging(client: Client) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def exchange(news: Mapping[str, Any]) -> Mapping[str, Any]:
        return _granted(client.hub(**news))

    return exchange


def _writers(client: Client) -> Callable[[], Iterable[Mapping[str, Any]]]:
    def writers() -> Iterable[Mapping[str, Any]]:
        found: Iterable[Mapping[str, Any]] = _granted(client.who(hours=1))["writers"]
        return found

    return writers


def _granted(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    from quire_client.ship import NoOutbox

    if not reply.get("ok"):
        raise NoOutbox(str(reply.get("message") or "The daemon did not answer."))
    return reply


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
    "there, on another disk or a share, or s3://BUCKET/PREFIX?endpoint=URL (pip install 'quire[ship]'), or\n"
    "nats://HOST:PORT/TEAM (pip install 'quire[hub]'); without it the team of `quire hub join`, or [ship] to of your\n"
    "config.toml. It runs beside the daemon until Ctrl-C; with --once it ends when everything is\n"
    "shipped. Records go as they are, signed; bytes of versions encrypted with a key for each, which `quire purge`\n"
    "destroys. What is secret, ignored or uncaptured never leaves, nor prompts and command lines. If the far side\n"
    "cannot be reached, nothing changes here: `quire status` says how far behind it is. `quire verify --against TO`\n"
    "reads it back.",
    example="quire ship /mnt/audit --once",
    run=run,
    options=(Option("once", "", "end when everything is shipped"),),
)
