"""`quire mcp`: serves the workspace's tools over MCP."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render
from quire_client.commands import DONE, TRIAL, ClientOptions, Command, Invocation, Option, Usage

if TYPE_CHECKING:
    from quire_client.api import Client
    from quire_client.hooks import Answerer
    from quire_client.mcp import AgentSessions, Own, Who
    from quire_journal.workspaces import Place

PROJECT_FOLDER: Final = "CLAUDE_PROJECT_DIR"
"""Environment variable with the project's folder, set by an agent that starts its MCP servers in another folder."""

ANSWERED: Final = ("claude-code",)
_SDK: Final = ("mcp", "mcp_types", "anyio", "pydantic")

_OFFERED: Final = "describe", {"offered": True}
_QUICK_S: Final = 2.0
TOKEN: Final = "mcp.token"
"""Name of the file with the HTTP server's token in the state folder."""


def run(call: Invocation) -> int:
    call.at_most(0)
    if "port" in call.options and "http" not in call.options:
        raise Usage("--port goes with --http.")
    if "workspace" not in call.options and call.environ.get(PROJECT_FOLDER):
        call.options = {**call.options, "workspace": call.environ[PROJECT_FOLDER]}
    place, timeout_s = call.place, call.timeout_s(30.0)  # evaluated first, to report errors before the slow imports
    if "http" not in call.options and call.options.get("agent") in ANSWERED and not call.environ.get(TRIAL):
        from quire_client.hooks import serving

        with serving(os.getppid()):  # from here on this process answers the agent's hooks
            return _serve(call, place, timeout_s)
    return _serve(call, place, timeout_s)


def _serve(call: Invocation, place: Place, timeout_s: float) -> int:
    _require_sdk()
    from quire_client.mcp import AgentSessions

    def connect(who: Who) -> Client:
        if call.environ.get(TRIAL):
            return call.opener(ClientOptions(place, "", "", timeout_s, start=True))
        named = ClientOptions(place, who.agent, who.session, timeout_s, start=True)
        return call.opener(named._replace(guessed=who.guessed, parent=who.parent))

    sessions, hooks = AgentSessions(connect), _hooks(call)
    try:
        if "http" in call.options:
            _over_http(call, sessions)
        else:
            _over_stdio(call, place, sessions, hooks)
    finally:
        at_rest = sessions.close()
        if hooks is not None:
            hooks.close()
    if not at_rest:
        os._exit(DONE)  # a waiting call would keep the process alive, but its client has ended
    return DONE


def _require_sdk() -> None:
    from importlib.util import find_spec

    missing = [name for name in _SDK if find_spec(name) is None]
    if missing:
        raise _no_sdk("" if missing[0] == _SDK[0] else f" whole, {missing[0]} is missing")


def _no_sdk(how: str) -> Usage:
    return Usage(
        f"The MCP SDK (the package mcp) is not installed{how}: run `{sys.executable} -m pip install 'mcp>=2.3,<3'`."
    )


def _load_sdk() -> None:
    try:
        from quire_client.mcp import over_stdio as over_stdio
    except ImportError as error:
        raise _no_sdk(f" whole ({error})") from None


def _over_stdio(call: Invocation, place: Place, sessions: AgentSessions, hooks: Answerer | None) -> None:
    from functools import partial

    from quire_client.mcp import FirstAnswers, Given, alone, standard_streams
    from quire_client.setup import TOOL

    own = _own(call, alone=True)
    listed = partial(_listed, call, place, sessions)
    first = FirstAnswers(Given(partial(alone, own), listed, None if hooks is None else hooks.answer, TOOL), _load_sdk)
    with standard_streams() as streams:
        if first.serve(*streams):
            _load_sdk()
            import anyio

            from quire_client.mcp import over_stdio

            anyio.run(over_stdio, sessions, own, hooks, streams, first)


def _listed(call: Invocation, place: Place, sessions: AgentSessions, who: Who) -> Sequence[Mapping[str, Any]] | None:
    from quire_client.transport import Quick, Unreachable
    from quire_journal import VERSION

    caller = {} if call.environ.get(TRIAL) else {"agent": who.agent, "agent_session": who.session}
    reply: Mapping[str, Any] = {}
    with suppress(Unreachable), Quick(place, caller, time.monotonic() + _QUICK_S) as quick:
        reply = quick.call(*_OFFERED)
        if quick.version != VERSION:
            reply = {}
    if not reply.get("ok"):  # for example, the daemon is not running
        reply = sessions.of(who).call(*_OFFERED)
    return reply["tools"] if reply.get("ok") else None


def _hooks(call: Invocation) -> Answerer | None:
    if "http" in call.options or call.options.get("agent") not in ANSWERED or call.environ.get(TRIAL):
        return None
    from quire_client.hooks import Answerer, Surroundings

    return Answerer(call.options["agent"], Surroundings(call.environ, os.fspath(call.folder), call.state_dir))


def _over_http(call: Invocation, sessions: AgentSessions) -> None:
    import anyio

    from quire_client.loopback import listen, token_in
    from quire_client.mcp import serve
    from quire_journal.workspaces import checked, make_private_folder

    checked(call.place)
    make_private_folder(call.place.state)
    token_file = call.place.state / TOKEN
    token = token_in(token_file)
    port = call.number("port") or 0
    if port > 65535:
        raise Usage(f"--port wants a port, up to 65535, not {port}.")
    try:
        sock = listen(port)
    except OSError as error:
        raise Usage(f"Port {port} cannot be listened on: {error.strerror}.") from None

    def ready(url: str) -> None:
        told: dict[str, Any] = {"ok": True, "url": url, "token_file": os.fspath(token_file), "pid": os.getpid()}
        sentence = f"Serving {call.place.root} at {url}; the token is in {token_file}."
        print(render.as_json(told) if call.json else sentence, flush=True)

    with sock:
        anyio.run(serve, sessions, _own(call, alone=False), sock, token, ready)


def _own(call: Invocation, *, alone: bool) -> Own:
    import secrets

    from quire_client.mcp import Own

    agent = call.options.get("agent", call.environ.get("QUIRE_AGENT", ""))
    if not alone:
        return Own(agent)
    guess = f"mcp-{secrets.token_hex(4)}"
    return Own(agent, call.options.get("session", ""), guess, call.environ)


COMMAND = Command(
    arguments="",
    about="Serves the workspace's tools to an agent that speaks MCP, over stdin and stdout; agents start it by\n"
    "themselves. With --http it serves many agents at a time, at a loopback address that it prints: each request\n"
    "needs the token in the file that it names (Authorization: Bearer TOKEN), and may say its agent session in the\n"
    "header Quire-Session. Which tools are offered is set by [mcp] tools. The agent is called as the client calls\n"
    "itself, unless --agent says otherwise; its session is that of the hooks of the same process, where it has any.",
    example="quire mcp -C ~/projects/site",
    run=run,
    options=(
        Option("http", "", "serve HTTP on 127.0.0.1 instead of stdin and stdout"),
        Option("port", "N", "the port of --http; a free one if not said"),
    ),
)
