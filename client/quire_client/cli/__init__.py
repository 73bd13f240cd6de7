"""CLI: the terminal: streams, pager, progress, times and tables as people read them."""
