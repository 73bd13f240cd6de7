"""Table of tools. A new tool is a module with its `Tool`, a line here, and a test; a dialect needs only a line in
`quire_daemon.dialects.table`.
"""

from __future__ import annotations

from typing import Any, Final

from quire_daemon.core import Tool
from quire_daemon.dialects import DIALECTS
from quire_daemon.tools.admin import MANUAL_TOOL, OP_STATUS_TOOL, STATUS_TOOL, WHO_TOOL, describe_tool
from quire_daemon.tools.agent_hooks import NATIVE_TOOL
from quire_daemon.tools.bursts import BURST_TOOL
from quire_daemon.tools.checkpoints import CHECKPOINT_TOOL
from quire_daemon.tools.edit import (
    DELETE_TOOL,
    EDIT_FILE_TOOL,
    EDIT_TOOL,
    HASHLINE_TOOL,
    MOVE_TOOL,
    PATCH_TOOL,
    REGEX_TOOL,
    VIEW_TOOL,
    WRITE_TOOL,
    edit_tool,
)
from quire_daemon.tools.guard import GUARD_TOOL
from quire_daemon.tools.history import (
    BLAME_TOOL,
    BLOBS_TOOL,
    CONTRIBUTIONS_TOOL,
    DIFF_TOOL,
    LANES_TOOL,
    LOG_TOOL,
    SHOW_TOOL,
    SINCE_TOOL,
    STORIES_TOOL,
    SYNTAX_TOOL,
    TREE_TOOL,
    WHY_TOOL,
)
from quire_daemon.tools.isolated_changes import LAND_TOOL
from quire_daemon.tools.leases import CLAIM_TOOL, CLAIMS_TOOL, RELEASE_TOOL
from quire_daemon.tools.read import READ_TOOL
from quire_daemon.tools.review import ACCEPT_TOOL, REJECT_TOOL, REVIEW_TOOL
from quire_daemon.tools.runs import RUN_TOOL
from quire_daemon.tools.saved import SAVED_TOOL
from quire_daemon.tools.undo import REDO_TOOL, RESTORE_TOOL, ROLLBACK_TOOL, UNDO_TOOL

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
    "stories": STORIES_TOOL,
    "lanes": LANES_TOOL,
    "since": SINCE_TOOL,
    "show": SHOW_TOOL,
    "diff": DIFF_TOOL,
    "blame": BLAME_TOOL,
    "why": WHY_TOOL,
    "tree": TREE_TOOL,
    "contributions": CONTRIBUTIONS_TOOL,
    "blobs": BLOBS_TOOL,
    "syntax": SYNTAX_TOOL,
    "review": REVIEW_TOOL,
    "accept": ACCEPT_TOOL,
    "reject": REJECT_TOOL,
    "undo": UNDO_TOOL,
    "redo": REDO_TOOL,
    "rollback": ROLLBACK_TOOL,
    "restore": RESTORE_TOOL,
    "checkpoint": CHECKPOINT_TOOL,
    "burst": BURST_TOOL,
    "native": NATIVE_TOOL,
    "guard": GUARD_TOOL,
    "run": RUN_TOOL,
    "land": LAND_TOOL,
    "saved": SAVED_TOOL,
    "claim": CLAIM_TOOL,
    "release": RELEASE_TOOL,
    "claims": CLAIMS_TOOL,
    "status": STATUS_TOOL,
    "who": WHO_TOOL,
    "op_status": OP_STATUS_TOOL,
    "manual": MANUAL_TOOL,
}
"""Tools that are no dialects, by name."""

TOOLS: Final[dict[str, Tool[Any]]] = _OWN | {
    name: edit_tool(dialect, _OWN | {"view": VIEW_TOOL}) for name, dialect in DIALECTS.items() if name not in _OWN
}
"""All tools, by name."""

TOOLS["describe"] = describe_tool(TOOLS)
