"""Transport: the connection to a daemon by socket or by files, and its start."""
