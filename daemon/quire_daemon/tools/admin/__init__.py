"""Admin: the tools that describe the daemon: describe, manual, status, who."""
