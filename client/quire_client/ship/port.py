"""The interfaces of a remote store for segments (signed groups of records) and blobs of a journal.

The store neither overwrites nor removes. After a `put` that returned, the object is durable; after one that raised, it
may exist or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol


class FarSideUnreachable(Exception):
    """The remote store did not answer, or refused. The message says why."""


class SegmentStore(Protocol):
    """Segments by journal name and number. Failures raise FarSideUnreachable."""

    def put(self, journal: str, number: int, data: bytes) -> bool:
        """Store a segment. Returns False, and changes nothing, if its number exists."""

    def get(self, journal: str, number: int) -> bytes | None:
        """Return the bytes of a segment, or None if it does not exist."""

    def numbers(self, journal: str, after: int = 0) -> Iterator[int]:
        """Return the existing numbers above `after` of a journal's segments, ascending."""

    def journals(self) -> list[str]:
        """Return the names of journals with a segment, sorted."""


class BlobStore(Protocol):
    """Encrypted blobs by the sha256 of their encrypted bytes. Failures raise FarSideUnreachable."""

    def put_all(self, contents: Mapping[str, bytes]) -> Mapping[str, bytes | None]:
        """Store the bytes of each name that does not exist; return the bytes that each name then has in the store."""

    def get(self, name: str) -> bytes | None:
        """Return the bytes, or None if `name` does not exist."""
