"""The table of tools. A new one is a module beside this with its `Tool`, a line here, and a test."""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.handlers.base import Tool
from quire_daemon.handlers.edit import EDIT_TOOL
from quire_daemon.handlers.files import DELETE_TOOL, MOVE_TOOL
from quire_daemon.handlers.hashline_edit import HASHLINE_TOOL
from quire_daemon.handlers.log import LOG_TOOL, SINCE_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.show import DIFF_TOOL, SHOW_TOOL
from quire_daemon.handlers.status import CHECKPOINT_TOOL, OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_daemon.handlers.write import WRITE_TOOL

TOOLS: Final[dict[str, Tool[Any]]] = {
    "read_file": READ_TOOL,
    "write_file": WRITE_TOOL,
    "edit": EDIT_TOOL,
    "hashline_edit": HASHLINE_TOOL,
    "delete_file": DELETE_TOOL,
    "move_file": MOVE_TOOL,
    "log": LOG_TOOL,
    "since": SINCE_TOOL,
    "show": SHOW_TOOL,
    "diff": DIFF_TOOL,
    "undo": UNDO_TOOL,
    "redo": REDO_TOOL,
    "rollback": ROLLBACK_TOOL,
    "restore": RESTORE_TOOL,
    "checkpoint": CHECKPOINT_TOOL,
    "status": STATUS_TOOL,
    "who": WHO_TOOL,
    "op_status": OP_STATUS_TOOL,
}
"""Name → tool."""
