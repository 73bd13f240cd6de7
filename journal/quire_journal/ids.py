"""Names for the numbers: where a record stands, which bytes, who.

Every id has one canonical form; what people see is cut from it.
"""

from __future__ import annotations

import hashlib
from typing import NewType
from urllib.parse import quote, unquote_to_bytes

Seq = NewType("Seq", int)
"""A record's place in the log: from 1, dense. 0 stands before everything."""

BatchId = NewType("BatchId", int)
"""The seq of the first record of a batch (the records of one request, the unit of undo)."""

WriterId = NewType("WriterId", int)
"""A writer as the journal numbers them, from 1. 0 is `OUTSIDE`."""

PathId = NewType("PathId", int)
"""A path as the journal numbers them, from 1; no path is ever a key (LMDB keys end at 511 bytes)."""

BlobId = NewType("BlobId", bytes)
"""The sha256 of the bytes, 32 bytes."""

OUTSIDE = WriterId(0)
"""Whoever wrote when no tool call did: seen by the watcher or a scan, author unknown."""


def blob_id(data: bytes) -> BlobId:
    """The content address of `data`."""
    return BlobId(hashlib.sha256(data).digest())


def version_token(seq: int) -> str:
    """The version that record `seq` made, as callers see it: `v812`."""
    return f"v{seq}"


def parse_version_token(token: str) -> Seq | None:
    """The seq in a version token; None when `token` is not one."""
    digits = token[1:]
    if token[:1] == "v" and digits.isascii() and digits.isdigit() and len(digits) <= 19:
        return Seq(int(digits))
    return None


def writer_name(writer: int) -> str:
    """A writer's id as callers see it: `w3`, or `outside`."""
    return f"w{writer}" if writer else "outside"


_ESCAPED = "%/"
"""How a path begins in the journal that is not UTF-8 on disk. A path that really begins so is escaped, too."""


def journal_path(disk: str) -> str:
    """A workspace path as the journal and callers know it; `disk` holds bytes that are not UTF-8 as surrogates.

    Nearly every path is itself. One that is not UTF-8 becomes `%/` and its bytes, percent-escaped, so that it can
    be stored, shown and sent back.
    """
    if disk.isascii() and not disk.startswith(_ESCAPED):
        return disk
    try:
        disk.encode()
    except UnicodeEncodeError:
        return _ESCAPED + quote(disk.encode("utf-8", "surrogateescape"))
    return _ESCAPED + quote(disk) if disk.startswith(_ESCAPED) else disk


def disk_path(journal: str) -> str:
    """The path on disk that `journal_path` made `journal` of."""
    if not journal.startswith(_ESCAPED):
        return journal
    return unquote_to_bytes(journal[len(_ESCAPED) :]).decode("utf-8", "surrogateescape")
