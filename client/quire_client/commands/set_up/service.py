"""`quire service`: installs the daemon as a service of the user."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import Command, Invocation, Option, Surplus, Usage, chosen

if TYPE_CHECKING:
    from quire_client.service import Service, UnitFile
    from quire_client.setup import Change, File

COMMAND_LIMIT_S: Final = 60.0


def run(call: Invocation) -> int:
    what = {"install": install, "uninstall": uninstall, "status": status}
    if not call.arguments:
        raise Usage(f"Say what is wanted: {', '.join(what)}.")
    action, *rest = call.arguments
    chosen("What `quire service` can do", action, [*what])
    if len(rest) > 1:
        raise Surplus(rest[1])
    if rest:
        call.options = {**call.options, "workspace": str(call.folder / rest[0])}
    from quire_journal.model import Refusal

    try:
        return what[action](call)
    except Refusal as refused:
        return call.answer(refused.reply(), lambda reply: "")


def install(call: Invocation) -> int:
    """Write the service's files, end a running daemon, and start the service; return the exit status."""
    from quire_client.setup import write as setup_write
    from quire_journal.workspaces import checked, make_private_folder

    checked(call.place)
    service = _service(call)
    changes = setup_write.planned(_files(service.parts, lambda part: True), puts=True)
    reply = _told("install", call, service, changes)
    if "dry-run" not in call.options:
        make_private_folder(call.place.state.parent)
        setup_write.write(changes)
        reply |= _commanded(call, service.start, before=lambda: _end_running(call))
        reply["message"] = f"The service {service.name} is installed."
    return call.answer(_with_message(reply), lambda reply: _show(reply, call.colours))


def uninstall(call: Invocation) -> int:
    """Stop the service and remove its files; return the exit status. Raises Refusal if it cannot be stopped."""
    from quire_client.setup import write as setup_write
    from quire_journal.model import Refusal

    service = _service(call)
    others = _other_instances(service)
    changes = setup_write.planned(_files(service.parts, lambda part: not (part.shared and others)), puts=False)
    reply = _told("uninstall", call, service, changes)
    if not any(change.action != "unchanged" for change in changes):
        reply["commands"] = []
        reply["message"] = f"The service {service.name} is not installed."
    elif "dry-run" not in call.options:
        reply |= _commanded(call, service.stop)
        if reply["commands"] and not _is_missing(call, service.stop):
            # A service without its file would restart at each login, with no visible origin.
            message = f"The service {service.name} could not be stopped, and nothing was removed. {reply['reason']}."
            raise Refusal("busy", message, "retry", commands=reply["commands"])
        setup_write.write(changes)
        for change in changes:  # remove folders that are now empty
            if change.action == "remove" and change.path.parent.suffix == ".d":
                with contextlib.suppress(OSError):
                    change.path.parent.rmdir()
        if reply["performed"]:
            reply |= _commanded(call, service.reload)
        reply["message"] = f"The service {service.name} is removed. Its journal stays; `quire forget` removes that."
    return call.answer(_with_message(reply), lambda reply: _show(reply, call.colours))


def status(call: Invocation) -> int:
    """Print the state of the service's files, the service manager and the daemon; return the exit status."""
    from quire_client.setup import write as setup_write
    from quire_journal.workspaces import running

    service = _service(call)
    changes = setup_write.planned(_files(service.parts, lambda part: True), puts=True)
    words = {"unchanged": "installed", "create": "missing", "change": "outdated"}
    files = [{"path": str(change.path), "state": words[change.action]} for change in changes]
    states = {file["state"] for file in files}
    installed = "no" if states == {"missing"} else "yes" if states == {"installed"} else "outdated"
    said = [_asked(call, command) for command in service.ask]
    found = running(call.place)
    runs = f"A daemon runs (pid {found.pid})." if found is not None else "No daemon runs."
    verdict = {
        "no": "is not installed",
        "yes": "is installed",
        "outdated": "is installed in part, or by another version",
    }
    reply = {
        "ok": True,
        "message": f"The service {service.name} {verdict[installed]}. {runs}",
        "service": service.name,
        "installed": installed,
        "files": files,
        "manager": said,
        "pid": found.pid if found is not None else None,
    }
    return call.answer(reply, _show_status)


# ── the files ──


def _service(call: Invocation) -> Service:
    from quire_client.commands.agents import entry_point
    from quire_client.service import units
    from quire_journal.model import Refusal

    quired = os.path.join(os.path.dirname(entry_point()), "quired")
    if not os.access(quired, os.X_OK):
        raise Refusal("not_installed", f"There is no command {quired}; install the package.", "install_quire")
    home = Path.home()
    if sys.platform == "darwin":
        return units.launchd(call.place, quired, call.environ, home)
    return units.systemd(call.place, quired, call.environ, home, "on-demand" in call.options)


def _files(parts: Sequence[UnitFile], takes: Callable[[UnitFile], bool]) -> list[File]:
    return [_file(part, takes(part)) for part in parts]


def _file(part: UnitFile, takes: bool) -> File:
    from quire_client.service import MARK
    from quire_client.setup import File, MalformedConfig

    def put(found: str | None) -> str:
        if found and MARK not in found:
            raise MalformedConfig("it is not one that `quire service install` has written")
        return part.text

    def take(found: str) -> str | None:
        return None if takes and MARK in found else found

    return File(part.path, put, take)


def _other_instances(service: Service) -> bool:
    ours = {part.path for part in service.parts}
    shared = next((part.path.parent for part in service.parts if part.shared), None)
    return shared is not None and any(path not in ours for path in shared.glob("quired@?*.d/quire.conf"))


# ── the service manager ──


def _commanded(
    call: Invocation, commands: Sequence[tuple[str, ...]], before: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    from quire_client.service import spelled

    if _is_missing(call, commands):
        reason = f"There is no {commands[0][0]} here"
        return {"performed": False, "reason": reason, "commands": [spelled(command) for command in commands]}
    before()
    for at, command in enumerate(commands):
        status, said = _performed(call, command)
        if status:
            reason = f"`{spelled(command)}` failed ({render.one_line(said) or f'status {status}'})"
            return {"performed": False, "reason": reason, "commands": [spelled(left) for left in commands[at:]]}
    return {"performed": True, "commands": []}


def _is_missing(call: Invocation, commands: Sequence[tuple[str, ...]]) -> bool:
    import shutil

    return bool(commands) and shutil.which(commands[0][0], path=call.environ.get("PATH")) is None


def _performed(call: Invocation, command: tuple[str, ...]) -> tuple[int, str]:
    import subprocess

    try:
        done = subprocess.run(
            command,
            env=dict(call.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_LIMIT_S,
        )
    except FileNotFoundError:
        return 127, f"there is no {command[0]} here"
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


def _asked(call: Invocation, command: tuple[str, ...]) -> dict[str, Any]:
    from quire_client.service import spelled

    status, said = _performed(call, command)
    return {"command": spelled(command), "status": status, "said": said.splitlines()[:10]}


def _end_running(call: Invocation) -> None:
    from quire_client.transport import NoDaemon
    from quire_journal.workspaces import running

    if running(call.place) is None:
        return
    with contextlib.suppress(NoDaemon), call.connect(start=False) as client:
        client.shutdown_daemon()


# ── what is said ──


def _told(action: str, call: Invocation, service: Service, changes: Sequence[Change]) -> dict[str, Any]:
    from quire_client.service import spelled

    commands = service.start if action == "install" else (*service.stop, *service.reload)
    return {
        "ok": True,
        "message": "",
        "service": service.name,
        "dry_run": "dry-run" in call.options,
        "files": [{"path": str(change.path), "action": change.action, "diff": change.diff()} for change in changes],
        "performed": False,
        "commands": [spelled(command) for command in commands],
    }


def _with_message(reply: dict[str, Any]) -> dict[str, Any]:
    message = reply["message"]
    if reply["dry_run"] and not message:
        message = "Nothing was changed; this is what would be done."
    elif reply.get("reason"):
        message = f"{message} {reply['reason']}: run what stands above yourself."
    return {**reply, "message": message}


def _show(reply: Mapping[str, Any], colours: render.Palette) -> str:
    lines = [line for file in reply["files"] for line in render.clean_text(file["diff"]).splitlines()]
    told = [*map(colours.diff_line, lines), *(f"$ {render.clean(command)}" for command in reply["commands"])]
    return "\n".join([*told, str(reply["message"])])


def _show_status(reply: Mapping[str, Any]) -> str:
    return "\n".join([*_status_lines(reply), str(reply["message"])])


def _status_lines(reply: Mapping[str, Any]) -> Iterator[str]:
    yield from render.columns((file["state"], render.clean(file["path"])) for file in reply["files"])
    for asked in reply["manager"]:
        said = ", ".join(render.one_line(line) for line in asked["said"]) or f"status {asked['status']}"
        yield f"$ {render.clean(asked['command'])}: {said}"


COMMAND = Command(
    arguments="install|uninstall|status [PATH]",
    about="Makes the daemon of the workspace (or of PATH) a service of your own: a systemd user unit with a socket\n"
    "and a sandbox, or a launchd agent on macOS. It is there from login on, so that what other programs write is\n"
    "journaled before the first agent comes, and it is started again when it crashes. The changes are shown; only\n"
    "files that this command has written are changed or removed. Where the service manager cannot be asked, what is\n"
    "left to be run is printed.",
    example="quire service install ~/projects/site --dry-run",
    run=run,
    options=(
        Option("dry-run", "", "only show what would be done"),
        Option("on-demand", "", "the first call starts the daemon, not the login (systemd)"),
    ),
)
