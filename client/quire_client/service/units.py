"""Generates the service files of a workspace's daemon and the commands that activate them. Writes nothing.

    ~/.config/systemd/user/quired@.service                    for all workspaces: the service
                           quired@.socket                     … and its socket
                           quired@INSTANCE.service.d/quire.conf   for one workspace: its state folder
                           quired@INSTANCE.socket.d/quire.conf    … and its socket's path
    ~/Library/LaunchAgents/quire.NAME-HASH.plist              macOS: for one workspace

Only a file that contains `MARK` may be changed or removed.
"""

from __future__ import annotations

import os
import plistlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from quire_journal.model import Refusal
from quire_journal.workspaces import Place, state_home

MARK: Final = "Written by `quire service install`"
"""The text that marks a service file as written by Quire."""

_HERE: Final = Path(__file__).parent
_UNITS: Final = (_HERE, _HERE.parents[2] / "systemd")
_LONGEST_NAME: Final = 255  # bytes of a file's name


class UnitFile(NamedTuple):
    """A service file and its required content."""

    path: Path
    text: str
    shared: bool = False  # used by all workspaces: not removed while another one needs it


class Service(NamedTuple):
    """The service of one workspace: its files, and the service manager's commands as argument lists."""

    name: str  # name in the service manager
    parts: tuple[UnitFile, ...]
    start: tuple[tuple[str, ...], ...]  # commands after the files are written
    stop: tuple[tuple[str, ...], ...]  # commands before the files are removed
    reload: tuple[tuple[str, ...], ...]  # commands after the files are removed
    ask: tuple[tuple[str, ...], ...]  # commands that print the service's state


def systemd(place: Place, quired: str, environ: Mapping[str, str], home: Path, on_demand: bool) -> Service:
    """Return the systemd service of a workspace. `on_demand` starts the daemon at the first call, else at login.

    Raises Refusal if the escaped path is too long for a file name.
    """
    instance = escaped(place.root)
    service, socket = f"quired@{instance}.service", f"quired@{instance}.socket"
    if len(service) + len(".d") > _LONGEST_NAME:
        raise _unfit(place, f"its path, escaped as systemd wants it, makes a name of {len(service)} characters")
    units = _config_home(environ, home) / "systemd" / "user"
    template = _unit("quired@.service").replace("@QUIRED@", _quoted(quired))
    parts = (
        UnitFile(units / "quired@.service", template, shared=True),
        UnitFile(units / "quired@.socket", _unit("quired@.socket"), shared=True),
        UnitFile(units / f"{service}.d" / "quire.conf", _where(place, quired, environ)),
        UnitFile(units / f"{socket}.d" / "quire.conf", _listening(place)),
    )
    # Always enable the socket: after `quire down` or an update, the next call starts the daemon as this service.
    enabled = (socket,) if on_demand else (socket, service)
    control = ("systemctl", "--user")
    return Service(
        service,
        parts,
        start=((*control, "daemon-reload"), (*control, "enable", "--now", *enabled)),
        stop=((*control, "disable", "--now", socket, service),),
        reload=((*control, "daemon-reload"),),
        ask=((*control, "is-enabled", socket, service), (*control, "is-active", socket, service)),
    )


def _unit(name: str) -> str:
    here = next((folder for folder in _UNITS if (folder / name).is_file()), _HERE)
    return (here / name).read_text("utf-8")


def launchd(place: Place, quired: str, environ: Mapping[str, str], home: Path) -> Service:
    """Return the launchd agent of a workspace, which runs from login on. Raises Refusal if its path is not UTF-8."""
    label = f"quire.{place.state.name}"
    path = home / "Library" / "LaunchAgents" / f"{label}.plist"
    domain = f"gui/{os.getuid()}"
    return Service(
        label,
        (UnitFile(path, _plist(label, place, quired, environ)),),
        start=(("launchctl", "bootstrap", domain, str(path)),),
        stop=(("launchctl", "bootout", f"{domain}/{label}"),),
        reload=(),
        ask=(("launchctl", "print", f"{domain}/{label}"),),
    )


def escaped(path: Path) -> str:
    plain = os.fsencode(path).strip(b"/")
    if not plain:
        return "-"
    parts = [b"".join(map(_escaped_byte, part)) for part in plain.split(b"/") if part]
    name = b"-".join(parts)
    return (name if not name.startswith(b".") else b"\\x2e" + name[1:]).decode("ascii")


def _escaped_byte(byte: int) -> bytes:
    kept = byte < 0x80 and (chr(byte).isalnum() or chr(byte) in ":_.")
    return bytes([byte]) if kept else b"\\x%02x" % byte


def _where(place: Place, quired: str, environ: Mapping[str, str]) -> str:
    lines = [f"# {MARK}.", "[Service]"]
    said = _folders(environ)
    if said:
        lines.append("# As the variables were at the installation.")
        lines += [f"Environment={_quoted(f'{name}={value}')}" for name, value in said.items()]
    if place.state.parent != home_of_journals():
        lines += ["# The journal has a folder of its own (--state-dir).", "ExecStart="]
        lines.append(f"ExecStart=:{_quoted(quired)} --workspace %f --state-dir {_quoted(os.fspath(place.state))}")
    lines += ["# The journal's folder.", f"ReadWritePaths={_quoted(os.fspath(place.state.parent))}"]
    return "\n".join([*lines, ""])


def _folders(environ: Mapping[str, str]) -> dict[str, str]:
    named = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")
    return {name: environ[name] for name in named if os.path.isabs(environ.get(name, ""))}


def home_of_journals() -> Path:
    return Path(os.path.realpath(state_home()))


def _listening(place: Place) -> str:
    return f"# {MARK}.\n[Socket]\n# Where clients look.\nListenStream=%t/quire/{place.socket.name}\n"


def _plist(label: str, place: Place, quired: str, environ: Mapping[str, str]) -> str:
    try:
        os.fspath(place.root).encode("utf-8")
    except UnicodeEncodeError:
        raise _unfit(place, "its path is not UTF-8, which property lists cannot say") from None
    told = {
        "Label": label,
        "ProgramArguments": [quired, "--workspace", os.fspath(place.root)],
        "RunAtLoad": True,
        # Restarted after a signal, but not after status 2 (it cannot start) or 3 (another daemon serves already).
        "KeepAlive": {"Crashed": True},
        "ProcessType": "Background",
        "Umask": 0o077,
        "HardResourceLimits": {"Core": 0},
        "StandardErrorPath": os.fspath(place.start_error),
    }
    if place.state.parent != home_of_journals():
        told["ProgramArguments"] = [quired, "--workspace", os.fspath(place.root), "--state-dir", os.fspath(place.state)]
    if _folders(environ):
        told["EnvironmentVariables"] = _folders(environ)
    lines = plistlib.dumps(told, sort_keys=False).decode("utf-8").split("\n")
    return "\n".join([*lines[:2], f"<!-- {MARK}. -->", *lines[2:]])


def _quoted(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return inner if inner == text and not set(text) & set(" \t'$;") else f'"{inner}"'


def _config_home(environ: Mapping[str, str], home: Path) -> Path:
    chosen = environ.get("XDG_CONFIG_HOME", "")
    return Path(chosen) if os.path.isabs(chosen) else home / ".config"


def _unfit(place: Place, why: str) -> Refusal:
    message = f"{place.root} cannot be a service: {why}. Without one the daemon is started when it is needed."
    return Refusal("config_unusable", message, "start_daemon", path=os.fspath(place.root))


def spelled(command: tuple[str, ...]) -> str:
    return shlex.join(command)
