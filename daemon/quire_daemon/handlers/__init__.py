"""The table of tools. A new one is a module beside this with its `Tool`, a line here, and a test."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.handlers.base import Tool
from quire_daemon.handlers.edit import EDIT_TOOL
from quire_daemon.handlers.files import DELETE_TOOL, MOVE_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.write import WRITE_TOOL

TOOLS: Final[dict[str, Tool[Any]]] = {
    "read_file": READ_TOOL,
    "write_file": WRITE_TOOL,
    "edit": EDIT_TOOL,
    "delete_file": DELETE_TOOL,
    "move_file": MOVE_TOOL,
}
"""Name → tool."""
