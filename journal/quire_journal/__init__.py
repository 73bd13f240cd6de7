"""The journal: what happened to a workspace, in order, and every view that can be folded from it."""

FORMAT = 7
"""Version of the journal on disk. Any other one is refused, and nothing is changed (`journal.OtherFormat`)."""

WIRE = 1
"""Version of the messages between client and daemon."""

VERSION = "0.1.0"
"""Version of the distribution; must equal the one in pyproject.toml (a test compares them)."""
