"""Commands: a module for each command of `quire`, their help and their completion."""
