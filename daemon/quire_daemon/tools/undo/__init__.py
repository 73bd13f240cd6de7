"""Undo: undo, redo, rollback and restore: selection, plan, guard and report."""
