"""Take back: undo, redo, rollback, restore, checkpoint, burst."""
