"""The tools as MCP lists and answers them, from the replies of the daemon's `describe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
import msgspec

from quire_client.mcp.identity import HANDLE

OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "false: refused, and nothing was changed."},
        "message": {"type": "string"},
        "error": {"type": "string", "description": "The code of a refusal."},
        "suggested_action": {"type": "string"},
    },
    "required": ["ok", "message"],
}
"""The schema of every result: an object, as some clients insist. What else it holds depends on the tool."""

_HANDLE_SCHEMA: Final = {
    "type": "string",
    "description": "The my_agent_session of your first reply. Pass it along, so that Quire knows what you were shown.",
}

LARGE: Final = ("read_file", "show", "diff", "blame", "log", "since")
"""Tools whose replies may be long; a client that cuts results off is told how much to let through."""

MOST_CHARACTERS: Final = 400_000

_EXACT: Final = 2**53
"""From here on, a float no longer says which integer is meant."""


def tool(entry: Mapping[str, Any], *, with_handle: bool) -> types.Tool:
    """One entry of `describe`'s `tools`; `with_handle` where clients have to say which agent session they are."""
    schema = dict(entry["schema"])
    if with_handle:
        schema["properties"] = {**schema["properties"], HANDLE: _HANDLE_SCHEMA}
    notes = entry["annotations"]
    return types.Tool(
        name=entry["name"],
        title=entry["title"],
        description=entry["description"],
        input_schema=schema,
        output_schema=OUTPUT,
        annotations=types.ToolAnnotations(
            title=notes["title"],
            read_only_hint=notes["readOnlyHint"],
            destructive_hint=notes["destructiveHint"],
            idempotent_hint=notes["idempotentHint"],
            open_world_hint=notes["openWorldHint"],
        ),
        _meta={"anthropic/maxResultSizeChars": MOST_CHARACTERS} if entry["name"] in LARGE else None,
    )


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


def result(reply: Mapping[str, Any]) -> types.CallToolResult:
    """A reply of the daemon. The text is the same JSON, for clients that do not look at the structure."""
    text = msgspec.json.encode(reply).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=dict(reply),
        is_error=not reply.get("ok"),
    )
