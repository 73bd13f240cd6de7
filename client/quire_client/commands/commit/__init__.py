"""Commit: one writer's lines for git's index, and a check of what is staged."""
