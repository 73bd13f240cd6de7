"""HTTP routes of the page, which only admitted requests reach.

/                    the page; its view, point and filters are in the address
/open?key=KEY        exchanges a one-time key for a cookie
/api/TOOL?…          the reply of a tool; the header Quire-Command has the same query as a command line
/api/elsewhere?…     the lanes of other hosts, from the hub
/api/live            server-sent events
/api/TOOL (POST)     a plan to undo changes, and its execution by token
/file?path=&at=      bytes of an old file, for saving
/control/…           for `quire page` itself, by token: another key, and revocation
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

import anyio
from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from quire_client.calls import Answer
from quire_client.page import feed
from quire_client.page.daemons import Daemon, PageClient
from quire_client.page.gate import MOST_BODY, OPEN, Admission, PageGate
from quire_client.page.keys import READ, WRITE, Keys, Right
from quire_client.page.owner import link
from quire_client.page.queries import CHANGE_S, QUERY_S, arguments_of, bounded, change_of, whole
from quire_client.page.terminal import command_line
from quire_client.transport import NoDaemon
from quire_journal.model import Refusal

BODY_S: Final = 5.0
MOST_AT_A_TIME: Final = 8
MOST_STREAMS: Final = 24
MOST_STREAMS_EACH: Final = 8

MOST_COMMAND: Final = 8 << 10
"""Longest command line, in bytes of a header; clients refuse longer headers."""

MOST_SAVES: Final = 4
SAVE_S: Final = 60.0
_ON: Final = '<!doctype html><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/">'
"""HTML that leads on to the page. Without an icon named, a browser asks for `/favicon.ico`, which is not there."""

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
}


Lanes = Callable[[int, int], Answer]
"""Returns the lanes of other hosts between two times in milliseconds since 1970."""


def no_lanes(since_ms: int, until_ms: int) -> Answer:
    """Return a reply without lanes (a lane: when one writer wrote), for a workspace that is in no team."""
    return {"ok": True, "message": "No lanes.", "lanes": [], "hosts": []}


def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the built page's files: URL path → (bytes, content type)."""
    folder = files("quire_client.page") / "static"
    found = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    typed = {f"/{name}": (data, _TYPES[name.rpartition(".")[2]]) for name, data in found.items()}
    return {**typed, "/": typed["/index.html"]}


def application(
    daemon: Daemon,
    keys: Keys,
    token: str,
    port: int,
    clock: Callable[[], float],
    renew: Callable[[], str],
    hosts: Sequence[str] = (),
    static: Mapping[str, tuple[bytes, str]] | None = None,
    elsewhere: Lanes = no_lanes,
) -> PageGate:
    """Return the page as an ASGI application that checks every request.

    `clock` returns monotonic seconds, `renew` replaces the token and returns the new one, `hosts` are further allowed
    Hosts. The caller closes `daemon`.
    """
    page = PageRoutes(daemon, keys, clock, static_files() if static is None else static, port, elsewhere)
    routes = [
        Route(OPEN, page.open, methods=["GET"]),
        Route("/api/elsewhere", page.elsewhere, methods=["GET"]),
        Route("/api/live", page.live, methods=["GET"]),
        Route("/api/key", page.key, methods=["GET"]),
        Route("/api/start", page.start, methods=["POST"]),
        Route("/api/{tool}", page.query, methods=["GET"]),
        Route("/api/{tool}", page.change, methods=["POST"]),
        Route("/file", page.file, methods=["GET"]),
        Route("/control/key", page.mint, methods=["POST"]),
        Route("/control/revoke", page.revoke, methods=["POST"]),
        Route("/{name:path}", page.static, methods=["GET"]),
    ]
    gate = PageGate(Starlette(routes=routes), port, token, keys, clock, hosts)

    def void() -> int:
        many = keys.revoke()
        gate.token = renew()
        return many

    page.void = gate.void = void
    page.link = gate.link = lambda right: link(gate.host, keys.mint(right, clock()))
    return gate


class PageRoutes:
    def __init__(
        self,
        daemon: Daemon | None,
        keys: Keys,
        clock: Callable[[], float],
        static: Mapping[str, tuple[bytes, str]],
        port: int,
        elsewhere: Lanes = no_lanes,
    ) -> None:
        self._daemon = Daemon(_nobody) if daemon is None else daemon
        self._keys = keys
        self._clock = clock
        self._static, self._elsewhere = static, elsewhere
        self._cookie = f"quire{port}"
        self.void: Callable[[], int] = keys.revoke
        self.link: Callable[[Right], str] = lambda right: ""
        self._streams: Counter[str] = Counter()
        self._saves = anyio.Semaphore(MOST_SAVES)
        self._at_a_time = anyio.CapacityLimiter(MOST_AT_A_TIME)
        self._feeds = anyio.CapacityLimiter(MOST_STREAMS)
        self._hub = anyio.CapacityLimiter(1)  # one read at a time, which takes no question's place

    # ── who may look ──

    async def open(self, request: Request) -> Response:
        """Exchange the one-time key in the address for a cookie."""
        cookie = self._keys.redeem(request.query_params.get("key", ""), self._clock())
        if cookie is None:
            return PlainTextResponse(
                "This link was used, or is older than a minute. Run `quire page` for another.", 401
            )
        if request.headers.get("sec-fetch-site") == "cross-site":  # by a link elsewhere: a strict cookie goes not along
            answer: Response = HTMLResponse(_ON)
        else:
            answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, cookie, httponly=True, samesite="strict", path="/")
        return answer

    async def mint(self, request: Request) -> Response:
        """Return a link with a new one-time key; only the holder of the token reaches this route."""
        body = await _body(request)
        right = READ if isinstance(body, dict) and body.get("right") == READ else WRITE
        return PlainTextResponse(self.link(right))

    async def revoke(self, request: Request) -> Response:
        return PlainTextResponse(str(self.void()))

    async def key(self, request: Request) -> Response:
        return _json({"ok": True, "right": _admission(request).right})

    # ── what the journal knows ──

    async def query(self, request: Request) -> Response:
        """Call a tool that changes no file, with the arguments in the address, and return its reply."""
        tool = request.path_params["tool"]
        try:
            arguments = arguments_of(tool, request.query_params.multi_items())
        except Refusal as refusal:
            return _json(refusal.reply())
        return _json(await self._ask(tool, arguments), command_line(tool, arguments))

    async def elsewhere(self, request: Request) -> Response:
        """Return the lanes of other hosts between two times in milliseconds since 1970."""
        try:
            since_ms, until_ms = (whole(request.query_params.get(name, "")) for name in ("since_ms", "until_ms"))
        except ValueError:
            return _json(Refusal("schema_invalid", "elsewhere: since_ms and until_ms are whole numbers.").reply())
        command = "quire log --host all"
        return _json(await to_thread.run_sync(self._elsewhere, since_ms, until_ms, limiter=self._hub), command)

    async def live(self, request: Request) -> Response:
        """Stream new records as server-sent events, from `Last-Event-ID`, else `after`, else now."""
        who = _admission(request).cookie
        if self._streams[who] >= MOST_STREAMS_EACH or self._streams.total() >= MOST_STREAMS:
            return PlainTextResponse("Too many live feeds are open; close a tab.", 429)
        cursor = request.headers.get("last-event-id") or request.query_params.get("after", "")

        async def ask(arguments: Mapping[str, Any]) -> Answer:
            limit_s = QUERY_S + feed.WAIT_MS / 1000
            call = partial(self._daemon.call, "since", arguments, limit_s)
            return await to_thread.run_sync(call, limiter=self._feeds)  # a left feed has its place until this ends

        revocations = self._keys.revocations

        def good() -> bool:
            return self._keys.revocations == revocations and (not who or self._keys.good(who, self._clock()))

        answer = StreamingResponse(feed.events(ask, cursor, good), media_type="text/event-stream")
        return _Placed(answer, self._streams, who)

    async def file(self, request: Request) -> Response:
        """Return an old file's bytes as a download, which the browser saves and never displays."""
        path, at = request.query_params.get("path", ""), request.query_params.get("at", "")
        shown = await self._ask("show", {"path": path, "version": at})
        if not shown.get("ok"):
            return _json(shown)
        if shown.get("uncaptured") or not shown.get("sha256"):
            return _json(Refusal("uncaptured", "The journal does not hold these bytes.", "log").reply())
        if not self._saves.value:
            return PlainTextResponse("Other files are being saved; try again in a moment.", 429)
        name = quote(path.rpartition("/")[2], safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
        pieces = self._pieces(shown["sha256"])
        answer = StreamingResponse(pieces, media_type="application/octet-stream", headers=headers)
        return _Saved(answer, self._saves)

    async def _pieces(self, sha256: str) -> AsyncIterator[bytes]:
        offset: int | None = 0
        while offset is not None:
            reply = await self._ask("blobs", {"sha256": [sha256], "offset": offset})
            blob = (reply.get("blobs") or [{}])[0]
            if "content_base64" not in blob:
                raise ConnectionError("the journal does not hold these bytes any more")
            yield base64.b64decode(blob["content_base64"])
            offset = blob.get("next_offset")

    # ── what changes something ──

    async def change(self, request: Request) -> Response:
        """Plan an undo, execute its plan, or accept or reject reviewed changes, by the tool in the address."""
        tool, body = request.path_params["tool"], await _body(request)
        try:
            arguments = change_of(tool, body)
        except Refusal as refusal:
            return _json(refusal.reply())
        shown = {name: value for name, value in arguments.items() if name != "token"}
        command = command_line(tool, shown) if arguments.get("plan") else ""
        return _json(await self._ask(tool, arguments, CHANGE_S), command)

    async def start(self, request: Request) -> Response:
        call = partial(self._daemon.call, "status", {}, CHANGE_S, start=True)
        return _json(await to_thread.run_sync(call, limiter=self._at_a_time))

    async def _ask(self, tool: str, arguments: Mapping[str, Any], limit_s: float = QUERY_S) -> Answer:
        call = partial(self._daemon.call, tool, arguments, limit_s)
        return await to_thread.run_sync(call, limiter=self._at_a_time)

    # ── the page itself ──

    async def static(self, request: Request) -> Response:
        found = self._static.get(request.url.path)
        return Response(found[0], media_type=found[1]) if found else PlainTextResponse("There is nothing here.", 404)


class _Placed(Response):
    def __init__(self, answer: Response, places: Counter[str], who: str) -> None:
        self._answer, self._places, self._who = answer, places, who
        self.background = None
        self._places[who] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            self._places[self._who] -= 1
            self._places += Counter()  # without those that have none


class _Saved(Response):
    def __init__(self, answer: Response, places: anyio.Semaphore) -> None:
        self._answer, self._places = answer, places
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._places, asyncio.timeout(SAVE_S):
            await self._answer(scope, receive, send)


def _nobody(start: bool) -> PageClient:
    raise NoDaemon("This page has no workspace.")


def _admission(request: Request) -> Admission:
    found: Admission = request.scope["quire"]
    return found


async def _body(request: Request) -> object:
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                data += part
                if len(data) > MOST_BODY:
                    return None
        return json.loads(bytes(data))
    except (TimeoutError, ClientDisconnect, ValueError, RecursionError):
        return None


def _json(reply: Answer, command: str = "") -> Response:
    data = json.dumps(reply, separators=(",", ":"), ensure_ascii=True).encode()
    checked = bounded(reply, len(data))
    if checked is not reply:
        reply, data = checked, json.dumps(checked).encode()
    said = quote(command, safe=" -_./:@'\"{}[],=*")
    headers = {"quire-command": said} if 0 < len(said) <= MOST_COMMAND else {}
    return Response(data, media_type="application/json", headers=headers)
