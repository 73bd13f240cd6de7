"""Tiles of a Merkle tree (c2sp.org/tlog-tiles): rows of up to 256 hashes, and the growing right edge of the tree. A
hash of a higher level is the root of a full tile below. Full tiles never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from quire_journal.transparency.merkle import EMPTY, node_hash, root_of

WIDTH: Final = 256

HASH_BYTES: Final = 32

_HEIGHT: Final = 8  # of the subtree below a full tile's root


class Tile(NamedTuple):
    level: int
    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """Path relative to the prefix of the log."""
        digits = f"{self.number:03}"
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
        index = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
        return f"tile/{self.level}/{index}" + (f".p/{self.width}" if self.width < WIDTH else "")


ReadTile = Callable[[Tile], bytes | None]


class MissingTile(Exception):
    """A tile of the tree is missing, or too short."""


def edge_tiles(size: int) -> list[Tile]:
    """Return the partial tiles of a tree of `size` leaves, lowest level first."""
    found = []
    level, count = 0, size
    while count:
        if count % WIDTH:
            found.append(Tile(level, count // WIDTH, count % WIDTH))
        level, count = level + 1, count // WIDTH
    return found


class RightEdge:
    """Incomplete tiles at the end of a growing tree, which give the tree's root."""

    def __init__(self) -> None:
        self.size = 0
        self._rows: list[list[bytes]] = []  # hashes of the incomplete tile of each level

    @classmethod
    def of(cls, size: int, read: ReadTile) -> RightEdge:
        """Read the edge of a stored tree. Raises `MissingTile`."""
        edge = cls()
        edge.size = size
        for tile in edge_tiles(size):
            while len(edge._rows) <= tile.level:
                edge._rows.append([])
            edge._rows[tile.level] = hashes_of(tile, read)
        return edge

    def append(self, leaf: bytes) -> Iterator[tuple[Tile, bytes]]:
        """Add a leaf hash, and yield (tile, bytes) of the tiles that it completes. The iterator must be consumed."""
        level, hash, number = 0, leaf, self.size // WIDTH
        self.size += 1
        while True:
            if len(self._rows) == level:
                self._rows.append([])
            row = self._rows[level]
            row.append(hash)
            if len(row) < WIDTH:
                return
            yield Tile(level, number), b"".join(row)
            hash, number = root_of(row), number // WIDTH
            row.clear()
            level += 1

    def partial(self) -> list[tuple[Tile, bytes]]:
        return [(tile, b"".join(self._rows[tile.level])) for tile in edge_tiles(self.size)]

    def root(self) -> bytes:
        made: bytes | None = None
        for row in self._rows:
            end = len(row)
            while end:
                first = end & (end - 1)  # `end` without its lowest bit: start of the smallest full subtree at the right
                block = root_of(row[first:end])
                made = block if made is None else node_hash(block, made)
                end = first
        return EMPTY if made is None else made


class StoredTree:
    """Hashes of the full subtrees of a stored tree, for roots and proofs."""

    def __init__(self, size: int, read: ReadTile) -> None:
        self.size = size
        self._read = read
        self._rows: dict[tuple[int, int], Sequence[bytes]] = {}

    def subtree(self, level: int, index: int) -> bytes:
        """Return the hash of a full subtree (`merkle.Subtree`). Raises `MissingTile`."""
        tile_level, height = divmod(level, _HEIGHT)
        first = index << height
        number, at = divmod(first, WIDTH)
        return root_of(self._row(tile_level, number)[at : at + (1 << height)])

    def leaf(self, index: int) -> bytes:
        return self.subtree(0, index)

    def _row(self, level: int, number: int) -> Sequence[bytes]:
        row = self._rows.get((level, number))
        if row is None:
            count = (self.size >> _HEIGHT * level) - number * WIDTH
            row = hashes_of(Tile(level, number, min(count, WIDTH)), self._read)
            if len(self._rows) > WIDTH:
                self._rows.clear()
            self._rows[level, number] = row
        return row


def hashes_of(tile: Tile, read: ReadTile) -> list[bytes]:
    """Return the hashes of a stored tile, or from the full tile if the partial tile was removed.
    Raises `MissingTile`.
    """
    data = read(tile)
    if data is None and tile.width < WIDTH:
        data = read(tile._replace(width=WIDTH))
    if data is None or len(data) < tile.width * HASH_BYTES:
        raise MissingTile(f"the tile {tile.path} is missing")
    return [data[at : at + HASH_BYTES] for at in range(0, tile.width * HASH_BYTES, HASH_BYTES)]
