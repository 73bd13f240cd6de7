"""The ports of the far side: what shipping needs of a store. Adapters pass one contract suite.

Nothing is ever overwritten or removed through these ports, so a store may forbid both. A `put` that returned is
durable. After one that raised, the object may be there or not: `put` again, or `get`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol


class FarSideUnreachable(Exception):
    """The store did not answer, or refused. The message says why."""


class SegmentStore(Protocol):
    """Sealed segments, each under its journal and number."""

    def put(self, journal: str, number: int, data: bytes) -> bool:
        """Store a segment; False if there is one of this number, which stays. Raises `FarSideUnreachable`."""

    def get(self, journal: str, number: int) -> bytes | None:
        """The segment; None if there is none. Raises `FarSideUnreachable`."""

    def numbers(self, journal: str, after: int = 0) -> Iterator[int]:
        """The numbers above `after` that are taken, in order. Raises `FarSideUnreachable`."""

    def journals(self) -> list[str]:
        """The journals that have a segment, in order. Raises `FarSideUnreachable`."""


class BlobStore(Protocol):
    """Encrypted bytes, each under its own sha256."""

    def put(self, name: str, data: bytes) -> bool:
        """Store the bytes; False if they are there. Raises `FarSideUnreachable`."""

    def get(self, name: str) -> bytes | None:
        """The bytes; None if there are none. Raises `FarSideUnreachable`."""
