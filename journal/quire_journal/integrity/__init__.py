"""Integrity: checks of a journal, and salvage of a damaged one."""
