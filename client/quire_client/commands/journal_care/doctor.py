"""`quire doctor`: checks client, daemon and journal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import Progress, render
from quire_client.commands import DONE, REFUSED, Command, Invocation
from quire_journal import VERSION

if TYPE_CHECKING:
    from quire_journal.workspaces import Place

LONGEST: Final = 600
CHECK_S: Final = 15.0


def run(call: Invocation) -> int:
    call.at_most(0)
    with Progress("Checking", call.person_watches):
        checks = list(_checks(call))
    healthy = all(check["ok"] for check in checks)
    message = "All is well." if healthy else "Something needs a look."
    reply = {"ok": True, "message": message, "healthy": healthy, "checks": checks}
    call.answer(reply, lambda reply: _show(reply, call.colours))
    return DONE if healthy else REFUSED


def _checks(call: Invocation) -> Iterator[dict[str, Any]]:
    from quire_journal.workspaces import WorkspaceRefused, checked, make_private_folder

    yield _check("client", True, f"quire {VERSION}")
    try:
        place = call.place
        yield _check("workspace", True, str(place.root))
        checked(place)
        yield _check("state folder", True, str(place.state))
    except WorkspaceRefused as refused:
        yield _check("workspace", False, str(refused))
        return
    try:
        make_private_folder(place.socket.parent)
        yield _check("runtime folder", True, str(place.socket.parent))
    except WorkspaceRefused as refused:
        yield _check("runtime folder", False, str(refused))
        return
    settings = _settings(place)
    yield settings
    yield from _agents(call)
    yield from _hub(call)
    yield from _daemon_checks(call, settings["ok"])


def _settings(place: Place) -> dict[str, Any]:
    from quire_journal.workspaces import settings_files

    if not any(os.path.lexists(path) for path in settings_files(place.root)):
        return _check("settings", True, "no files; the defaults hold")
    import subprocess

    from quire_client.transport import checking_settings

    asked = checking_settings(place)
    try:
        ran = subprocess.run(asked, capture_output=True, text=True, errors="replace", timeout=CHECK_S, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return _check("settings", False, f"{asked[0]}: {error}")
    said = (ran.stderr or ran.stdout).strip().rpartition("\n")[2].removeprefix("quired: ")
    return _check("settings", not ran.returncode, said)


def _daemon_checks(call: Invocation, settings_ok: bool) -> Iterator[dict[str, Any]]:
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import running

    found = running(call.place)
    if found is None:
        cannot = "not running, and none can be started before the settings are put right or that file is moved away"
        yield _check("daemon", settings_ok, "not running; the next call starts it" if settings_ok else cannot)
        if not os.access(call.place.root, os.W_OK):  # not tested by writing: a running daemon does that
            yield _check("checkout", False, "can only be read: reading, log and blame work, every write is refused")
        return
    try:
        with call.connect(start=False) as client:
            status, reply = client.status(), client.doctor()
    except NoDaemon as reason:
        yield _check("daemon", False, str(reason))
        return
    if not reply.get("ok"):
        yield _check("daemon", False, str(reply.get("message", "It did not answer.")))
        return
    version = (status.get("versions") or {}).get("daemon", VERSION)
    told = f"pid {status.get('pid', '?')}, version {version}"
    if version != VERSION:
        told += f"; this client is {VERSION}: `quire down` ends the old daemon, the next call starts the new one"
    yield _check("daemon", version == VERSION, told)
    yield from reply.get("checks") or ()
    if found.socket:
        yield from _ways_in(call)


def _agents(call: Invocation) -> Iterator[dict[str, Any]]:
    from quire_client.commands.journal_care.entry_points import unreadable

    for name, ok, detail in unreadable(call.place, call.environ):
        yield _check(name, ok, detail)


def _hub(call: Invocation) -> Iterator[dict[str, Any]]:
    """Yield checks of the journal's copy at the team's hub: whether records may be lost, and whether `quire ship` runs.
    A hub on this machine is for trials: its warnings are shown, but the check passes.
    """
    from quire_client.hub import joined

    if not (text := joined(call.place.state)):
        return
    from quire_client.hub import at_hub, condition, server_states, shipper, warnings
    from quire_client.ship import FarSideUnreachable, HubAddress

    try:
        address = HubAddress.parse(text)
        with at_hub(address) as (connection, _):
            found = condition(connection)
    except FarSideUnreachable as error:
        yield _check("hub", False, f"cannot be reached: {error}. Nothing is lost here; what is recorded waits")
        return
    for said in warnings(found, server_states(address)):
        yield _check("hub", address.is_local, said + (" For trying that will do." if address.is_local else ""))
    runs = bool(shipper(call.place.state))
    detail = f"{address}, server {found.version}" if runs else "no `quire ship` runs; quire hub join starts it again"
    yield _check("hub", runs, detail)


def _ways_in(call: Invocation) -> Iterator[dict[str, Any]]:
    from quire_client.commands.journal_care.entry_points import checks

    for name, ok, detail in checks(call.place, call.environ, call.options.get("state-dir", "")):
        yield _check(name, ok, detail)


def _check(name: str, ok: bool, detail: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "detail": detail}


def _show(reply: Mapping[str, Any], colours: render.Palette) -> str:
    checks = reply["checks"]
    lines = render.columns(
        (
            "ok  " if check.get("ok") else "BAD ",
            render.one_line(check.get("name", "")),
            render.one_line(check["detail"], LONGEST),
        )
        for check in checks
    )
    painted = [
        line if check.get("ok") else colours.paint(line, "red") for line, check in zip(lines, checks, strict=True)
    ]
    return "\n".join([*painted, str(reply["message"])])


COMMAND = Command(
    arguments="",
    about="Checks the workspace, the folders for state and socket, the settings, the files of agents, the daemon's\n"
    "version and health, and which protections of the file system are active. Where a daemon runs, a real call goes\n"
    "through each way in: the hooks of the agents that were set up, by the commands in their own files, and MCP.\n"
    "Starts no daemon. Ends with status 1 when a check fails.",
    example="quire doctor",
    run=run,
)
