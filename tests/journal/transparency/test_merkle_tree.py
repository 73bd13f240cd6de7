"""The Merkle tree against the vectors of RFC 6962's reference implementation and the examples of c2sp.org."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, strategies as st

from quire_journal.transparency.merkle import (
    EMPTY,
    Subtree,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    proves_consistency,
    proves_inclusion,
    root,
    root_of,
)

ENTRIES = [
    bytes.fromhex(entry)
    for entry in (
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
]
"""The leaves of the reference implementation."""

ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
"""The roots of its trees of one to eight leaves."""


def of(leaves: list[bytes]) -> Subtree:
    return lambda level, index: root_of(leaves[index << level : (index + 1) << level])


VECTORS = of([leaf_hash(entry) for entry in ENTRIES])


def test_the_empty_tree_has_the_hash_of_nothing() -> None:
    assert root(0, VECTORS) == EMPTY == hashlib.sha256().digest()


@pytest.mark.parametrize("size", range(1, 9))
def test_a_tree_has_the_root_of_the_reference_implementation(size: int) -> None:
    assert root(size, VECTORS).hex() == ROOTS[size - 1]


D = [leaf_hash(f"d{n}".encode()) for n in range(7)]
A, B, C, D_, E, F, G = D
H, I, J = node_hash(A, B), node_hash(C, D_), node_hash(E, F)  # noqa: E741  as the specification calls them
K, L = node_hash(H, I), node_hash(J, G)


@pytest.mark.parametrize(("index", "proof"), [(0, [B, I, L]), (3, [C, H, L]), (4, [F, G, K]), (6, [J, K])])
def test_a_proof_of_inclusion_is_that_of_the_specification(index: int, proof: list[bytes]) -> None:
    assert inclusion_proof(index, 7, of(D)) == proof
    assert proves_inclusion(D[index], index, 7, proof, node_hash(K, L))


@pytest.mark.parametrize(("before", "proof"), [(3, [C, D_, H, L]), (4, [L]), (6, [J, G, K])])
def test_a_proof_of_consistency_is_that_of_the_specification(before: int, proof: list[bytes]) -> None:
    assert consistency_proof(before, 7, of(D)) == proof
    assert proves_consistency(before, 7, proof, root(before, of(D)), node_hash(K, L))


sizes = st.integers(1, 200)


def leaves_of(size: int, salt: str = "") -> list[bytes]:
    return [leaf_hash(f"{salt}{n}".encode()) for n in range(size)]


@given(st.data(), sizes)
def test_a_leaf_is_proved_at_its_place_and_nowhere_else(data: st.DataObject, size: int) -> None:
    tree, index = of(leaves_of(size)), data.draw(st.integers(0, size - 1))
    proof, head = inclusion_proof(index, size, tree), root(size, tree)
    assert proves_inclusion(tree(0, index), index, size, proof, head)
    other = data.draw(st.integers(0, size - 1).filter(lambda n: n != index or size == 1))
    assert size == 1 or not proves_inclusion(tree(0, index), other, size, proof, head)
    assert size == 1 or not proves_inclusion(tree(0, other), index, size, proof, head)
    assert not proves_inclusion(tree(0, index), index, size, [*proof, head], head)
    assert size == 1 or not proves_inclusion(tree(0, index), index, size, proof[:-1], head)
    assert not proves_inclusion(tree(0, index), size, size, proof, head)


@given(st.data(), sizes)
def test_a_tree_is_proved_to_go_on_from_an_earlier_one_and_from_no_other(data: st.DataObject, size: int) -> None:
    tree, before = of(leaves_of(size)), data.draw(st.integers(0, size))
    proof, head = consistency_proof(before, size, tree), root(size, tree)
    assert proves_consistency(before, size, proof, root(before, tree), head)
    changed = leaves_of(size)
    changed[data.draw(st.integers(0, size - 1))] = leaf_hash(b"changed")
    rewritten = root(before, of(changed))
    if rewritten != root(before, tree):
        assert not proves_consistency(before, size, proof, rewritten, head)
        of_another = consistency_proof(before, size, of(changed))
        assert not proves_consistency(before, size, of_another, root(before, tree), root(size, of(changed)))
    assert not proves_consistency(before, size, [*proof, head], root(before, tree), head)
    assert not proves_consistency(size + 1, size, proof, head, head)


def test_what_is_not_in_a_tree_has_no_proof() -> None:
    with pytest.raises(ValueError, match="leaf 8"):
        inclusion_proof(8, 8, VECTORS)
    with pytest.raises(ValueError, match="9 leaves"):
        consistency_proof(9, 8, VECTORS)
