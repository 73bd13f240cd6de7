"""Commands that undo: undo, redo, rollback, restore; and checkpoint and burst."""
