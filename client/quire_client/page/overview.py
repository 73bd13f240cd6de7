"""One page for all workspaces of the user: a list of workspaces, each with its own page under its own host name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from quire_client.loopback import Receive, Scope, Send
from quire_client.page.app import PageRoutes
from quire_client.page.gate import OPEN, PageGate
from quire_client.page.keys import Keys
from quire_client.page.owner import link
from quire_journal.model import counted

_ROWS: Final = ("Workspace", "Folder", "State", "At work", "Last change")


class WorkspaceRow(NamedTuple):
    """A row of the list of workspaces, as text for people."""

    id: str
    name: str
    folder: str
    changed: str
    exists: bool = True
    recorded: bool = False  # by a daemon that answers
    trouble: str = ""  # why not everything is recorded; "": it is, or nothing is
    at_work: tuple[str, ...] = ()  # names of connected agents

    @property
    def state(self) -> str:
        if not self.exists:
            return "the folder is gone"
        return self.trouble or ("recorded" if self.recorded else "not recorded: no daemon runs")


class Overview:
    """An ASGI application that serves the list of workspaces, and each workspace's page, by the request's Host."""

    def __init__(
        self,
        token: str,
        port: int,
        clock: Callable[[], float],
        renew: Callable[[], str],
        listed: Callable[[], Iterable[WorkspaceRow]],
        page_of: Callable[[str], PageGate],
        static: Mapping[str, tuple[bytes, str]],
        hosts: Iterable[str] = (),
    ) -> None:
        """`page_of` returns the page of the workspace with this id; it raises LookupError for an unknown id. `listed`
        returns the rows of the list. `clock` returns monotonic seconds, `renew` replaces the token and returns the new
        one, `hosts` are further allowed Hosts.
        """
        self._listed, self._page_of, self._renew = listed, page_of, renew
        self._pages: dict[str, PageGate] = {}  # by the workspace's id
        self._keys = Keys()
        self._style = next((name for name in static if name.endswith(".css")), "")
        shared = PageRoutes(
            None, self._keys, clock, {name: static[name] for name in static if name == self._style}, port
        )
        routes = [
            Route("/", self._list, methods=["GET"]),
            Route("/go/{id}", self._go, methods=["GET"]),
            Route(OPEN, shared.open, methods=["GET"]),
            Route("/control/key", shared.mint, methods=["POST"]),
            Route("/control/revoke", shared.revoke, methods=["POST"]),
            Route("/control/revoke/{id}", self._revoke_one, methods=["POST"]),
            Route("/{name:path}", shared.static, methods=["GET"]),
        ]
        self._gate = PageGate(Starlette(routes=routes), port, token, self._keys, clock, [*hosts])
        self.link = self._gate.link = lambda right: link(self._gate.host, self._keys.mint(right, clock()))
        shared.link, shared.void = self.link, self._void

    @property
    def asked_s(self) -> float:
        return max(gate.asked_s for gate in (self._gate, *self._pages.values()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = [value for name, value in scope.get("headers", ()) if name == b"host"]
        asked = said[0].lower().decode("latin-1") if len(said) == 1 else ""
        gate = next((gate for gate in self._pages.values() if gate.host == asked), self._gate)
        await gate(scope, receive, send)

    def _void(self) -> int:
        self._gate.token = self._renew()
        return self._keys.revoke() + sum(gate.void() for gate in self._pages.values())

    async def _list(self, request: Request) -> Response:
        listed = await to_thread.run_sync(lambda: [*self._listed()])
        return HTMLResponse(_document(listed, self._style))

    async def _go(self, request: Request) -> Response:
        asked = request.path_params["id"]
        if asked not in self._pages:
            try:
                made = await to_thread.run_sync(self._page_of, asked)
                self._pages.setdefault(asked, made)  # of two at a time, the first one's: links to it are made already
            except LookupError:
                return PlainTextResponse("There is no such workspace; the list is at /.", 404)
        return RedirectResponse(self._pages[asked].link(request.scope["quire"].right), 303)

    async def _revoke_one(self, request: Request) -> Response:
        """Revoke all access to the page of one workspace, and return the number of browsers that lost it."""
        page = self._pages.get(request.path_params["id"])
        return PlainTextResponse(str(page.void() if page else 0))


def summary(listed: Sequence[WorkspaceRow]) -> str:
    """Return how many workspaces are recorded now, how many need attention, and how many agents are at work."""
    recorded = sum(one.recorded and one.exists for one in listed)
    trouble, agents = sum(bool(one.trouble) for one in listed), sum(len(one.at_work) for one in listed)
    told = [f"{recorded} of {len(listed)} recorded now"]
    told += [counted(trouble, "needs a look", "need a look")] if trouble else []
    told += [f"{counted(agents, 'agent')} at work"] if agents else []
    return " · ".join(told)


def _document(listed: Sequence[WorkspaceRow], style: str) -> str:
    rows = "".join(_row(one) for one in listed)
    head = "".join(f'<th scope="col">{name}</th>' for name in _ROWS)
    empty = "<div class='empty'><h2>No workspace yet.</h2><p><code>quire up</code> in a folder begins one.</p></div>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else empty
    told = f'<span class="dim" role="status">{escape(summary(listed))}</span>' if rows else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quire: your workspaces</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{style}"></head>'
        f'<body><header class="head"><a class="brand" href="/">Quire</a>{told}<a class="again" href="/">Look again</a>'
        f'</header><main class="overview"><h1>Your workspaces</h1>{table}'
        '<p class="terminal"><span class="label">In a terminal</span> <code>quire list</code></p></main></body></html>'
    )


def _row(one: WorkspaceRow) -> str:
    name = escape(one.name)
    named = f'<a href="/go/{escape(one.id)}">{name}</a>' if one.exists else name
    kind = "trouble" if one.trouble or not one.exists else "recorded" if one.recorded else "idle"
    state = f'<i class="{kind}" aria-hidden="true"></i>{escape(one.state)}'
    cells = (escape(one.folder), state, escape(", ".join(one.at_work)) or "–", escape(one.changed))
    told = "".join(f'<td data-of="{name}">{cell}</td>' for name, cell in zip(_ROWS[1:], cells, strict=True))
    return f'<tr><th scope="row">{named}</th>{told}</tr>'
