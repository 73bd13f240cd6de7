"""Setup: an agent's configuration files with Quire's entries in them, and without.

What is to stand where is a table (`agents`); how a file is changed without touching anything else in it is pure
(`jsonc`, `block`); the disk is `writing`'s. A new agent is a function in `agents` and a line in its table.
"""


class MalformedConfig(ValueError):
    """A file cannot be read, or holds something in our place; a sentence without the file's name."""
