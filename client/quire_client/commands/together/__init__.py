"""Commands about others at work: who is present, and leases."""
