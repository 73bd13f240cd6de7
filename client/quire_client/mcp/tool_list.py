"""Converts the daemon's tools and replies into MCP's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from quire_client.mcp.identity import HANDLE

_HANDLE_SCHEMA: Final = {
    "type": "string",
    "description": "Of your first reply.",
}

LARGE: Final = ("read_file", "show", "diff", "blame", "log", "since", "stories")
MOST_CHARACTERS: Final = 400_000
_ROOM: Final = "anthropic/maxResultSizeChars"

_EXACT: Final = 2**53


def tool(entry: Mapping[str, Any], *, with_handle: bool = False) -> dict[str, Any]:
    """Convert an entry of the tool `describe` into an MCP tool.

    `with_handle` adds the argument by which a client names its agent session.
    """
    schema = {name: said for name, said in entry["schema"].items() if said != []}  # nothing is required, say
    if with_handle:
        schema["properties"] = {**schema["properties"], HANDLE: _HANDLE_SCHEMA}
    listed = {
        "name": entry["name"],
        "title": entry["title"],
        "description": entry["description"],
        "inputSchema": schema,
        "annotations": {name: said for name, said in entry["annotations"].items() if name != "title"},
    }
    return {**listed, "_meta": {_ROOM: MOST_CHARACTERS}} if entry["name"] in LARGE else listed


def meant(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without nulls, and with integers for floats such as 5.0, as some clients send them."""
    return {name: _meant(value) for name, value in arguments.items() if value is not None}


def _meant(value: Any) -> Any:
    if isinstance(value, Mapping):
        return meant(value)
    if isinstance(value, list):
        return [_meant(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value


class Shows(Enum):
    BOTH = "both"  # for clients that show one of them, by version or outcome
    TEXT = "text"
    STRUCTURE = "structure"


SHOWN: Final = {"codex-mcp-client": Shows.STRUCTURE, "gemini-cli-mcp-client": Shows.TEXT}
"""Part of a result for clients that would show both: Codex (0.169) shows the structure, Gemini CLI (0.61) the text."""


def result(reply: Mapping[str, Any], client: str = "") -> dict[str, Any]:
    """Convert a reply of the daemon into an MCP tool result: text, structure, or both, as `client` (its name) can use
    them.
    """
    shown = SHOWN.get(client, Shows.BOTH)
    text = {"type": "text", "text": json.dumps(reply, ensure_ascii=False, separators=(",", ":"))}
    structure = {} if shown is Shows.TEXT else {"structuredContent": dict(reply)}
    return {"content": [] if shown is Shows.STRUCTURE else [text], **structure, "isError": not reply.get("ok")}
