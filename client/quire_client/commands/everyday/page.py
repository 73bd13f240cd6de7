"""`quire page`: serves the workspace's history to a local browser."""

from __future__ import annotations

import hmac
import os
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from quire_client.cli import render, when
from quire_client.commands import DONE, ClientOptions, Command, Invocation, Option, Usage, asked_again

if TYPE_CHECKING:
    from pathlib import Path

    from quire_client.api import Client
    from quire_client.page import Daemon, OtherHosts, PageGate
    from quire_journal.workspaces import Place

ANSWER_S: Final = 1.0
"""Maximum number of seconds to wait for each daemon's status for the list of workspaces."""

_SERVER: Final = ("starlette", "uvicorn", "anyio")


def run(call: Invocation) -> int:
    call.at_most(0)
    port = call.number("port") or 0
    if port > 65535:
        raise Usage(f"--port wants a port, up to 65535, not {port}.")
    hosts = _hosts(call)
    if wrong := next((host for host in hosts if "*" in host or "/" in host), None):
        raise Usage(f"--host wants the name and port that a browser shows, such as box.example:8080, not {wrong!r}.")
    _require_server()
    from quire_client.loopback import listen, token_in
    from quire_client.page import TOKEN, PageDown, hold
    from quire_journal.workspaces import checked, make_private_folder

    if "all" not in call.options:
        checked(call.place)
    state = _state_of(call)
    make_private_folder(state)
    try:
        sock = listen(port)
    except OSError as error:
        raise Usage(f"Port {port} cannot be listened on: {error.strerror}.") from None
    try:
        with sock, hold(state, sock.getsockname()[1]) as other:
            if "revoke" in call.options:
                return _revoke(call, other, state / TOKEN)
            if other:
                sock.close()
                return _another(call, other, token_in(state / TOKEN))
            serve = _serve_all if "all" in call.options else _serve
            serve(call, sock, state / TOKEN, hosts)
    except PageDown as reason:
        return call.answer({"ok": False, "error": "no_daemon", "message": str(reason)}, lambda reply: "")
    return DONE


def _state_of(call: Invocation) -> Path:
    from quire_journal.workspaces import state_home

    return state_home() if "all" in call.options else call.place.state


def _hosts(call: Invocation) -> list[str]:
    return [host for host in call.options.get("host", "").split(",") if host]


def _require_server() -> None:
    from importlib.util import find_spec

    missing = next((name for name in _SERVER if find_spec(name) is None), None)
    if missing:
        raise Usage(
            f"What serves the page is not installed ({missing} is missing): run `{sys.executable} -m pip install "
            "'starlette>=1.0,<2' 'uvicorn>=0.40'`."
        )


def _serve(call: Invocation, sock: Any, token_file: Path, hosts: list[str]) -> None:
    import anyio

    from quire_client.loopback import token_in
    from quire_client.page import Daemon, Keys, application, serve

    call.connect().close()  # reports errors of the workspace
    port = sock.getsockname()[1]
    keys = Keys()

    daemon = Daemon(partial(_client, call, call.place))
    gate = application(
        daemon,
        keys,
        token_in(token_file),
        port,
        time.monotonic,
        partial(_renewed, token_file),
        hosts,
        elsewhere=_elsewhere(call.place.state, daemon).lanes,
    )
    try:
        anyio.run(serve, gate, sock, lambda: _told(call, gate.link(_right(call))))
    except KeyboardInterrupt:
        pass
    finally:
        daemon.close()


def _client(call: Invocation, place: Place, start: bool) -> Client:
    """Return a client that also accepts git's names for points, as the command line does."""
    client = call.opener(ClientOptions(place, "", "", call.timeout_s(30.0), start))
    client.again = partial(asked_again, tell=lambda said: None)
    return client


def _elsewhere(state: Path, daemon: Daemon) -> OtherHosts:
    from quire_client.page import QUERY_S, OtherHosts

    return OtherHosts(state, lambda: daemon.call("hub", {}, QUERY_S), time.monotonic)


def _serve_all(call: Invocation, sock: Any, token_file: Path, hosts: list[str]) -> None:
    import anyio

    from quire_client.journals import journals
    from quire_client.loopback import token_in
    from quire_client.page import Daemon, Keys, Overview, WorkspaceRow, application, serve, static_files

    port, static, daemons = sock.getsockname()[1], static_files(), list[Daemon]()

    def listed() -> Iterator[WorkspaceRow]:
        for one in sorted(journals(), key=lambda one: -one.changed_ns):
            root, home = one.identity.root, os.path.expanduser("~")
            folder = f"~{root.removeprefix(home)}" if root.startswith(f"{home}/") else root
            row = WorkspaceRow(one.identity.id, os.path.basename(root), folder, _changed(one.changed_ns), one.exists)
            yield row if one.daemon is None else row._replace(**_health(one.place))

    def page_of(asked: str) -> PageGate:
        found = next((one for one in journals() if one.identity.id == asked and one.exists), None)
        if found is None:
            raise LookupError(asked)
        place = found.place

        def own() -> str:
            """Return the token of this workspace's page, derived from the token of the page of all workspaces."""
            return hmac.new(token_in(token_file).encode(), asked.encode(), "sha256").hexdigest()

        daemons.append(Daemon(partial(_client, call, place)))
        elsewhere = _elsewhere(place.state, daemons[-1]).lanes
        return application(daemons[-1], Keys(), own(), port, time.monotonic, own, static=static, elsewhere=elsewhere)

    pages = Overview(
        token_in(token_file), port, time.monotonic, partial(_renewed, token_file), listed, page_of, static, hosts
    )
    try:
        anyio.run(serve, pages, sock, lambda: _told(call, pages.link(_right(call))))
    except KeyboardInterrupt:
        pass
    finally:
        for daemon in daemons:
            daemon.close()


def _changed(at_ns: int) -> str:
    if not at_ns:
        return "never written"
    now = datetime.now(UTC)
    return when(datetime.fromtimestamp(at_ns // 10**9, UTC).isoformat(), now)


def _health(place: Place) -> dict[str, Any]:
    """Return the state that a running daemon reports, as fields of a `WorkspaceRow`."""
    from quire_client.transport import Quick, Unreachable

    try:
        with Quick(place, {}, time.monotonic() + ANSWER_S) as line:
            status, who = line.call("status", {}), line.call("who", {"present": True})
    except Unreachable:
        return {"trouble": "its daemon does not answer"}
    coverage = status.get("coverage") or {}
    reasons = "; ".join(render.one_line(one) for one in coverage.get("reasons") or ())
    trouble = "" if coverage.get("state") == "full" else reasons or render.one_line(status.get("message", ""))
    agents = [render.writer(one) for one in who.get("writers") or () if one.get("present") and one.get("agent")]
    return {"recorded": True, "trouble": trouble, "at_work": tuple(dict.fromkeys(agents))}


def _renewed(token_file: Path) -> str:
    from quire_client.loopback import token_in

    token_file.unlink(missing_ok=True)
    return token_in(token_file)


def _another(call: Invocation, port: int, token: str) -> int:
    from quire_client.page import ask

    _told(call, ask(port, token, "key", {"right": _right(call)}), serves=False)
    return DONE


def _right(call: Invocation) -> Any:
    from quire_client.page import READ, WRITE

    return READ if "read-only" in call.options else WRITE


def _told(call: Invocation, url: str, serves: bool = True) -> None:
    from quire_client.page import forward

    for host in _hosts(call)[:1]:
        url = f"http://{host}/open?{url.partition('?')[2]}"
    told = {"ok": True, "url": url, "pid": os.getpid() if serves else None}
    if call.json:
        print(render.as_json(told), flush=True)
    else:
        print(url, flush=True)
        looking = " It may look only." if "read-only" in call.options else ""
        ends = " Ctrl-C ends the page." if serves else ""
        call.say(f"Open this link within a minute; it works once.{looking} `quire page` prints another one.{ends}")
    if "open" in call.options:
        import webbrowser

        webbrowser.open(forward(_state_of(call), url))


def _revoke(call: Invocation, port: int, token_file: Path) -> int:
    from quire_client.loopback import token_in
    from quire_client.page import ask

    many = int(ask(port, token_in(token_file), "revoke", {})) if port else 0
    if not port:
        token_file.unlink(missing_ok=True)
    many += sum(int(ask(there, token_in(token), what, {})) for there, token, what in _besides(call))
    message = f"Every link and the token are void; {render.counted(many, 'browser')} may not look any more."
    return call.answer({"ok": True, "message": message, "browsers": many}, _sentence)


def _besides(call: Invocation) -> Iterator[tuple[int, Path, str]]:
    """Yield (port, path of the token file, request path) of other processes whose page also has the access that is to
    be revoked.
    """
    from quire_client.journals import journals
    from quire_client.page import TOKEN, serving
    from quire_journal.workspaces import read_identity, state_home

    if "all" in call.options:
        yield from ((port, one.state / TOKEN, "revoke") for one in journals() if (port := serving(one.state)))
    elif (port := serving(state_home())) and (identity := read_identity(call.place)) is not None:
        yield port, state_home() / TOKEN, f"revoke/{identity.id}"


def _sentence(reply: Mapping[str, Any]) -> str:
    return str(reply["message"])


COMMAND = Command(
    arguments="",
    about="Serves a page for this workspace on this machine alone and prints a link to it, which works once, within a\n"
    "minute: what happened, by whom, what it changed, files as they were and who wrote each line, and undo by plan\n"
    "first. It ends with Ctrl-C, or when nobody has asked for 12 hours. Where a page serves the workspace already,\n"
    "another link to it is printed. Scripts use 127.0.0.1 and the token in the file page.token of the state folder\n"
    "(Authorization: Bearer TOKEN).",
    example="quire page --open",
    run=run,
    options=(
        Option("all", "", "all workspaces of yours: a list, and the page of each at a name of its own"),
        Option("open", "", "open the link in the browser"),
        Option("port", "N", "the port; a free one if not said"),
        Option("read-only", "", "a link for showing: who opens it can change nothing"),
        Option("revoke", "", "make every link, every browser's access and the token void"),
        Option(
            "host",
            "NAME:PORT",
            "the link's address instead, such as that of a container's forwarded port",
            several=True,
        ),
    ),
)
