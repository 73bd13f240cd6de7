"""Checkpoints (c2sp.org/tlog-checkpoint): heads of a Merkle tree as signed notes; and texts with proofs, for a reader
without a network (c2sp.org/tlog-proof) or a witness (c2sp.org/tlog-witness).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from typing import Final, NamedTuple

from quire_journal.transparency import ed25519
from quire_journal.transparency.note import ED25519, TIMED, BadNote, Note, NoteSignature, VerifierKey, timed

DOMAIN: Final = "journal.quire.invalid"
"""Domain that nobody can own, for unique names of logs."""

PROOF: Final = "c2sp.org/tlog-proof@v1"

_HASH_BYTES: Final = 32


class TreeHead(NamedTuple):
    origin: str  # the name of the tree
    size: int  # leaves
    root: bytes

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def read_head(text: str) -> TreeHead:
    """Parse the text of a head. Raises `BadNote` if it is malformed."""
    origin, size, root, *_ = [*text.split("\n"), "", "", ""]
    try:
        hash = b64decode(root, validate=True)
    except (NotBase64, ValueError):
        hash = b""
    if not origin or not size.isascii() or not size.isdigit() or str(int(size)) != size or len(hash) != _HASH_BYTES:
        raise BadNote(f"{text[:80]!r} is not the head of a tree: a name, a size, and a hash")
    return TreeHead(origin, int(size), hash)


def keys_of(origin: str, public: bytes) -> tuple[VerifierKey, VerifierKey]:
    """Return two keys of the log: one signs the text, the other the text and a time."""
    return VerifierKey(origin, ED25519, public), VerifierKey(origin, TIMED, public)


def signed(head: TreeHead, private: bytes, at_s: int) -> Note:
    plain, cosigner = keys_of(head.origin, ed25519.public_of(private))
    stamped = at_s.to_bytes(8, "big") + ed25519.sign(private, timed(at_s, head.text))
    return Note(
        head.text,
        (
            NoteSignature(plain.name, plain.id, ed25519.sign(private, head.text.encode())),
            NoteSignature(cosigner.name, cosigner.id, stamped),
        ),
    )


def proof_text(index: int, proof: Sequence[bytes], checkpoint: str, extra: bytes = b"") -> str:
    """Return a proof that the entry at `index` is in the tree of `checkpoint`, with `extra` data for the reader."""
    head = [PROOF, *([f"extra {b64encode(extra).decode()}"] if extra else []), f"index {index}"]
    return "\n".join([*head, *_lines(proof), "", checkpoint])


def witness_text(before: int, proof: Sequence[bytes], checkpoint: str) -> str:
    """Return a proof that the tree of `checkpoint` extends its first `before` leaves."""
    return "\n".join([f"old {before}", *_lines(proof), "", checkpoint])


def checkpoints_in(text: str) -> str:
    """Return the checkpoints in a file: all of it, or the last part of a proof."""
    return text.partition("\n\n")[2] if text.startswith((PROOF, "old ")) else text


def _lines(hashes: Sequence[bytes]) -> list[str]:
    return [b64encode(hash).decode() for hash in hashes]
