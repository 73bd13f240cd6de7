"""Export: the history in the formats of other tools, and its import."""
