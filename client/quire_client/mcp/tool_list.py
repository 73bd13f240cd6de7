"""The tools as MCP lists and answers them, from the replies of the daemon's `describe`. Values as JSON has them."""

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
"""Tools whose replies may be long; a client that cuts results off is told how much to let through."""

MOST_CHARACTERS: Final = 400_000
_ROOM: Final = "anthropic/maxResultSizeChars"

_EXACT: Final = 2**53
"""From here on, a float no longer says which integer is meant."""


def tool(entry: Mapping[str, Any], *, with_handle: bool = False) -> dict[str, Any]:
    """One entry of `describe`'s `tools`; `with_handle` where clients have to say which agent session they are.

    No schema of the result: it would be the same few lines for each tool, and a client that has one insists on results
    with a structure.
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
    """The arguments of a call as its schema means them.

    Some clients send null for what they leave out, on every level. To JSON Schema 5.0 is an integer, and whoever keeps
    arguments in protobuf's Struct has no other.
    """
    return {name: _meant(value) for name, value in arguments.items() if value is not None}


def _meant(value: Any) -> Any:
    if isinstance(value, Mapping):
        return meant(value)
    if isinstance(value, list):
        return [_meant(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT else value


class Shows(Enum):
    """Which part of a result a client shows its model."""

    BOTH = "both"  # or the one or the other, by version or by outcome
    TEXT = "text"
    STRUCTURE = "structure"


SHOWN: Final = {"codex-mcp-client": Shows.STRUCTURE, "gemini-cli-mcp-client": Shows.TEXT}
"""Clients that would show the same twice, by their names. Codex (0.169) shows the structure, and in code mode all of
the result; Gemini CLI (0.61) shows the text, and of a refusal all of the result. Of the others known, Claude Code (2.1)
shows the structure, or of a refusal the text, and opencode (1.18) the text: they get both."""


def result(reply: Mapping[str, Any], client: str = "") -> dict[str, Any]:
    """A reply of the daemon as a result for the client of that name: as text, as structure, or as both."""
    shown = SHOWN.get(client, Shows.BOTH)
    text = {"type": "text", "text": json.dumps(reply, ensure_ascii=False, separators=(",", ":"))}
    structure = {} if shown is Shows.TEXT else {"structuredContent": dict(reply)}
    return {"content": [] if shown is Shows.STRUCTURE else [text], **structure, "isError": not reply.get("ok")}
