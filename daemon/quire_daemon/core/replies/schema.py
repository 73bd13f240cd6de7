"""The JSON Schema of a reply, from the struct that states its shape (`Tool.reply`).

Only successes have shapes of their own; a refusal is `ok: false` with `error`, `message`, `suggested_action` and what
its code brings. Handlers build plain dicts; the tests hold what they really answer against these shapes, strictly, so
that no field is told to nobody.
"""

from __future__ import annotations

from typing import Any

import msgspec

from quire_daemon.core.replies.base import RefusalReply
from quire_journal.model import CODES


def reply_schema(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of what a tool answers, refusals included."""
    (success, refusal), definitions = msgspec.json.schema_components(
        [shape, RefusalReply], ref_template="#/$defs/{name}"
    )
    definitions[shape.__name__]["properties"]["ok"] = {"const": True}
    definitions["RefusalReply"]["properties"]["ok"] = {"const": False}
    definitions["RefusalReply"]["properties"]["error"] = {"enum": sorted(CODES)}
    return {"anyOf": [success, refusal], "$defs": dict(definitions)}
