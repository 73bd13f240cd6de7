"""Blocking connection to NATS: the asynchronous client runs in an event loop on its own thread.

An address is `nats://HOST:PORT[,HOST:PORT…]/TEAM`, or `tls://…`. Query fields: `creds`, a file with this host's
credentials; `ca`, a file with the certificates that verify the server; `monitor`, URLs of the servers' monitoring
(default: `http://HOST:8222` of each).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

from quire_client.ship.port import FarSideUnreachable

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

SCHEMES: Final = ("nats", "tls")
DEFAULT_PORT: Final = 4222
MONITOR_PORT: Final = 8222

CONNECT_S: Final = 5.0
REPLY_S: Final = 5.0
"""Seconds that a reply of the server may take. A leader that was killed has a successor within them."""

_TEAM: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIELDS: Final = ("creds", "ca", "monitor")

Answer = TypeVar("Answer")


class HubAddress(NamedTuple):
    """Address of a team: its name, the servers of its NATS cluster, and credentials."""

    servers: tuple[str, ...]  # URLs
    team: str
    creds: str = ""  # path of a file; "": none
    ca: str = ""  # path of a file; "": the system's certificates
    user: str = ""
    password: str = ""
    monitors: tuple[str, ...] = ()  # URLs

    @classmethod
    def parse(cls, text: str) -> HubAddress:
        """Parse an address. Raises `FarSideUnreachable` if it is malformed, or would send a journal unencrypted."""
        parts = urlsplit(text)
        fields = parse_qs(parts.query)
        unknown = sorted(fields.keys() - set(_FIELDS))
        if parts.scheme not in SCHEMES or not parts.netloc or unknown:
            what = f": {unknown[0]} is no field of it" if unknown else ""
            raise FarSideUnreachable(f"{text}: not nats://HOST:PORT/TEAM{what}")
        who, _, hosts = parts.netloc.rpartition("@")
        user, _, password = who.partition(":")
        team = parts.path.strip("/")
        if not _TEAM.fullmatch(team):
            raise FarSideUnreachable(f"{text}: TEAM must be 1 to 64 letters, digits, _ or -, as in nats://HOST/TEAM")
        creds, ca, monitor = (fields.get(name, [""])[0] for name in _FIELDS)
        scheme = "tls" if parts.scheme == "tls" or ca else "nats"
        servers = tuple(f"{scheme}://{_with_port(host)}" for host in hosts.split(",") if host)
        if scheme == "nats" and not all(_is_loopback(server) for server in servers):
            raise FarSideUnreachable(f"{text}: only loopback may be reached without TLS; write tls://")
        monitors = tuple(one.rstrip("/") for one in monitor.split(",")) if monitor else _monitors(servers)
        if not all(urlsplit(one).scheme in ("http", "https") for one in monitors):
            raise FarSideUnreachable(f"{text}: monitor must be http://HOST:PORT, or several with commas between them")
        return cls(servers, team, creds, ca, user, password, monitors)

    @property
    def is_encrypted(self) -> bool:
        return all(urlsplit(server).scheme == "tls" for server in self.servers)

    @property
    def is_local(self) -> bool:
        """True if all servers are on this machine, as for trials."""
        return all(_is_loopback(server) for server in self.servers)

    def __str__(self) -> str:
        """Return the address without credentials."""
        scheme = urlsplit(self.servers[0]).scheme
        return f"{scheme}://{','.join(urlsplit(one).netloc for one in self.servers)}/{self.team}"


class NatsConnection:
    """A connection that reconnects automatically. For any thread; `close` ends it."""

    def __init__(self, address: HubAddress) -> None:
        """Raises `FarSideUnreachable` if nats-py is not installed, or no server answers."""
        try:
            from nats.errors import Error  # imported late, as it takes a third of a second
        except ImportError as error:
            raise FarSideUnreachable("nats-py is not installed: pip install 'quire[hub]'") from error
        self.address = address
        self._errors: tuple[type[Exception], ...] = (Error, OSError, TimeoutError)
        self._denied = ""  # a permission that the server denied; the call itself only times out
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        try:
            self._nats: Client = self.wait(_connected(address, self._note), CONNECT_S)
        except FarSideUnreachable:
            self._end()
            raise

    def wait(self, act: Awaitable[Answer], timeout_s: float = REPLY_S + 1) -> Answer:
        """Run the coroutine `act` and return its result. Raises `FarSideUnreachable` for errors of NATS and after
        `timeout_s`; its cause is the JetStream error, if the server returned one.
        """
        return asyncio.run_coroutine_threadsafe(self._tried(act, timeout_s), self._loop).result()

    async def _tried(self, act: Awaitable[Answer], timeout_s: float) -> Answer:
        try:
            return await asyncio.wait_for(act, timeout_s)
        except self._errors as error:
            late = isinstance(error, TimeoutError)
            why = (self._denied if late else str(error).removeprefix("nats: ")) or "no answer in time"
            self._denied = ""
            raise FarSideUnreachable(f"{self.address}: {why}") from error

    async def _note(self, error: Exception) -> None:
        """Keep an error that belongs to no call, such as one while connecting; without this callback, nats-py prints
        each.
        """
        said = str(error).removeprefix("nats: ")
        if said.startswith("permissions violation") or not hasattr(self, "_nats"):
            self._denied = said

    @property
    def nats(self) -> Client:
        """The asynchronous client, whose coroutines are passed to `wait`."""
        return self._nats

    @property
    def largest_message(self) -> int:
        """Maximum bytes of a message that the server accepts."""
        return self._nats.max_payload

    def api(self, subject: str, question: bytes) -> bytes:
        """Return the JSON of the server's answer to a request. Raises `FarSideUnreachable`."""
        return self.request(subject, question).data

    def request(self, subject: str, question: bytes) -> Msg:
        """Return the server's answer to a request, with headers. Raises `FarSideUnreachable`."""
        return self.wait(self._nats.request(subject, question, timeout=REPLY_S))

    async def answers(self, subject: str, question: bytes) -> list[Msg]:
        """Return all messages that answer a request; the server ends them by a message with a status."""
        inbox, ended = self._nats.new_inbox(), asyncio.Event()
        found: list[Msg] = []

        async def come(message: Msg) -> None:  # `next_msg` would start two tasks for each message
            patience.reschedule(self._loop.time() + REPLY_S)
            if "Status" in (message.headers or {}):
                ended.set()
            else:
                found.append(message)

        async with asyncio.timeout(REPLY_S) as patience:
            coming = await self._nats.subscribe(inbox, cb=come)
            try:
                await self._nats.publish(subject, question, reply=inbox)
                await ended.wait()
            finally:
                await coming.unsubscribe()
        return found

    def tell(self, subject: str, said: bytes) -> None:
        """Publish to the present subscribers. Raises `FarSideUnreachable`."""
        self.wait(self._tell(subject, said))

    async def _tell(self, subject: str, said: bytes) -> None:
        await self._nats.publish(subject, said)
        await self._nats.flush(2)

    def listen(self, subject: str, hear: Callable[[str, bytes], None]) -> None:
        """Subscribe: `hear` gets subject and bytes of each message, on the connection's thread.

        Raises `FarSideUnreachable`.
        """

        async def come(message: Msg) -> None:
            hear(message.subject, message.data)

        async def subscribe() -> None:
            await self._nats.subscribe(subject, cb=come)
            await self._nats.flush(2)

        self.wait(subscribe())

    def close(self) -> None:
        with suppress(FarSideUnreachable):  # the connection ends anyway
            self.wait(self._nats.close(), CONNECT_S)
        self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CONNECT_S)
        self._loop.close()


async def _connected(address: HubAddress, note: Callable[[Exception], Awaitable[None]]) -> Client:
    from nats.aio.client import Client
    from nats.errors import Error

    class TlsClient(Client):
        """Refuses a server without TLS; the base class would continue unencrypted."""

        async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
            if initial_connection and not info.get("tls_required"):
                raise Error("the server offers no TLS")
            await super()._process_info(info, initial_connection)

    client = TlsClient() if address.is_encrypted else Client()
    await client.connect(**_options(address), error_cb=note)
    return client


def _options(address: HubAddress) -> Mapping[str, Any]:
    options: dict[str, Any] = {
        "servers": list(address.servers),
        "name": "quire",
        "connect_timeout": 2,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 1,
        "ping_interval": 10,
    }
    if address.creds:
        options["user_credentials"] = str(Path(address.creds).expanduser())
    if address.user:
        options |= {"user": address.user, "password": address.password}
    if address.ca:
        options["tls"] = ssl.create_default_context(cafile=str(Path(address.ca).expanduser()))
    return options


def _with_port(host: str) -> str:
    return host if re.search(r":\d+$", host) else f"{host}:{DEFAULT_PORT}"


def _monitors(servers: tuple[str, ...]) -> tuple[str, ...]:
    hosts = dict.fromkeys(urlsplit(server).hostname or "" for server in servers)
    return tuple(f"http://{f'[{host}]' if ':' in host else host}:{MONITOR_PORT}" for host in hosts)


def _is_loopback(server: str) -> bool:
    name = urlsplit(server).hostname or ""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
