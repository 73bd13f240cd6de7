"""Lines on stdin: messages, and the errors that answer what is none."""

from __future__ import annotations

import io
from typing import Any

import anyio
import pytest

import sdk

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
NOTICE = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
"""Which is not answered, so that nobody waits for the answer at the end."""


def error(line: bytes, most: int = 1000) -> tuple[int, Any]:
    """The code and the id of the answer to `line`, which is no message."""
    answer = sdk.stdio.parsed(line, most)
    assert isinstance(answer, sdk.types.JSONRPCError)
    assert answer.error.message
    return answer.error.code, answer.id


def test_a_message_is_read() -> None:
    assert isinstance(sdk.stdio.parsed(PING), sdk.types.JSONRPCRequest)
    assert isinstance(
        sdk.stdio.parsed(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'), sdk.types.JSONRPCNotification
    )


@pytest.mark.parametrize("line", [b"{", b"hello", b'{"jsonrpc": "2.0"', b"\xff\xfe", b"[" * 5000])
def test_what_is_no_json_is_a_parse_error_without_an_id(line: bytes) -> None:
    assert error(line, 10_000) == (sdk.types.PARSE_ERROR, None)


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', 7),
        (b'{"id": "a", "method": "ping"}', "a"),
        (b'{"jsonrpc": "2.0", "id": 3, "method": 4}', 3),
        (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]}', 3),
        (b"[" + PING.strip() + b"]", None),
        (b"17", None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', None),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_with_the_id_that_it_has(line: bytes, request_id: Any) -> None:
    assert error(line) == (sdk.types.INVALID_REQUEST, request_id)


def test_half_a_surrogate_pair_is_told_to_who_sent_it() -> None:
    cut_off = (
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "x", "arguments": {"a": "\\ud83d"}}}'
    )
    assert error(cut_off) == (sdk.types.INVALID_REQUEST, 4)
    assert error(b'{"id": 4, "a": "\\ud83d"') == (sdk.types.PARSE_ERROR, None)
    assert error(b'["\\ud83d"]') == (sdk.types.PARSE_ERROR, None)


def test_a_line_that_is_too_long_is_answered_and_the_next_one_is_read() -> None:
    long = b'{"jsonrpc": "2.0", "id": 9, "method": "' + b"x" * 300_000 + b'"}\n'
    out = io.BytesIO()
    read: list[Any] = []

    async def main() -> None:
        async with sdk.stdio.messages(io.BytesIO(long + b"\n" + NOTICE), out, 1000) as (incoming, outgoing):
            async with incoming:
                async for item in incoming:
                    assert isinstance(item, sdk.SessionMessage)
                    read.append(item.message)
            await outgoing.aclose()

    anyio.run(main)
    assert [message.method for message in read] == ["notifications/initialized"]
    assert b"longer than 1000 bytes" in out.getvalue()
    assert out.getvalue().startswith(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600')


def test_what_was_asked_before_stdin_ended_is_answered() -> None:
    """As where a script pipes its requests in and does not wait."""
    out = io.BytesIO()

    async def main() -> None:
        async with sdk.stdio.messages(io.BytesIO(PING), out) as (incoming, outgoing), incoming:
            await incoming.receive()
            with anyio.move_on_after(0.05):
                await incoming.receive()
            assert incoming.statistics().open_send_streams == 1, "it has ended before the answer"
            await outgoing.send(sdk.SessionMessage(sdk.types.JSONRPCResponse(jsonrpc="2.0", id=1, result={})))
            with pytest.raises(anyio.EndOfStream):
                await incoming.receive()
            await outgoing.aclose()

    anyio.run(main)
    assert out.getvalue() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def ask(request_id: int, size: int = 0) -> bytes:
    padding = "x" * size
    return f'{{"jsonrpc": "2.0", "id": {request_id}, "method": "ping", "params": {{"p": "{padding}"}}}}\n'.encode()


async def takes(incoming: Any, count: int) -> bool:
    """Do so many messages come, and then none?"""
    with anyio.fail_after(20):
        for _ in range(count):
            await incoming.receive()
    with anyio.move_on_after(0.1) as over:
        await incoming.receive()
    return over.cancelled_caught


def test_a_client_that_asks_and_does_not_read_is_not_read_either() -> None:
    """Each answer, and each request that is cancelled and therefore never answered, makes room for one more."""
    cancelled = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}\n'
    lines = [cancelled if n == 5 else ask(n) for n in range(sdk.stdio.MOST_UNANSWERED * 3)]

    async def main() -> None:
        with anyio.CancelScope() as all_of_it:
            async with (
                sdk.stdio.messages(io.BytesIO(b"".join(lines)), io.BytesIO()) as (incoming, outgoing),
                incoming,
                outgoing,
            ):
                assert await takes(incoming, sdk.stdio.MOST_UNANSWERED + 2), "the cancelled one, and its cancellation"
                await outgoing.send(sdk.SessionMessage(sdk.types.JSONRPCResponse(jsonrpc="2.0", id=2, result={})))
                assert await takes(incoming, 1)
                all_of_it.cancel()

    anyio.run(main)


def test_large_requests_wait_in_the_pipe() -> None:
    async def main() -> None:
        stdin = io.BytesIO(b"".join(ask(n, 400) for n in range(20)))
        with anyio.CancelScope() as all_of_it:
            async with sdk.stdio.messages(stdin, io.BytesIO(), 1000) as (incoming, outgoing), incoming, outgoing:
                assert await takes(incoming, 3)
                all_of_it.cancel()

    anyio.run(main)
