"""Stores by name. A new store is a module that implements `quire_journal.storage.port.Store`, a line in `STORES`, and a
line in the contract suite.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final, Protocol

from quire_journal.storage.port import Store


class UnfitFolder(Exception):
    """A folder is unfit for a journal (network file system, another user). Says why, and what to do."""


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
