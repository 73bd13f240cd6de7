"""Transparency: a Merkle tree over the records of a journal, whose signed heads expose any change of the past."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_journal.transparency.audit import *
    from quire_journal.transparency.checkpoint import *
    from quire_journal.transparency.ed25519 import *
    from quire_journal.transparency.frontier import *
    from quire_journal.transparency.log_leaves import *
    from quire_journal.transparency.merkle import *
    from quire_journal.transparency.note import *
    from quire_journal.transparency.tiles import *
else:
    __getattr__ = face(
        __name__,
        audit="Claim HeadVerdict acceptance claim_of findings known_keys verdicts",
        checkpoint="DOMAIN TreeHead checkpoints_in keys_of proof_text read_head signed witness_text",
        ed25519="public_of",
        frontier="Frontier",
        log_leaves="leaves",
        merkle="consistency_proof inclusion_proof leaf_hash proves_consistency proves_inclusion",
        note=(
            "BadNote ED25519 MOST_NOTE_BYTES Note NoteSignature SECURITY_KEY VerifierKey read_note read_notes read_vkey"
        ),
        tiles="MissingTile RightEdge StoredTree Tile",
    )
