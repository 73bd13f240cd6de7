"""Together: present callers, and leases."""
