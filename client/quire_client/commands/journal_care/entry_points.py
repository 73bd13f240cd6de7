"""Tests each way by which agents reach the daemon (hooks and MCP servers) with real calls, for `quire doctor`."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from quire_client.commands import TRIAL
from quire_client.hooks import AGENTS, GREETING, agent
from quire_client.setup import Scope, WayIn, broken, ways_in
from quire_client.transport import Quick, Unreachable
from quire_journal.workspaces import Place

SESSION: Final = "doctor"
TOOL: Final = "log"
"""Tool that is called over MCP: every agent is offered it, and it is cheap."""

HOOK_S: Final = 15.0
MCP_S: Final = 30.0
Check = tuple[str, bool, str]
"""Result of one test: (entry point, True if it reached the daemon, details)."""


def checks(place: Place, environ: Mapping[str, str], state_dir: str = "") -> Iterator[Check]:
    """Test every entry point and yield the result: the fast client, the agents' hooks, and their MCP servers."""
    yield "quick line", *_quick(place)
    servers: dict[tuple[str, ...], tuple[WayIn, list[str]]] = {}
    for name in AGENTS:
        for way in _ways_in(name, place, environ):
            if way.kind == "hook":
                yield f"hook {name}", *_hook(name, way, place)
            else:
                servers.setdefault(_but_the_name(way.command), (way, []))[1].append(name)
    named = ", ".join(dict.fromkeys(name for _, names in servers.values() for name in names))
    if importlib.util.find_spec("mcp") is None:
        said = "its SDK is not installed (pip install 'mcp>=2.3,<3')"
        yield "MCP", not named, f"{said}, and {named} would call it" if named else said
        return
    for way, names in servers.values():
        yield f"MCP {' '.join(dict.fromkeys(names))}", *_mcp(way.command, place)
    if not servers:
        own = [sys.executable, "-m", "quire_client", "mcp", "-C", str(place.root)]
        yield "MCP", *_mcp([*own, *(["--state-dir", state_dir] if state_dir else [])], place)


def unreadable(place: Place, environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield a failed check for each configuration file of an agent that cannot be read. Needs no daemon."""
    for name in AGENTS:
        told: dict[Path, str] = {}
        for project in (place.root, None):
            told |= broken(name, Scope(Path.home(), environ, project))
        for path, why in told.items():
            yield f"files of {name}", False, f"{path} cannot be read: {why}; mend it, then `quire setup {name}`"


def _but_the_name(command: tuple[str, ...]) -> tuple[str, ...]:
    before = ("", *command[:-1])
    return tuple(word for word, last in zip(command, before, strict=True) if last != "--agent")


def _ways_in(name: str, place: Place, environ: Mapping[str, str]) -> list[WayIn]:
    found = [way for project in (place.root, None) for way in ways_in(name, Scope(Path.home(), environ, project))]
    return list({(way.kind, way.command): way for way in found}.values())


def _quick(place: Place) -> tuple[bool, str]:
    try:
        with Quick(place, {}, time.monotonic() + HOOK_S) as line:
            reply = line.call("status", {})
    except Unreachable as reason:
        return False, str(reason)
    return bool(reply.get("ok")), f"answered by pid {reply.get('pid', '?')}"


def _hook(name: str, way: WayIn, place: Place) -> tuple[bool, str]:
    event = json.dumps(agent(name).greeting(SESSION, str(place.root))).encode()
    began = time.monotonic()
    try:
        ran = subprocess.run(
            way.command,
            input=event,
            capture_output=True,
            timeout=HOOK_S,
            cwd=place.root,
            env=_without(agent(name).env_file),
        )
    except FileNotFoundError:
        return False, f"{way.path} calls {way.command[0]}, which is not there; `quire setup {name}` puts it right"
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"{way.command[0]}: {error}"
    took = f"in {(time.monotonic() - began) * 1000:.0f} ms"
    if ran.returncode:
        return False, f"status {ran.returncode} {took}: {_last_line(ran.stderr)}"
    with contextlib.suppress(ValueError):
        if GREETING in json.dumps(json.loads(ran.stdout)):
            return True, f"{way.path}, answered {took}"
    said = ran.stdout.decode("utf-8", "replace").strip()
    return False, f"{way.path}: no daemon answered ({_last_line(ran.stderr) or said[:200]})"


def _without(file: str) -> dict[str, str]:
    return {name: value for name, value in _trial().items() if name != file}


def _trial() -> dict[str, str]:
    return {**os.environ, TRIAL: "1"}


def _mcp(command: Sequence[str], place: Place) -> tuple[bool, str]:
    began = time.monotonic()
    try:
        server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=place.root,
            env=_trial(),
        )
    except OSError as error:
        return False, f"{command[0]} cannot be run ({error.strerror}); `quire setup` puts it right"
    limit = threading.Timer(MCP_S, server.kill)
    limit.start()
    try:
        told = _shaken(server)
    except (OSError, ValueError) as error:
        return False, f"{' '.join(command)}: {error}"
    finally:
        limit.cancel()
        server.kill()
        server.communicate()
    if told.get("isError") or not (told.get("structuredContent") or {}).get("ok"):
        return False, f"{' '.join(command)}: `{TOOL}` was answered with {str(told)[:200]}"
    return True, f"{os.path.basename(command[0])} {' '.join(command[1:])}, answered in {time.monotonic() - began:.1f} s"


def _shaken(server: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert server.stdin is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": SESSION, "version": "1"}}
    said: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": TOOL, "arguments": {"limit": 1}}},
    ]
    for message in said:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        if "id" in message:
            result = _answer(server, message["id"])
    return result


def _answer(server: subprocess.Popen[bytes], wanted: object) -> dict[str, Any]:
    assert server.stdout is not None
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == wanted:
            if "result" not in message:
                raise ValueError(str(message.get("error"))[:200])
            return dict(message["result"])
    raise ValueError("it ended, or took too long, without an answer")


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""
