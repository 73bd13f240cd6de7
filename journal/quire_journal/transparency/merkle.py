"""Merkle tree of RFC 6962: hashes, and proofs of inclusion and consistency. The caller supplies the hashes of full
subtrees, so that a proof reads few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

EMPTY: Final = hashlib.sha256(b"").digest()

Subtree = Callable[[int, int], bytes]
"""Function (level, index) → hash of the full subtree over the leaves index * 2**level to (index + 1) * 2**level."""


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(hashes: Sequence[bytes]) -> bytes:
    row = list(hashes)
    while len(row) > 1:
        odd = row[len(row) & ~1 :]
        row = [node_hash(left, right) for left, right in zip(row[::2], row[1::2], strict=False)] + odd
    return row[0] if row else EMPTY


def root(size: int, subtree: Subtree) -> bytes:
    return _range_hash(0, size, subtree)


def inclusion_proof(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """Return PATH(index, D[size]) of the RFC. Raises `ValueError` for a leaf outside the tree."""
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    proof: list[bytes] = []
    first, end = 0, size
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            proof.append(_range_hash(middle, end, subtree))
            end = middle
        else:
            proof.append(_range_hash(first, middle, subtree))
            first = middle
    return proof[::-1]


def consistency_proof(before: int, size: int, subtree: Subtree) -> list[bytes]:
    """Return PROOF(before, D[size]) of the RFC. Raises `ValueError` if `before` is larger."""
    if not 0 <= before <= size:
        raise ValueError(f"a tree of {before} leaves does not grow into one of {size}")
    proof: list[bytes] = []
    first, end = 0, size
    whole = True  # the subtree is the whole earlier tree, whose root the reader knows
    while before and before != end:
        middle = first + _split(end - first)
        if before <= middle:
            proof.append(_range_hash(middle, end, subtree))
            end = middle
        else:
            proof.append(_range_hash(first, middle, subtree))
            first, whole = middle, False
    if not whole:
        proof.append(_range_hash(first, end, subtree))
    return proof[::-1]


def proves_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """True if `proof` shows that `leaf` is at `index` of the tree of `size` leaves with this root."""
    if not 0 <= index < size:
        return False
    node, last, made = index, size - 1, leaf
    for sibling in proof:
        if not last:
            return False
        if node & 1 or node == last:
            made = node_hash(sibling, made)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            made = node_hash(made, sibling)
        node, last = node >> 1, last >> 1
    return not last and made == root


def proves_consistency(before: int, size: int, proof: Sequence[bytes], root_before: bytes, root: bytes) -> bool:
    """True if `proof` shows that the tree of `size` leaves begins with that of `before` leaves."""
    if not 0 <= before <= size:
        return False
    if before == size:
        return not proof and root_before == root
    if not before:
        return not proof and root_before == EMPTY
    path = [root_before, *proof] if not before & (before - 1) else [*proof]
    if not path:
        return False
    node, last = before - 1, size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    made_before = made = path[0]
    for hash in path[1:]:
        if not last:
            return False
        if node & 1 or node == last:
            made_before, made = node_hash(hash, made_before), node_hash(hash, made)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            made = node_hash(made, hash)
        node, last = node >> 1, last >> 1
    return not last and made_before == root_before and made == root


def _split(size: int) -> int:
    return 1 << (size - 1).bit_length() - 1


def _range_hash(first: int, end: int, subtree: Subtree) -> bytes:
    size = end - first
    if not size:
        return EMPTY
    if not size & (size - 1):
        level = size.bit_length() - 1
        return subtree(level, first >> level)
    middle = first + _split(size)
    return node_hash(_range_hash(first, middle, subtree), _range_hash(middle, end, subtree))
