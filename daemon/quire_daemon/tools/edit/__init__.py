"""Edit: the tools that write files: which base a caller saw, the rebase, the checks, the result."""
