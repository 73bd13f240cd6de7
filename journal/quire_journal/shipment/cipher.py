"""Encryption of shipped bytes: each content has its own random key, so that a purge can destroy it. As a key encrypts
one content only, the nonce is constant, and the same content gives the same bytes again.
"""

from __future__ import annotations

from typing import Final

_NONCE: Final = bytes(12)


def encrypt(key: bytes, blob: bytes, data: bytes) -> bytes:
    """Return `data`, whose sha256 is `blob`, encrypted by ChaCha20-Poly1305."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # imported at the first use, as Ed25519

    return ChaCha20Poly1305(key).encrypt(_NONCE, data, blob)


def decrypt(key: bytes, blob: bytes, encrypted: bytes) -> bytes | None:
    """Return the content; None if the bytes are not this content encrypted by this key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, encrypted, blob)
    except InvalidTag:
        return None
