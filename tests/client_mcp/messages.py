"""Messages of MCP as they stand on the wire, and what a server answers to them."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import anyio
import msgspec

import sdk

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def raw(server: Any, *lines: dict[str, Any] | bytes) -> list[dict[str, Any]]:
    """The answers to messages as they stand on the wire, by id, then those without one."""
    sent = b"".join(line if isinstance(line, bytes) else msgspec.json.encode(line) + b"\n" for line in lines)
    out = io.BytesIO()
    wanted = sum(isinstance(line, bytes) or "id" in line for line in lines)

    class Stdin(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            line = super().readline(size)
            until = time.monotonic() + 10
            while not line and out.getvalue().count(b"\n") < wanted and time.monotonic() < until:
                time.sleep(0.005)  # a client keeps its end open until it has its answers
            return line

    async def main() -> None:
        async with sdk.stdio.messages(Stdin(sent), out) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(main)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    return sorted(answers, key=lambda answer: (answer.get("id") is None, answer.get("id") or 0))
