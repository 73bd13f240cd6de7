"""Checks the size, Host, Origin and token of each HTTP request before anything else reads it.

A web page can reach this machine's ports under any host name. So a wrong Host (421), a wrong Origin (403, as MCP
demands), a wrong token (401) or a too large body (413) is refused, and no CORS headers are sent.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_journal.workspaces import WorkspaceRefused

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES: Final = ("127.0.0.1", "localhost")
"""Host names under which clients on this machine may call the server."""

TOKEN_BYTES: Final = 32


class No(NamedTuple):
    """Refusal of an HTTP request: status code, reason as text, and an optional response header such as `Allow`."""

    status: int
    why: str
    header: tuple[bytes, bytes] | None = None


class Gate:
    """ASGI application that passes accepted requests on to `app` and refuses all others."""

    def __init__(self, app: App, port: int, token: str, most_body: int) -> None:
        self._app = app
        self.port = port
        self._token = token
        self._most_body = most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope.get("headers", ())
        no = verdict(headers, self.port, self._token, self._most_body) if scope["type"] == "http" else None
        if no is None:
            await self._app(scope, receive, send)
        else:
            await refuse(no, send)


async def refuse(no: No, send: Send) -> None:
    body = no.why.encode()
    said = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    said += [no.header] if no.header else []
    await send({"type": "http.response.start", "status": no.status, "headers": said})
    await send({"type": "http.response.body", "body": body})


Headers = Mapping[bytes, Sequence[bytes]]


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return ASGI's header pairs as a mapping from the lower-case name to all values of that name."""
    given: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        given.setdefault(name, []).append(value)
    return given


def verdict(headers: Iterable[tuple[bytes, bytes]], port: int, token: str, most_body: int) -> No | None:
    """Return the refusal of a request with these headers (names in lower case), or None if it is accepted."""
    given = by_name(headers)
    hosts = [f"{name}:{port}" for name in NAMES]
    if no := stranger(given, hosts, most_body):
        return no
    if not has_token(given, token):
        return No(401, "The token is missing or wrong.", (b"www-authenticate", b"Bearer"))
    return None


def stranger(given: Headers, hosts: Iterable[str], most_body: int, forwarded: Iterable[str] = ()) -> No | None:
    """Return the refusal of a request whose body size, Host or Origin is not allowed; None if all three are. `hosts`
    are the allowed values of Host, each with its port; hosts in `forwarded` are also reached through a forwarder that
    terminates TLS. `most_body` is the limit in bytes.
    """
    if any(_length(said) > most_body for said in given.get(b"content-length", ())):
        return No(413, f"A request has at most {most_body} bytes.")
    beyond = {host.encode() for host in forwarded}
    ours = {host.encode() for host in hosts} | beyond
    if len(given.get(b"host", ())) != 1 or given[b"host"][0].lower() not in ours:
        return No(421, "This server answers to its own address only.")
    own = given[b"host"][0].lower()
    origins = {b"http://" + own} | ({b"https://" + own} if own in beyond else set())
    if any(origin.lower() not in origins for origin in given.get(b"origin", ())):
        return No(403, "Requests from other origins are refused.")
    return None


def has_token(given: Headers, token: str) -> bool:
    """Return True if the request's header `Authorization: Bearer` holds this token."""
    said = given.get(b"authorization", (b"",))
    scheme, _, presented = said[0].partition(b" ")
    right = hmac.compare_digest(presented.strip(), token.encode())
    return len(said) == 1 and scheme.lower() == b"bearer" and right


def _length(said: bytes) -> int:
    return int(said) if said.isdigit() else 0


def token_in(path: Path) -> str:
    """Return the token in the file `path`; create the file with a random token if it is missing.

    Raises WorkspaceRefused if the file belongs to another user, is accessible to others, or holds no valid token.
    """
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        with suppress(FileExistsError):  # if two processes create it at once, the first wins
            os.link(draft, path)
        draft.unlink()
    found = path.lstat()
    token = path.read_text(encoding="ascii", errors="replace").strip()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or len(token) < TOKEN_BYTES or not token.isascii():
        raise WorkspaceRefused(
            f"{path} is not a token of ours that only we can read; remove it, and a new one is made."
        )
    return token
