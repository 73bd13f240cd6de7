"""Answers the first MCP requests over stdio while the SDK, which takes a second, is loaded.

The SDK then receives the whole conversation; its answers to requests that were answered before are dropped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, Final, NamedTuple

from quire_client.mcp import resources, tool_list, welcome
from quire_client.mcp.identity import RequestIds, Who, ids_of
from quire_client.mcp.streams import MOST_LINE, read_line, write_line

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSION: Final = "2026-07-28"
"""Protocol version with an envelope on each request; older versions use the `initialize` handshake."""

_ENVELOPE: Final = "io.modelcontextprotocol/"

Result = dict[str, Any]


class Given(NamedTuple):
    """Functions that return the caller, the offered tools and answers to hooks, for the first answers."""

    who: Callable[[str, RequestIds], Who]  # the caller, from the client's name and the request's ids
    listed: Callable[[Who], Sequence[Mapping[str, Any]] | None]  # entries of `describe`; None: no answer
    hook: Callable[[Mapping[str, Any]], Result] | None = None  # the answer to an event of the agent
    hook_tool: str = ""  # name of the tool by which the agent sends events


class FirstAnswers:
    """The MCP conversation until the SDK takes over."""

    def __init__(self, given: Given, load: Callable[[], object]) -> None:
        """`load` imports the SDK; an error is ignored, as the import is repeated later."""

        def load_quietly() -> None:
            with suppress(Exception):
                load()

        self._given = given
        self._loading = threading.Thread(target=load_quietly, name="mcp-sdk", daemon=True)
        self._client = ""  # name of the client from the handshake
        self._ready = False  # the handshake is over
        self.heard: list[bytes] = []  # lines to replay to the SDK
        self.answered: list[str | int] = []  # ids of the requests in `heard` that are answered

    def serve(self, stdin: BinaryIO, stdout: BinaryIO) -> bool:
        """Answer messages until one needs the SDK. Return True then, and False if the client has closed stdin."""
        while (line := read_line(stdin)) is not None:
            answer = self.answer(line) if len(line) <= MOST_LINE else None
            if answer is None:
                self.heard.append(line)
                break
            if answer:
                write_line(stdout, json.dumps(answer, separators=(",", ":")).encode())
            if "tools" in answer.get("result", ()) and not self._loading.ident:
                self._loading.start()
        if line is not None and self._loading.ident:
            self._loading.join()
        return line is not None

    def answer(self, line: bytes) -> Result | None:
        """Return the answer to a message; {} if it needs none; None if the SDK must answer it."""
        try:
            message = json.loads(line)
            method, params = message["method"], message.get("params", {})
            meta = params.get("_meta") or {}
            if message.get("jsonrpc") != "2.0" or "cursor" in params:
                return None
            if "id" not in message:
                if method != "notifications/initialized" or not self._client:
                    return None
                self._ready = True
                self.heard.append(line)
                return {}
            result = self._result(method, params, meta)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        if result is None or type(message["id"]) not in (str, int):
            return None
        if method != "tools/call":  # which is done once
            self.heard.append(line)
            self.answered.append(message["id"])
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _result(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> Result | None:
        version = meta.get(_ENVELOPE + "protocolVersion")
        if version is None:
            return self._in_session(method, params, meta)
        client = meta[_ENVELOPE + "clientInfo"]
        if version != ENVELOPE_VERSION or not _is_client(client, meta[_ENVELOPE + "clientCapabilities"]):
            return None
        if method == "server/discover":
            result: Result | None = {
                "supportedVersions": [ENVELOPE_VERSION],
                "capabilities": welcome.CAPABILITIES,
                "instructions": welcome.INSTRUCTIONS,
            }
        else:
            result = self._listed(method, client["name"], params, meta)
        if result is None:
            return None
        cached = {} if method == "tools/call" else {"cacheScope": "private", "ttlMs": 0}
        if method == "tools/list":
            cached["ttlMs"] = welcome.KEPT_MS
        return {**result, "resultType": "complete", **cached, "_meta": {_ENVELOPE + "serverInfo": welcome.INFO}}

    def _in_session(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> Result | None:
        if method == "initialize":
            version, client = params["protocolVersion"], params["clientInfo"]
            if self._client or version not in HANDSHAKE_VERSIONS or not _is_client(client, params["capabilities"]):
                return None
            self._client = client["name"]
            return {
                "protocolVersion": version,
                "capabilities": welcome.CAPABILITIES,
                "serverInfo": welcome.INFO,
                "instructions": welcome.INSTRUCTIONS,
            }
        return self._listed(method, self._client, params, meta) if self._ready else None

    def _listed(self, method: str, client: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> Result | None:
        match method:
            case "tools/list":
                entries = self._given.listed(self._given.who(client, ids_of(meta)))
                return None if entries is None else {"tools": [tool_list.tool(entry) for entry in entries]}
            case "resources/list":
                return {"resources": list(resources.RESOURCES)}
            case "resources/templates/list":
                return {"resourceTemplates": list(resources.TEMPLATES)}
            case "tools/call" if self._given.hook is not None and params["name"] == self._given.hook_tool:
                answer = self._given.hook(params.get("arguments") or {})
                return {"content": [{"type": "text", "text": json.dumps(answer)}], "isError": False}
        return None


def _is_client(info: Any, capabilities: Any) -> bool:
    said = info["name"], info["version"]
    return isinstance(capabilities, dict) and all(isinstance(text, str) and text for text in said)
