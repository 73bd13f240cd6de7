"""Config: settings, the files they come from, globs, and errors in them."""
