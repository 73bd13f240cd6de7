"""Proofs for strangers: a record is in the tree of the signed head, and the tree goes on from an earlier head.

Each proof is verified before it is handed out; failing tiles are made again once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from quire_daemon.heads.folder import HeadFolder
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
    """What was asked for cannot be proved. The message is a sentence."""


class RecordProof(NamedTuple):
    """A proof that a record is in the tree."""

    text: str
    head: TreeHead
    masked: bool  # the record itself is not in the proof, only its hash


def prove_record(
    store: Store, folder: HeadFolder, seq: int, shows: Callable[[bytes], bool] = lambda stored: True
) -> RecordProof:
    """The proof, with the record as stored unless it was replaced, or `shows` says no.

    Raises `NoProof`, and as `sign_head`.
    """
    head, checkpoint = _head(folder)
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
    return RecordProof(proof_text(seq - 1, proof, checkpoint, b"" if masked else stored), head, masked)


def prove_growth(store: Store, folder: HeadFolder, before: TreeHead) -> tuple[str, TreeHead]:
    """A proof that the signed head goes on from `before`. Raises as `prove_record`."""
    head, checkpoint = _head(folder)
    if before.size > head.size:
        raise NoProof(f"The head that was given has {before.size} records, and the newest one {head.size}.")
    proof = _proved(
        store,
        folder,
        head,
        lambda tree: consistency_proof(before.size, head.size, tree.subtree),
        lambda proof: proves_consistency(before.size, head.size, proof, before.root, head.root),
    )
    return witness_text(before.size, proof, checkpoint), head


def _head(folder: HeadFolder) -> tuple[TreeHead, str]:
    head = folder.head()
    if head is None:
        raise NoProof("No head has been signed.")
    return head, folder.checkpoint()


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
