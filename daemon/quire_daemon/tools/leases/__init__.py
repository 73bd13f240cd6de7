"""Leases: who works on which lines, and who waits for them."""
