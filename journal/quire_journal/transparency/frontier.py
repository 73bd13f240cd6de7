"""Frontier of a growing Merkle tree: the roots of its largest full subtrees, which give its root."""

from __future__ import annotations

import msgspec

from quire_journal.transparency.merkle import EMPTY, node_hash


class Frontier(msgspec.Struct, frozen=True, array_like=True):
    """Tree of the first `size` leaves; `peaks` has a hash for each bit of `size`, the largest subtree first. Without
    them, only the size is known.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.peaks) or not self.size

    def append(self, leaf: bytes) -> Frontier:
        """Return the tree with one more leaf hash."""
        if not self.is_known:
            return Frontier(self.size + 1)
        peaks, node, rest = list(self.peaks), leaf, self.size
        while rest & 1:
            node, rest = node_hash(peaks.pop(), node), rest >> 1
        return Frontier(self.size + 1, (*peaks, node))

    def root(self) -> bytes:
        if not self.peaks:
            return EMPTY
        *others, made = self.peaks
        for peak in reversed(others):
            made = node_hash(peak, made)
        return made
