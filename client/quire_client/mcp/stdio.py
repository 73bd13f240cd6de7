"""MCP over stdin and stdout: one JSON message per line, with a size limit and errors for invalid messages.

Invalid JSON gets the error -32700, and JSON that is no message -32600. From a client with too many unanswered requests
nothing is read, so that its pipe fills up and it must wait.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import anyio
import anyio.to_thread
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from quire_client.mcp.streams import MOST_LINE, read_line, write_line

if TYPE_CHECKING:
    from quire_client.mcp.first_answers import FirstAnswers

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


MOST_UNANSWERED: Final = 128
GRACE_S: Final = 1.5


class PendingRequests:
    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._sizes: dict[str | int, list[int]] = {}  # by id, which a faulty client may use twice
        self._count = self._bytes = 0
        self._less = anyio.Event()

    def __bool__(self) -> bool:
        return self._count > 0

    def add(self, request_id: str | int, size: int) -> None:
        self._sizes.setdefault(request_id, []).append(size)
        self._count += 1
        self._bytes += size

    def drop(self, request_id: Any) -> None:
        sizes = self._sizes.get(request_id) if isinstance(request_id, str | int) else None
        if not sizes:
            return
        self._count -= 1
        self._bytes -= sizes.pop()
        if not sizes:
            del self._sizes[request_id]
        self._less.set()
        self._less = anyio.Event()

    async def room(self) -> None:
        while self._count >= self._most or self._bytes >= self._most_bytes:
            await self._less.wait()


@asynccontextmanager
async def messages(
    stdin: BinaryIO, stdout: BinaryIO, most: int = MOST_LINE, first: FirstAnswers | None = None
) -> AsyncIterator[Streams]:
    """Yield the SDK's two message streams over stdin and stdout. They begin with the conversation of `first`, and end
    once all requests before the end of stdin are answered.
    """
    asked = PendingRequests(MOST_UNANSWERED, most)
    heard, answered = (list(first.heard), list(first.answered)) if first is not None else ([], [])
    received, incoming = anyio.create_memory_object_stream[Incoming](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    complaints = outgoing.clone()

    async def next_line() -> bytes | None:
        return await anyio.to_thread.run_sync(read_line, stdin, most, abandon_on_cancel=True)

    async def read() -> None:
        async with received, complaints:
            while (line := heard.pop(0) if heard else await next_line()) is not None:
                if not line.strip():
                    continue
                message = parsed(line, most)
                target: Any = complaints if isinstance(message, types.JSONRPCError) else received
                if isinstance(message, types.JSONRPCRequest):
                    await asked.room()
                    asked.add(message.id, len(line))
                elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                    asked.drop((message.params or {}).get("requestId"))  # the SDK no longer answers it
                with suppress(anyio.BrokenResourceError):
                    await target.send(SessionMessage(message))
            with anyio.move_on_after(GRACE_S):
                while asked:
                    await anyio.sleep(0.02)

    async def write() -> None:
        async with sent:
            async for message in sent:
                said = message.message
                request_id = said.id if isinstance(said, types.JSONRPCResponse | types.JSONRPCError) else None
                if request_id in answered:
                    answered.remove(request_id)
                else:
                    json = said.model_dump_json(by_alias=True, exclude_unset=True)
                    await anyio.to_thread.run_sync(write_line, stdout, json.encode())
                asked.drop(request_id)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        yield incoming, outgoing


def parsed(line: bytes, most: int = MOST_LINE) -> Any:
    """Return the message in `line`, or the JSON-RPC error that answers an invalid one."""
    if len(line) > most:
        return _error(types.INVALID_REQUEST, f"The message is longer than {most} bytes; it was not looked at.")
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not (isinstance(message, types.JSONRPCNotification) and b'"id"' in line):
            return message
    except ValidationError:
        message = None
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return _half_a_pair(line) or _error(types.PARSE_ERROR, f"Parse error: {error}")
    if message is not None and "id" not in found:  # "id" occurs elsewhere in the message
        return message
    # A request with an invalid id (null, 1.5) parses as a notification, but its sender waits for an answer.
    kept = _request_id(found)
    what = "a batch" if isinstance(found, list) else "not a request, a notification or a response"
    return _error(types.INVALID_REQUEST, f"Invalid request: this is {what} of JSON-RPC 2.0.", kept)


def _request_id(found: object) -> str | int | None:
    request_id = found.get("id") if isinstance(found, dict) else None
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def _half_a_pair(line: bytes) -> types.JSONRPCError | None:
    if b"\\u" not in line:
        return None
    try:
        kept = _request_id(json.loads(line))
    except (ValueError, RecursionError):
        return None
    message = "Invalid request: half of a surrogate pair stands alone in it (\\ud800 to \\udfff), which is no text."
    return _error(types.INVALID_REQUEST, message, kept) if kept is not None else None


def _error(code: int, message: str, request_id: str | int | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=message))
