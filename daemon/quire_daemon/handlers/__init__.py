"""The table of tools. A new one is a module beside this with its `Tool`, a line here, and a test.

A dialect that the engine in `edit.py` can carry needs none: it has a line in `quire_daemon.dialects.table`.
"""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.core.decision import Tool
from quire_daemon.dialects.table import DIALECTS
from quire_daemon.handlers.apply_patch import PATCH_TOOL
from quire_daemon.handlers.blame import BLAME_TOOL
from quire_daemon.handlers.bursts import BURST_TOOL
from quire_daemon.handlers.checkpoints import CHECKPOINT_TOOL
from quire_daemon.handlers.describe import describe_tool
from quire_daemon.handlers.edit import EDIT_TOOL, edit_tool
from quire_daemon.handlers.edit_file import EDIT_FILE_TOOL
from quire_daemon.handlers.files import DELETE_TOOL, MOVE_TOOL
from quire_daemon.handlers.hashline_edit import HASHLINE_TOOL
from quire_daemon.handlers.leases import CLAIM_TOOL, CLAIMS_TOOL, RELEASE_TOOL
from quire_daemon.handlers.log import LOG_TOOL, SINCE_TOOL
from quire_daemon.handlers.manual import MANUAL_TOOL
from quire_daemon.handlers.native import NATIVE_TOOL
from quire_daemon.handlers.read import READ_TOOL
from quire_daemon.handlers.regex_replace import REGEX_TOOL
from quire_daemon.handlers.show import DIFF_TOOL, SHOW_TOOL
from quire_daemon.handlers.status import OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL
from quire_daemon.handlers.tree import BLOBS_TOOL, TREE_TOOL
from quire_daemon.handlers.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL
from quire_daemon.handlers.view import VIEW_TOOL
from quire_daemon.handlers.why import WHY_TOOL
from quire_daemon.handlers.write import WRITE_TOOL

_OWN: Final[dict[str, Tool[Any]]] = {
    "read_file": READ_TOOL,
    "write_file": WRITE_TOOL,
    "edit": EDIT_TOOL,
    "hashline_edit": HASHLINE_TOOL,
    "apply_patch": PATCH_TOOL,
    "edit_file": EDIT_FILE_TOOL,
    "regex_replace": REGEX_TOOL,
    "delete_file": DELETE_TOOL,
    "move_file": MOVE_TOOL,
    "log": LOG_TOOL,
    "since": SINCE_TOOL,
    "show": SHOW_TOOL,
    "diff": DIFF_TOOL,
    "blame": BLAME_TOOL,
    "why": WHY_TOOL,
    "tree": TREE_TOOL,
    "blobs": BLOBS_TOOL,
    "undo": UNDO_TOOL,
    "redo": REDO_TOOL,
    "rollback": ROLLBACK_TOOL,
    "restore": RESTORE_TOOL,
    "checkpoint": CHECKPOINT_TOOL,
    "burst": BURST_TOOL,
    "native": NATIVE_TOOL,
    "claim": CLAIM_TOOL,
    "release": RELEASE_TOOL,
    "claims": CLAIMS_TOOL,
    "status": STATUS_TOOL,
    "who": WHO_TOOL,
    "op_status": OP_STATUS_TOOL,
    "manual": MANUAL_TOOL,
}
"""The tools that have a module of their own."""

TOOLS: Final[dict[str, Tool[Any]]] = _OWN | {
    name: edit_tool(dialect, _OWN | {"view": VIEW_TOOL}) for name, dialect in DIALECTS.items() if name not in _OWN
}
"""Name → tool."""

TOOLS["describe"] = describe_tool(TOOLS)
