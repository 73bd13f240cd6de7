"""The tools `undo`, `redo`, `rollback` and `restore`: selection, plan, guard and report."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.undo.partial_operations import *
    from quire_daemon.tools.undo.plan_tokens import *
    from quire_daemon.tools.undo.select import UndoParams as UndoParams, places_now as places_now
    from quire_daemon.tools.undo.tool import *
else:
    __getattr__ = face(
        __name__,
        partial_operations="but_for taken_back",
        plan_tokens="PlanTokens",
        select="UndoParams places_now",
        tool="REDO_TOOL RESTORE_TOOL ROLLBACK_TOOL UNDO_TOOL",
    )
