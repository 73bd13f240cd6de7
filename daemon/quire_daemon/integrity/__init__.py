"""Integrity: whether the journal can be trusted, checked in another process."""
