"""The tools `undo`, `redo`, `rollback` and `restore`: selection, plan, guard and report."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.tools.undo.params import UndoParams as UndoParams
    from quire_daemon.tools.undo.partial_operations import *
    from quire_daemon.tools.undo.places import places_now as places_now
    from quire_daemon.tools.undo.plan_tokens import *
    from quire_daemon.tools.undo.tool import *
else:
    __getattr__ = face(
        __name__,
        params="UndoParams",
        partial_operations="but_for taken_back",
        places="places_now",
        plan_tokens="PlanTokens",
        tool="REDO_TOOL RESTORE_TOOL ROLLBACK_TOOL UNDO_TOOL",
    )
