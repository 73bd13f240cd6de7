"""Garbage collection: versions that no rule keeps are marked, and their bytes dropped."""
