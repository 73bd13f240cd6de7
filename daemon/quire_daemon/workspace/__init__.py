"""Workspace: files of the checkout, resolved, read, staged and swapped, none outside of it."""
