"""Maintenance: which versions are kept, and the removal of secrets from the journal."""
