"""Stores by name. A new store is a module that implements `quire_journal.storage.port.Store`, a line in `STORES`, and a
line in the contract suite.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final, Protocol

from quire_journal.storage.port import Store

KEY_BYTES: Final = 511
"""Maximum length of a key: LMDB's limit, enforced by every store."""


class UnfitFolder(Exception):
    """A folder is unfit for a journal (network file system, another user). Says why, and what to do."""


def checked_key(key: bytes) -> bytes:
    """Return `key` if it has 1 to 511 bytes, else raise `ValueError`."""
    if not 0 < len(key) <= KEY_BYTES:
        raise ValueError(f"a key has 1 to {KEY_BYTES} bytes, not {len(key)}")
    return key


class Opener(Protocol):
    """Function that opens the store in a state folder, made if missing. Unless `synced`, commits are durable with
    `sync`.
    """

    def __call__(self, folder: Path, synced: bool = True) -> Store: ...


def random_id() -> str:
    """Return 32 random hexadecimal digits."""
    return secrets.token_hex(16)


def _open_memory(folder: Path, synced: bool = True) -> Store:
    from quire_journal.storage.memory import MemoryStore

    return MemoryStore()


def _open_lmdb(folder: Path, synced: bool = True) -> Store:
    from quire_journal.storage.lmdb import LmdbStore

    return LmdbStore.open(folder, synced)


STORES: Final[dict[str, Opener]] = {
    "lmdb": _open_lmdb,
    "memory": _open_memory,  # forgets everything when closed; ignores `folder`
}
"""Name → opener. An opener raises `UnfitFolder`, `StoreFailure` or `JournalDamaged`."""
