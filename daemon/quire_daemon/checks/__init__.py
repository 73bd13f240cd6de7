"""Checks: whether an edit leaves a file with the syntax that it had."""
