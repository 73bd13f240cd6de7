"""`quire hub`: joins this host to a team on NATS, prints the team's state, and leaves it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import DAMAGED, DONE, Command, Invocation, MissingArgument, Option, Usage

if TYPE_CHECKING:
    from quire_client.ship import HubAddress

VERBS: Final = ("join", "status", "verify", "leave", "serve")

DEFAULT_PORT: Final = 4222
DEV_TEAM: Final = "dev"

FIRST_WAIT_S: Final = 10.0
"""Maximum number of seconds that `join` waits for the shipper to reach the hub."""


def run(call: Invocation) -> int:
    """Perform the action that the first word names; `status` without one. Returns the exit status; raises Usage."""
    from quire_client.ship import FarSideUnreachable

    verb = call.arguments.pop(0) if call.arguments else "status"
    try:
        if verb == "join":
            return _join(call)
        call.at_most(0)
        if verb == "serve":
            return _serve(call)
        if verb == "leave":
            return _leave(call)
        if verb == "verify":
            return _verify(call)
        if verb == "status":
            return _status(call)
    except FarSideUnreachable as error:
        message = f"The hub cannot be reached: {error}. Nothing is lost here; what is recorded waits."
        return call.answer({"ok": False, "error": "unreachable", "message": message}, lambda reply: "")
    raise Usage(f"quire hub {render.one_line(verb)}: there are {', '.join(VERBS[:-1])} and {VERBS[-1]}.")


def _address(call: Invocation) -> HubAddress:
    """Return the address of the team that this checkout has joined. Raises Usage if it has joined none."""
    from quire_client.hub import joined
    from quire_client.ship import HubAddress

    text = joined(call.place.state)
    if not text:
        raise Usage("This checkout has joined no team: quire hub join nats://HOST:PORT/TEAM does.")
    return HubAddress.parse(text)


# ── join and leave ───────────────────────────────────────────────────────────


def _join(call: Invocation) -> int:
    from quire_client.hub import (
        at_hub,
        condition,
        join,
        joined,
        make_team,
        server_states,
        shipper,
        start_shipper,
        stop_shipper,
        warnings,
    )
    from quire_client.ship import HubAddress

    call.at_most(1)
    if not call.arguments:
        raise MissingArgument("ADDRESS")
    given = _with_options(call.arguments[0], call)
    address = HubAddress.parse(given)
    with at_hub(address) as (connection, _):
        make_team(connection, call.number("replicas") or _replicas(address), int(time.time() * 1000))
        found = condition(connection)
    state = call.place.state
    with call.connect() as client:  # starts a daemon, which creates the state folder
        before = joined(state)
        join(state, given)
        client.hub(join=True)
    if before != given and stop_shipper(state):
        _await(lambda: not shipper(state))
    started = "no-start" not in call.options
    if started and not shipper(state):
        start_shipper(call.place.root, state)
        started = _await(lambda: bool(shipper(state)))
    for warning in warnings(found, server_states(address)):
        call.say(warning)
    how = "quire ship carries its history there" if started else "quire ship will carry its history there"
    message = f"{call.place.root} is in the team {address.team} at {address}; {how}. quire hub status tells how far."
    reply = {"ok": True, "message": message, "address": str(address), "team": address.team, "shipping": started}
    return call.answer(reply, lambda reply: str(reply["message"]))


def _with_options(text: str, call: Invocation) -> str:
    """Return the address with `--monitor`, `--creds` and `--ca` as parameters. File names become absolute, as the
    shipper runs in another folder; raises Usage for a missing file.
    """
    from urllib.parse import quote

    fields = {"monitor": call.options["monitor"]} if "monitor" in call.options else {}
    for name in ("creds", "ca"):
        if name in call.options:
            path = Path(os.path.abspath(call.folder / Path(call.options[name]).expanduser()))
            if not path.is_file():
                raise Usage(f"--{name}: there is no file {path}.")
            fields[name] = os.fspath(path)
    for name, value in fields.items():
        text += f"{'&' if '?' in text else '?'}{name}={quote(value)}"
    return text


def _replicas(address: HubAddress) -> int:
    return 3 if len(address.servers) >= 3 else 1


def _leave(call: Invocation) -> int:
    from quire_client.hub import joined, leave, stop_shipper

    state = call.place.state
    address = joined(state)
    stopped = stop_shipper(state)
    leave(state)
    if not address:
        message = "This checkout was in no team." + (" Its shipper was asked to end." if stopped else "")
    else:
        message = "This checkout has left its team. What it shipped stays at the hub."
    with call.connect(start=False) as client:
        client.hub(leave=True)
    return call.answer({"ok": True, "message": message, "stopped": stopped}, lambda reply: str(reply["message"]))


# ── how it is ────────────────────────────────────────────────────────────────


def _status(call: Invocation) -> int:
    from quire_client.hub import at_hub, condition, journals_at_hub, server_states, shipper, warnings
    from quire_journal.history import rfc3339

    address = _address(call)
    with call.connect() as client:
        own = client.outbox(look=True)
        heard = client.hub()
    with at_hub(address) as (connection, far):
        found, there = condition(connection), journals_at_hub(connection, far)
    present = {str(host["journal"]): host for host in heard["hosts"]}
    rows = [
        {
            "journal": one.journal,
            "checkout": one.label,
            "you": one.journal == own["journal"],
            "records": one.records,
            "segments": one.segments,
            "newest": rfc3339(one.newest_ns) if one.newest_ns else None,
            "present": one.journal in present,
            "wrong": one.wrong,
        }
        for one in there
    ]
    reply = {
        "ok": True,
        "message": f"{render.counted(len(rows), 'journal')} at {address}.",
        "address": str(address),
        "server": found._asdict(),
        "advice": warnings(found, server_states(address)),
        "shipper": shipper(call.place.state) or None,
        "behind": own["behind"],
        "journals": rows,
    }
    return call.answer(reply, lambda reply: "\n".join(_told(reply)))


def _told(reply: Mapping[str, Any]) -> Iterator[str]:
    yield str(reply["message"])
    behind, runs = reply["behind"], reply["shipper"]
    here = f"{render.counted(behind, 'record')} of this checkout are not there yet" if behind else "All of it is there"
    yield f"{here}; " + ("quire ship runs." if runs else "quire ship does not run: quire hub join starts it again.")
    yield from reply["advice"]
    rows = []
    for one in reply["journals"]:
        label = render.one_line(one["checkout"] or one["journal"])
        mark = " (this one)" if one["you"] else ""
        there = "present" if one["present"] or (one["you"] and runs) else ""
        newest = render.moment(one["newest"]) if one["newest"] else ""
        rows.append((f"  {label}{mark}", render.counted(one["records"], "record"), newest, there or one["wrong"]))
    yield from render.columns(rows)


def _verify(call: Invocation) -> int:
    from quire_client.hub import at_hub, card_of, checked_journal, journals_at_hub, labels

    address = _address(call)
    rows: list[dict[str, Any]] = []
    with at_hub(address) as (connection, far):
        cards = labels(connection)
        for one in journals_at_hub(connection, far):
            card = card_of(cards, one.journal)
            found = checked_journal(far, one.journal, card, "no-bytes" not in call.options)
            rows.append({"journal": one.journal, "checkout": one.label, **found._asdict()})
    bad = [row for row in rows if row["wrong"]]
    message = f"{render.counted(len(rows), 'journal')} at {address}: " + (f"{len(bad)} not sound." if bad else "sound.")
    reply = {"ok": True, "message": message, "journals": rows}
    call.answer(reply, lambda reply: "\n".join(_verdicts(reply)))
    return DAMAGED if bad else DONE


def _verdicts(reply: Mapping[str, Any]) -> Iterator[str]:
    yield str(reply["message"])
    for row in reply["journals"]:
        label = render.one_line(row["checkout"] or row["journal"])
        sound = ", sound" if row["signed"] else ", sound; no host tells its key, so no signature was checked"
        yield f"  {label}: {render.counted(row['records'], 'record')}" + ("" if row["wrong"] else sound)
        yield from (f"    {one}" for one in render.first_of(row["wrong"]))


# ── a server for trying ──────────────────────────────────────────────────────


def _serve(call: Invocation) -> int:
    from quire_client.hub import NoServer, binary, configure
    from quire_journal.workspaces import make_private_folder, state_home

    if "dev" not in call.options:
        raise Usage("quire hub serve --dev runs a server for trying; docs/hub.md has the files for a real one.")
    port = call.number("port") or DEFAULT_PORT
    monitor = port + 4000 if port < 61_000 else port - 4000
    folder = Path(call.options["data"]).absolute() if "data" in call.options else state_home() / "hub-dev"
    try:
        program = binary()
    except NoServer as reason:
        raise Usage(str(reason)) from None
    folder.parent.mkdir(parents=True, exist_ok=True)
    make_private_folder(folder)
    config = configure(folder, port, monitor)
    call.say(f"A server for trying, on this machine only; its data is in {folder}. Ctrl-C ends it. In a checkout:")
    elsewhere = "" if port == DEFAULT_PORT else f" --monitor http://127.0.0.1:{monitor}"
    call.say(f"  quire hub join nats://127.0.0.1:{port}/{DEV_TEAM}{elsewhere}")
    os.execv(program, [program, "-c", os.fspath(config)])


def _await(done: Any) -> bool:
    until = time.monotonic() + FIRST_WAIT_S
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


COMMAND = Command(
    arguments="[join ADDRESS | status | verify | leave | serve --dev]",
    about="Joins the checkouts of several machines by NATS JetStream (pip install 'quire[hub]'). Each ships its\n"
    "history there, and hears who works on the same repository elsewhere, on what, and with which leases; `quire who`\n"
    "and `claims` show it with --all-checkouts, `quire log` with --host. ADDRESS is nats://HOST:PORT/TEAM, or tls://…\n"
    "for another machine. The hub carries and never decides: without it everything goes on here, and what is recorded\n"
    "waits. What is secret, ignored or uncaptured never leaves, as with `quire ship`, which join starts. verify reads\n"
    "all journals of the team and checks them; status 7 says that one is not sound, status 4 that the hub cannot be\n"
    "reached or the team is gone there. serve --dev runs a server for trying on this machine.",
    example="quire hub join nats://127.0.0.1:4222/dev",
    run=run,
    words=VERBS,
    options=(
        Option("creds", "FILE", "join: the credentials of this host"),
        Option("monitor", "URL", "join: the server's monitoring, for quire doctor; http://HOST:8222 if not said"),
        Option("ca", "FILE", "join: certificates that the server's is checked against"),
        Option("replicas", "N", "join: copies of a new team's stream; 3 if three hosts are named, else 1"),
        Option("no-start", "", "join: do not start quire ship"),
        Option("no-bytes", "", "verify: only the records, not the encrypted bytes"),
        Option("dev", "", "serve: a server for trying"),
        Option("port", "PORT", "serve: where it listens on loopback; 4222 if not said"),
        Option("data", "FOLDER", "serve: where it keeps its data"),
    ),
)
