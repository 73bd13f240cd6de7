"""The journal: what happened to a workspace, in order, and every view that can be folded from it."""

FORMAT = 6
"""Version of the journal on disk. A newer one is refused, nothing touched; an older one is migrated (`migrate`)."""

WIRE = 1
"""Version of the messages between client and daemon."""

VERSION = "0.1.0"
"""Version of the distribution; must equal the one in pyproject.toml (a test compares them)."""
