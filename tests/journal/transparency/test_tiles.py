"""Tiles as c2sp.org/tlog-tiles has them, and the edge of a tree that grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings, strategies as st

from quire_journal.transparency.merkle import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    proves_consistency,
    proves_inclusion,
    root,
    root_of,
)
from quire_journal.transparency.tiles import MissingTile, ReadTile, RightEdge, StoredTree, Tile, edge_tiles

LEAVES = [leaf_hash(str(n).encode()) for n in range(66_000)]


def reader(tiles: Mapping[str, bytes]) -> ReadTile:
    return lambda tile: tiles.get(tile.path)


def stored(sizes: Sequence[int]) -> dict[str, bytes]:
    """The tiles of a tree that grew by these steps, each begun from what was stored, by their paths."""
    found: dict[str, bytes] = {}
    before = 0
    for size in sizes:
        edge = RightEdge.of(before, reader(found))
        for leaf in LEAVES[before:size]:
            found.update((tile.path, data) for tile, data in edge.append(leaf))
        found.update((tile.path, data) for tile, data in edge.partial())
        assert edge.root() == root_of(LEAVES[:size])
        before = size
    return found


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 1_234_067), "tile/0/x001/x234/067"),
        (Tile(0, 0), "tile/0/000"),
        (Tile(1, 999, 3), "tile/1/999.p/3"),
        (Tile(2, 1000), "tile/2/x001/000"),
    ],
)
def test_a_tile_has_the_path_of_the_specification(tile: Tile, path: str) -> None:
    assert tile.path == path


def test_a_tree_of_70000_leaves_has_the_partial_tiles_of_the_specification() -> None:
    assert edge_tiles(70_000) == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert edge_tiles(256) == [Tile(1, 0, 1)]


def test_a_tree_of_three_levels_of_tiles_proves_its_leaves_and_its_past() -> None:
    tiles = stored([65_999])
    assert len(tiles["tile/1/000"]) == len(tiles["tile/0/255"]) == 8192
    tree = StoredTree(65_999, reader(tiles))
    head = root(65_999, tree.subtree)
    assert head == root_of(LEAVES[:65_999])
    for index in (0, 255, 256, 65_535, 65_536, 65_998):
        proof = inclusion_proof(index, 65_999, tree.subtree)
        assert proves_inclusion(LEAVES[index], index, 65_999, proof, head)
        earlier = root_of(LEAVES[:index])
        assert proves_consistency(index, 65_999, consistency_proof(index, 65_999, tree.subtree), earlier, head)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 1500), min_size=1, max_size=6).map(sorted))
def test_a_tree_is_the_same_however_it_grew(sizes: list[int]) -> None:
    tiles = stored(sizes)
    assert {path: data for path, data in tiles.items() if ".p/" not in path} == {
        path: data for path, data in stored(sizes[-1:]).items() if ".p/" not in path
    }
    tree = StoredTree(sizes[-1], reader(tiles))
    assert root(sizes[-1], tree.subtree) == root_of(LEAVES[: sizes[-1]])


def test_a_full_tile_stands_for_a_partial_one_that_was_removed() -> None:
    tiles = stored([100, 300])
    del tiles["tile/0/000.p/100"]
    tree = StoredTree(100, reader(tiles))
    assert root(100, tree.subtree) == root_of(LEAVES[:100])


def test_a_missing_or_short_tile_is_told() -> None:
    tiles = stored([300])
    tiles["tile/0/000"] = tiles["tile/0/000"][:-1]
    tree = StoredTree(300, reader(tiles))
    with pytest.raises(MissingTile, match="tile/0/000"):
        tree.leaf(0)
    with pytest.raises(MissingTile, match="tile/0/001"):
        RightEdge.of(400, reader(tiles))
