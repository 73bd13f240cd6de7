"""Setup: an agent's configuration files with Quire's entries in them, and without."""
