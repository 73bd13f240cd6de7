"""Files of an LMDB database, before LMDB opens them; never afterwards, as closing a descriptor of a file whose
environment is open in this process drops LMDB's locks.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

from quire_journal.model import JournalDamaged

ADVICE: Final = "stop the daemon and keep a copy of the folder before anything else"

_LOCK_BYTES: Final = 16 * 1024
"""Size of the lock file: more than the slots of all readers take."""


def reserve_lock_file(lock: Path) -> None:
    """Allocate the blocks of the lock file: on a full disk LMDB's first write to a sparse file kills the process
    (SIGBUS).

    A file that has its blocks is not opened, as closing it drops the locks of an open environment.
    """
    try:
        found = lock.stat()
        if found.st_size >= _LOCK_BYTES and found.st_blocks * 512 >= _LOCK_BYTES:
            return
    except FileNotFoundError:
        pass
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(descriptor, 0, _LOCK_BYTES)
    finally:
        os.close(descriptor)


_META: Final = struct.Struct("=16x II 16x I 44x 48x Q Q")
"""Meta page of engine 0.9 on a 64-bit machine: magic, version, page size, last page, transaction."""


def require_whole(data: Path, walk: Callable[[Path], list[str]]) -> None:
    """Raise `JournalDamaged` if the file is shorter than its newest meta page says, as LMDB would die with SIGBUS.
    `walk` lists problems of the file's structure. Must run before the environment is opened.
    """
    size = data.stat().st_size
    with data.open("rb") as file:
        heads = [file.read(_META.size)]
        page = _META.unpack(heads[0])[2] if len(heads[0]) == _META.size else 0
        if page:
            file.seek(page)
            heads.append(file.read(_META.size))
    metas = [_META.unpack(head) for head in heads if len(head) == _META.size]
    if len(metas) != 2 or any(magic != 0xBEEFC0DE for magic, *_ in metas):
        raise JournalDamaged(f"{data} is not a database, or its beginning is lost; {ADVICE}")
    newest = max(metas, key=lambda meta: meta[4])
    if size >= (newest[3] + 1) * page:
        return
    # The last pages may have been freed before they were written: only a full walk shows it.
    problems = walk(data)
    if problems:
        raise JournalDamaged(f"{data} is cut off at {size} bytes ({problems[0]}); {ADVICE}")
