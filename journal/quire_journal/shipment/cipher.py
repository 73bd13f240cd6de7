"""Encryption of what is shipped: each content has a random key of its own, so that a purge can destroy it.

A key encrypts one content only, so the nonce is constant, and the same content gives the same bytes again.
"""

from __future__ import annotations

from typing import Final

_NONCE: Final = bytes(12)


def encrypt(key: bytes, blob: bytes, data: bytes) -> bytes:
    """`data`, whose sha256 is `blob`, by ChaCha20-Poly1305."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # imported at the first use, as Ed25519

    return ChaCha20Poly1305(key).encrypt(_NONCE, data, blob)


def decrypt(key: bytes, blob: bytes, encrypted: bytes) -> bytes | None:
    """The content; None if these bytes are not it, or the key is another."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, encrypted, blob)
    except InvalidTag:
        return None
