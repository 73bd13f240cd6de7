"""Storage: the port that a store implements, the stores behind it, compaction, and bytes made durable on disk."""
