"""The live feed: new records as server-sent events, at most ten messages a second."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

from quire_client.calls import Answer
from quire_client.page.daemons import LOST

WAIT_MS: Final = 2_000
"""Milliseconds that one call waits for records; then a comment keeps the HTTP connection alive."""

BETWEEN_S: Final = 0.1
AGAIN_S: Final = 0.5
LIMIT: Final = 500
Ask = Callable[[Mapping[str, Any]], Awaitable[Answer]]
Pause = Callable[[float], Awaitable[None]]


async def events(ask: Ask, cursor: str, good: Callable[[], bool], pause: Pause = asyncio.sleep) -> AsyncIterator[bytes]:
    """Yield server-sent events with the records after `cursor` ("": from now) until `good` returns False or the daemon
    refuses. `ask` calls the tool `since` with these arguments; `pause` waits some seconds.
    """
    lost = False
    yield b"retry: 500\n\n"
    while good():
        waiting = {"cursor": cursor, "wait_ms": WAIT_MS} if cursor else {}
        reply = await ask({"limit": LIMIT, **waiting})
        if not good():
            return
        if not reply.get("ok"):
            if reply.get("error") not in LOST:
                yield event("refused", reply)
                return
            if not lost:
                yield event("lost", {"message": reply.get("message", "")})
                lost = True
            await pause(AGAIN_S)
            continue
        cursor = str(reply["cursor"])
        if lost or reply["records"] or reply["fresh"] or not waiting:
            lost = False
            sent_s = time.monotonic()
            yield event("records", reply, cursor)
            if not reply["more"]:
                await pause(max(0.0, BETWEEN_S - (time.monotonic() - sent_s)))
        else:
            yield b": here\n\n"


def event(name: str, told: Mapping[str, Any], cursor: str = "") -> bytes:
    named = f"id: {cursor}\n" if cursor else ""
    return f"event: {name}\n{named}data: {json.dumps(told, separators=(',', ':'))}\n\n".encode()
