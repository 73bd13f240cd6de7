"""Workspaces: where the journal of a checkout lies, which journal belongs to it, and who holds its lock."""
