"""Proofs for outsiders: a record is in the Merkle tree of the signed head, or the tree extends an earlier one. Each
proof is verified before it is returned; if that fails, the stored tree is rebuilt once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from quire_daemon.heads.folder import HeadFolder, head_in
from quire_daemon.heads.signer import BrokenTree, rebuild
from quire_journal.model import record_hash
from quire_journal.storage import Store, u64
from quire_journal.transparency import (
    MissingTile,
    StoredTree,
    TreeHead,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    leaves,
    proof_text,
    proves_consistency,
    proves_inclusion,
    witness_text,
)


class NoProof(Exception):
    """Raised if the proof cannot be made. The message is a sentence."""


class HeadProof(NamedTuple):
    """The newest signed head and a proof based on it."""

    head: TreeHead
    checkpoint: str
    text: str = ""  # the proof
    masked: bool = False  # the record itself is not in the proof, only its hash


def prove_head(folder: HeadFolder) -> HeadProof:
    """Return the newest signed head. Raises `NoProof` if there is none, `OSError` or `BadNote`."""
    checkpoint = folder.checkpoint()
    if not checkpoint:
        raise NoProof("No head has been signed.")
    return HeadProof(head_in(checkpoint), checkpoint)


def prove_record(
    store: Store, folder: HeadFolder, seq: int, shows: Callable[[bytes], bool] = lambda stored: True
) -> HeadProof:
    """Prove that record `seq` is in the tree of the signed head. The proof contains the record itself, unless it was
    replaced (purged) or `shows` returns False for it. Raises `NoProof`, `OSError` or `BadNote`.
    """
    head, checkpoint, *_ = prove_head(folder)
    with store.reading() as r:
        stored = r.get("records", u64(seq)) or b""
        leaf, known = next(((leaf, known) for _, leaf, known in leaves(r, seq, 1)), (b"", False))
    if not stored or not known:
        raise NoProof(f"Record {seq} was lost to damage: what it said is not known.")
    if not 0 < seq <= head.size:
        raise NoProof(f"Record {seq} is not in the tree of {head.size} records.")
    proof = _proved(
        store,
        folder,
        head,
        lambda tree: inclusion_proof(seq - 1, head.size, tree.subtree),
        lambda proof: proves_inclusion(leaf, seq - 1, head.size, proof, head.root),
    )
    masked = leaf_hash(record_hash(stored)) != leaf or not shows(stored)
    text = proof_text(seq - 1, proof, checkpoint, b"" if masked else stored)
    return HeadProof(head, checkpoint, text, masked)


def prove_growth(store: Store, folder: HeadFolder, before: TreeHead) -> HeadProof:
    """Prove that the signed head extends the earlier head `before`. Raises `NoProof`, `OSError` or `BadNote`."""
    head, checkpoint, *_ = prove_head(folder)
    if before.size > head.size:
        raise NoProof(f"The head that was given has {before.size} records, and the newest one {head.size}.")
    proof = _proved(
        store,
        folder,
        head,
        lambda tree: consistency_proof(before.size, head.size, tree.subtree),
        lambda proof: proves_consistency(before.size, head.size, proof, before.root, head.root),
    )
    return HeadProof(head, checkpoint, witness_text(before.size, proof, checkpoint))


def _proved(
    store: Store,
    folder: HeadFolder,
    head: TreeHead,
    make: Callable[[StoredTree], Sequence[bytes]],
    proves: Callable[[Sequence[bytes]], bool],
) -> Sequence[bytes]:
    for attempt in (1, 2):
        try:
            if proves(proof := make(StoredTree(head.size, folder.read))):
                return proof
        except MissingTile:
            pass
        if attempt == 1:
            try:
                rebuild(store, folder)
            except BrokenTree as error:
                raise NoProof(f"{error} `quire verify` tells more.") from error
    raise NoProof("The journal does not go on from that head, or the record is another; `quire verify` tells more.")
