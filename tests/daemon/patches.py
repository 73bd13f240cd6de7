"""Patches, short to write."""

from __future__ import annotations


def envelope(*lines: str) -> str:
    """These lines between `*** Begin Patch` and `*** End Patch`."""
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def update(*lines: str, path: str = "f.txt") -> str:
    """A patch with these hunks."""
    return envelope(f"*** Update File: {path}", *lines)
