"""Blobs: the bytes of every version, found by hash, compressed, and kept as differences from older ones."""
