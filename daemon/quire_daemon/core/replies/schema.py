"""The JSON Schema of a reply, from its struct (`Tool.reply`). Tests check real replies strictly against these structs,
so that no field is undocumented.
"""

from __future__ import annotations

from typing import Any

import msgspec

from quire_daemon.core.replies.base import RefusalReply
from quire_journal.model import CODES


def reply_schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's replies, refusals included."""
    (success, refusal), definitions = msgspec.json.schema_components(
        [shape, RefusalReply], ref_template="#/$defs/{name}"
    )
    definitions[shape.__name__]["properties"]["ok"] = {"const": True}
    definitions["RefusalReply"]["properties"]["ok"] = {"const": False}
    definitions["RefusalReply"]["properties"]["error"] = {"enum": sorted(CODES)}
    return {"anyOf": [success, refusal], "$defs": dict(definitions)}
