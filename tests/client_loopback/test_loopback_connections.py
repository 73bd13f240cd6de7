"""Connections of the HTTP server, on loopback: who asks nothing is ended, and no body comes in without the token."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn

from quire_client.loopback.connections import MOST_HEAD, TimedConnection
from quire_client.loopback.gate import Gate
from quire_client.loopback.listener import HOST, listen

TOKEN = "t" * 43
MOST_BODY = 1 << 20
ASKED = "GET /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Ends]]


class Hasty(TimedConnection):
    head_s = 0.2
    read_s = 0.3
    most = 5


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Says how many bytes of a body came."""
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = b"%d" % size
    if any(name == b"long" for name, _ in scope["headers"]):
        body = b"x" * (16 << 20) + b"END"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[Connect, str]]:
    """A server; the way to it, and its host as requests name it."""
    with listen(0) as sock:
        port = sock.getsockname()[1]
        gate = Gate(application, port, TOKEN, MOST_BODY)
        config = uvicorn.Config(
            gate, log_level="critical", ws="none", lifespan="off", http=Hasty, h11_max_incomplete_event_size=MOST_HEAD
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve(sockets=[sock]))
        while not server.started:
            await asyncio.sleep(0)
        made: list[Ends] = []

        async def connect() -> Ends:
            made.append(await asyncio.open_connection(HOST, port))
            return made[-1]

        try:
            yield connect, f"{HOST}:{port}"
        finally:
            for _, writer in made:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
            server.should_exit = server.force_exit = True
            await task


async def ended(reader: asyncio.StreamReader) -> bool:
    """Has the server ended the connection, without an answer?"""
    try:
        return await asyncio.wait_for(reader.read(), 5) == b""
    except ConnectionError:
        return True


async def answer(ends: Ends) -> bytes:
    """The head of the answer."""
    return await asyncio.wait_for(ends[0].readuntil(b"\r\n\r\n"), 5)


def test_a_head_that_does_not_come_to_its_end_is_not_waited_for() -> None:
    async def run() -> None:
        async with serving() as (connect, host):
            silent, slow = await connect(), await connect()
            for letter in b"GET /mcp HTTP/1.1\r\nHost: x\r\n":
                slow[1].write(bytes([letter]))
                await asyncio.sleep(Hasty.head_s / 10)
            assert await ended(silent[0])
            assert await ended(slow[0])
            asks = await connect()
            for _ in range(2):  # and between two requests of one connection there is time
                asks[1].write(f"{ASKED}\r\n".format(host=host, token=TOKEN).encode())
                assert (await answer(asks)).startswith(b"HTTP/1.1 200")
                assert await asks[0].read(1) == b"0"
                await asyncio.sleep(2 * Hasty.head_s)
            asks[1].write(b"GET /mcp HTTP")
            assert await ended(asks[0])

    asyncio.run(run())


def test_who_has_asked_nothing_makes_room_for_another_connection() -> None:
    async def run() -> None:
        async with serving() as (connect, host):
            asks = await connect()
            asks[1].write(f"{ASKED}Content-Length: 1\r\n\r\n".format(host=host, token=TOKEN).encode())
            silent = [await connect() for _ in range(Hasty.most)]
            assert await ended(silent[0][0])
            asks[1].write(b"x")
            assert (await answer(asks)).startswith(b"HTTP/1.1 200")

    asyncio.run(run())


def test_who_has_been_answered_and_is_silent_makes_room_for_another_connection() -> None:
    """256 that had an answer shut everybody out for a minute, without any key."""

    async def run() -> None:
        async with serving() as (connect, host):
            idle = [await connect() for _ in range(Hasty.most)]
            for ends in idle:
                ends[1].write(f"{ASKED}\r\n".format(host=host, token=TOKEN).encode())
                assert (await answer(ends)).startswith(b"HTTP/1.1 200")
                assert await ends[0].read(1) == b"0"
            other = await connect()
            other[1].write(f"{ASKED}\r\n".format(host=host, token=TOKEN).encode())
            assert (await answer(other)).startswith(b"HTTP/1.1 200")
            assert await ended(idle[0][0])

    asyncio.run(run())


def test_who_reads_no_answers_is_ended() -> None:
    async def run() -> None:
        async with serving() as (connect, host):
            reader, writer = await connect()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(f"{ASKED}Long: 1\r\n\r\n".format(host=host, token=TOKEN).encode())
            await asyncio.sleep(3 * Hasty.read_s)
            writer.transport.resume_reading()  # type: ignore[attr-defined]
            with contextlib.suppress(ConnectionError):
                assert not (await asyncio.wait_for(reader.read(), 5)).endswith(b"END")

    asyncio.run(run())


def test_without_the_token_no_body_is_read() -> None:
    async def run() -> None:
        async with serving() as (connect, host):
            for token, length, status in (("wrong", 1000, b"401"), ("wrong", MOST_BODY + 1, b"413")):
                ends = await connect()
                asked = f"{ASKED}Content-Length: {length}\r\n\r\n".format(host=host, token=token)
                ends[1].write(asked.replace("GET", "POST").encode())
                assert (await answer(ends)).startswith(b"HTTP/1.1 " + status)
                rest = await asyncio.wait_for(ends[0].read(), 5)  # to the end of the connection, with the body unsent
                assert b"\r\n" not in rest

    asyncio.run(run())
