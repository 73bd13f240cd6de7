"""Undo: undo, redo, rollback and restore: selection, plan, guard and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.undo.partial_operations import but_for as but_for, taken_back as taken_back
    from quire_daemon.tools.undo.tool import (
        REDO_TOOL as REDO_TOOL,
        RESTORE_TOOL as RESTORE_TOOL,
        ROLLBACK_TOOL as ROLLBACK_TOOL,
        UNDO_TOOL as UNDO_TOOL,
    )
else:
    __getattr__ = face(
        __name__,
        partial_operations="but_for taken_back",
        tool="REDO_TOOL RESTORE_TOOL ROLLBACK_TOOL UNDO_TOOL",
    )
