"""Together: who is present, and leases."""
