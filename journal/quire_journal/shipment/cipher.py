"""Encryption of shipped bytes: each content has its own random key, so that a purge can destroy it.

A content is compressed, then encrypted by ChaCha20-Poly1305. The nonce, the first 12 bytes, is a hash of what is
encrypted: the same content gives the same bytes again, and one that another version of zstd compresses otherwise gets
another nonce.
"""

from __future__ import annotations

import hashlib
from typing import Final

from quire_journal.model import blob_id
from quire_journal.storage import blobs

_NONCE_BYTES: Final = 12


def encrypt(key: bytes, blob: bytes, data: bytes) -> bytes:
    """Return `data`, whose sha256 is `blob`, compressed and encrypted."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # imported at the first use, as Ed25519

    packed = blobs.packed(data)
    nonce = hashlib.sha256(packed).digest()[:_NONCE_BYTES]
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, packed, blob)


def decrypt(key: bytes, blob: bytes, encrypted: bytes) -> bytes | None:
    """Return the content; None if the bytes are not this content encrypted by this key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce, rest = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
    try:
        data = blobs.unpacked(ChaCha20Poly1305(key).decrypt(nonce, rest, blob))
    except (InvalidTag, ValueError):
        return None
    return data if blob_id(data) == blob else None
