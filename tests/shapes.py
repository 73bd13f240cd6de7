"""Are replies what is stated of them? Whatever a test asks of a daemon in memory is held against the shapes."""

from __future__ import annotations

from typing import Any

import msgspec

from quire_daemon.core.replies.base import RefusalReply
from quire_daemon.maintenance.table import SERVICES
from quire_daemon.tools.table import TOOLS

REPLIES = {name: tool.reply for name, tool in (TOOLS | SERVICES).items()}
"""The shape of what each tool and service replies."""


def held(tool: str, reply: dict[str, Any]) -> Any:
    """The reply as the struct that states its shape; what does not fit raises `msgspec.ValidationError`."""
    wire = msgspec.msgpack.encode(reply)
    return msgspec.msgpack.decode(wire, type=REPLIES[tool] if reply["ok"] else RefusalReply)


def checked(tool: str, reply: dict[str, Any]) -> dict[str, Any]:
    """The same reply, when it has the shape of that tool's. Tools that a test made up have none."""
    if tool in REPLIES and tool != "status":  # most of which is the app's to tell: `e2e/test_reply_shapes.py`
        try:
            held(tool, reply)
        except msgspec.ValidationError as wrong:
            raise AssertionError(f"{tool} answers what is stated nowhere (`Tool.reply`): {wrong}") from wrong
    return reply
