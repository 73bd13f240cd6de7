"""Checks Host, Origin, Sec-Fetch-Site and key of each HTTP request before any other code.

Pages of other sites can send requests here, under any host name. So a wrong Host (421), Origin or Sec-Fetch-Site
(403), or a missing key (401) is refused. A browser sends a cookie to every port of a host, so the page has its own
host name (`host_of`), which browsers resolve to this machine (RFC 6761, 6.3). A change must be a POST of JSON with the
header `X-Quire: 1`, which no form and no other origin can send.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from quire_client.loopback import (
    NAMES,
    App,
    Headers,
    Message,
    No,
    Receive,
    Scope,
    Send,
    by_name,
    has_token,
    refuse,
    stranger,
)
from quire_client.page.keys import READ, WRITE, Keys, Right

MOST_BODY: Final = 64 << 10
CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "worker-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

SAFETY: Final = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)
OPEN: Final = "/open"
CONTROL: Final = "/control/"
_WAY: Final = "Run `quire page` in the workspace and open the link that it prints; each link works once, for a minute."


def host_of(token: str) -> str:
    """Return the page's secret host name, made from the token, so that no other server had the name before."""
    return f"quire-{hashlib.sha256(token.encode()).hexdigest()[:12]}.localhost"


class Admission(NamedTuple):
    right: Right
    cookie: str = ""  # its cookie; "" for the token, or for a key


class PageGate:
    """An ASGI application that passes accepted requests to `app`, with the right to read or write in `scope["quire"]`
    (`Admission`).
    """

    def __init__(
        self, app: App, port: int, token: str, keys: Keys, clock: Callable[[], float], hosts: Sequence[str] = ()
    ) -> None:
        self._app = app
        self._port = port
        self.token = token
        self._keys = keys
        self._clock = clock
        self._hosts = hosts
        self.host = f"{host_of(token)}:{port}"
        self.asked_s = clock()  # time of the last admitted request
        self.link: Callable[[Right], str] = lambda right: ""  # a link with a one-time key
        self.void: Callable[[], int] = keys.revoke

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *SAFETY]
            await send(message)

        now_s = self._clock()
        found = self.verdict(scope["method"], scope["path"], scope["headers"], now_s)
        if isinstance(found, No):
            await refuse(found, safely)
            return
        self.asked_s = now_s
        scope["quire"] = found
        await self._app(scope, receive, safely)

    def verdict(self, method: str, path: str, headers: Iterable[tuple[bytes, bytes]], now_s: float) -> Admission | No:
        """Return the admission of a request, or its refusal. Header names are in lower case."""
        given = by_name(headers)
        local = [f"{name}:{self._port}" for name in NAMES] if b"authorization" in given else []
        if no := stranger(given, [self.host, *local], MOST_BODY, [host.lower() for host in self._hosts]):
            return no
        opens = path == OPEN and method == "GET" and given.get(b"sec-fetch-mode", ()) == [b"navigate"]
        if not opens and any(site not in (b"same-origin", b"none") for site in given.get(b"sec-fetch-site", ())):
            return No(403, "Requests from other sites are refused; type or paste the address.")
        if method not in ("GET", "HEAD", "POST"):
            return No(405, "There is nothing that could be done so.")
        if path == OPEN and method == "GET":
            return Admission(READ)
        found = self._admitted(given, now_s)
        if found is None:
            return No(401, _WAY)
        if path.startswith(CONTROL) and found.cookie:
            return No(403, "Only who has the token may ask for that.")
        return found if method != "POST" else _change(found, given)

    def _admitted(self, given: Headers, now_s: float) -> Admission | None:
        if b"authorization" in given:
            return Admission(WRITE) if has_token(given, self.token) else None
        for cookie in cookies_of(given, self.cookie_name):
            right = self._keys.right_of(cookie, now_s)
            if right is not None:
                return Admission(right, cookie)
        return None

    @property
    def cookie_name(self) -> str:
        return f"quire{self._port}"


def cookies_of(given: Headers, name: str) -> list[str]:
    parts = (one for line in given.get(b"cookie", ()) for one in line.decode("latin-1").split(";"))
    pairs = (part.strip().partition("=") for part in parts)
    return [value for key, _, value in pairs if key == name]


def _change(found: Admission, given: Headers) -> Admission | No:
    if list(given.get(b"x-quire", ())) != [b"1"]:
        return No(403, "The header X-Quire is missing.")
    if found.cookie and b"origin" not in given:
        return No(403, "A change from a browser says its Origin.")
    said = given.get(b"content-type", (b"",))[0].partition(b";")[0].strip().lower()
    if said != b"application/json":
        return No(415, "A change is JSON.")
    if found.right != WRITE:
        return No(403, "This key may look only.")
    return found
