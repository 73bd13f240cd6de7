"""Commands about other callers: who is present, and leases."""
