"""Heads: signatures over the journal's Merkle tree, and proofs that records belong to it."""

from typing import TYPE_CHECKING

from quire_journal.faces import face

if TYPE_CHECKING:
    from quire_daemon.heads.folder import *
    from quire_daemon.heads.proof import *
    from quire_daemon.heads.signer import *
    from quire_daemon.heads.ssh_agent import *
else:
    __getattr__ = face(
        __name__,
        folder="HeadFolder broken_folders head_in private_key",
        proof="NoProof prove_growth prove_head prove_record",
        ssh_agent="AgentFailure TOUCH_S cosign",
        signer="SignedHead difference sign_head",
    )
