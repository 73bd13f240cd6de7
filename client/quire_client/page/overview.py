"""One page for all workspaces of the user: a list of workspaces, each with its own page under its own host name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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

_ROWS: Final = ("Workspace", "Folder", "Daemon", "Last change")


class WorkspaceRow(NamedTuple):
    """A row of the list of workspaces, as text for people."""

    id: str
    name: str
    folder: str
    daemon: str
    changed: str
    exists: bool


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
        """`page_of` returns the page of the workspace with this id; it raises LookupError for an unknown id."""
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
        many = self._keys.revoke() + sum(gate.void() for gate in self._pages.values())
        self._gate.token = self._renew()
        return many

    async def _list(self, request: Request) -> Response:
        listed = await to_thread.run_sync(lambda: [*self._listed()])
        return HTMLResponse(_document(listed, self._style))

    async def _go(self, request: Request) -> Response:
        asked = request.path_params["id"]
        if asked not in self._pages:
            try:
                self._pages[asked] = await to_thread.run_sync(self._page_of, asked)
            except LookupError:
                return PlainTextResponse("There is no such workspace; the list is at /.", 404)
        return RedirectResponse(self._pages[asked].link(request.scope["quire"].right), 303)


def _document(listed: Iterable[WorkspaceRow], style: str) -> str:
    rows = "".join(_row(one) for one in listed)
    head = "".join(f'<th scope="col">{name}</th>' for name in _ROWS)
    empty = "<div class='empty'><h3>No workspace yet.</h3><p><code>quire up</code> in a folder begins one.</p></div>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else empty
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quire</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{style}"></head>'
        '<body><main class="overview"><h1>Quire</h1><h2>Your workspaces</h2>'
        f"{table}</main></body></html>"
    )


def _row(one: WorkspaceRow) -> str:
    name = escape(one.name)
    named = f'<a href="/go/{escape(one.id)}">{name}</a>' if one.exists else name
    told = "".join(f"<td>{escape(text)}</td>" for text in (one.folder, one.daemon, one.changed))
    return f"<tr><td>{named}</td>{told}</tr>"
