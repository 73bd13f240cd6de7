"""The stores that a journal can stand on, and what they have in common.

A new store is one module that offers the calls of `quire_journal.storage.port.Store`, a line in `STORES`, and a line in
the contract suite. An adapter's module is imported when it is first opened, so that readers of a journal in memory do
not load LMDB.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final, Protocol

from quire_journal.storage.port import Store

KEY_BYTES: Final = 511
"""Longest key (LMDB's limit, held by every store so that tests in memory find a key that is too long)."""


class UnfitFolder(Exception):
    """A journal cannot be kept in this folder (network file system, another user). Says why, and what to do."""


def checked_key(key: bytes) -> bytes:
    """`key`, which must have 1 to 511 bytes. Raises `ValueError` otherwise: a caller's mistake, never data."""
    if not 0 < len(key) <= KEY_BYTES:
        raise ValueError(f"a key has 1 to {KEY_BYTES} bytes, not {len(key)}")
    return key


class Opener(Protocol):
    """Opens the store in a state folder, made when there is none. Unless it is `synced`, commits last with `sync`."""

    def __call__(self, folder: Path, synced: bool = True) -> Store: ...


def random_id() -> str:
    """A name for a new journal that no other one has: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def _open_memory(folder: Path, synced: bool = True) -> Store:
    from quire_journal.storage.memory import MemoryStore

    return MemoryStore()


def _open_lmdb(folder: Path, synced: bool = True) -> Store:
    from quire_journal.storage.lmdb import LmdbStore

    return LmdbStore.open(folder, synced)


STORES: Final[dict[str, Opener]] = {
    "lmdb": _open_lmdb,
    "memory": _open_memory,  # forgets everything when it is closed; `folder` stays untouched
}
"""Name → opener. An opener raises `UnfitFolder`, `log.StoreFailure` or `log.JournalDamaged`."""
