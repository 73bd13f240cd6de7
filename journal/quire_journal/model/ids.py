"""Names for the numbers: where a record stands, which bytes, who.

Every id has one canonical form; what people see is cut from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NewType
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


SETUP = "quire"
"""The agent as which `quire setup` tells of the agents' settings files that it writes."""


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


def caller_name(agent: str, agent_session: str) -> str:
    """Who calls, as people call them: `ada/s1`, `ada`. A caller without a name is the user, by hand or by a script."""
    return f"{agent}/{agent_session}" if agent and agent_session else agent or "the user"


_NOT_UTF8 = re.compile("[\udc80-\udcff]")

_ESCAPED = "%/"
"""How a path begins in the journal that is not UTF-8 on disk. A path that really begins so is escaped, too."""


def journal_path(disk: str) -> str:
    """A workspace path as the journal and callers know it; `disk` holds bytes that are not UTF-8 as surrogates.

    Nearly every path is itself. One that is not UTF-8 becomes `%/` and its bytes, percent-escaped, so that it can
    be stored, shown and sent back.
    """
    if disk.startswith(_ESCAPED) or not (disk.isascii() or is_utf8(disk)):
        return _ESCAPED + quote(disk.encode("utf-8", "surrogateescape"))
    return disk


def disk_path(journal: str) -> str:
    """The path on disk that `journal_path` made `journal` of."""
    if not journal.startswith(_ESCAPED):
        return journal
    return unquote_to_bytes(journal[len(_ESCAPED) :]).decode("utf-8", "surrogateescape")


def leads_inside(journal: str) -> bool:
    """Can this be the path of something inside a workspace? Not what is absolute, or goes up, or names nothing."""
    names = disk_path(journal).split("/")
    return not any(name in ("", ".", "..") or "\0" in name for name in names)


def is_escaped(journal: str) -> bool:
    """Does this path stand for one that is not UTF-8 on disk?"""
    return journal.startswith(_ESCAPED)


def inside_escaped(journal: str) -> str:
    """How the paths below the folder `journal` begin that are not UTF-8 on disk."""
    return journal if is_escaped(journal) else _ESCAPED + quote(journal.encode("utf-8", "surrogateescape"))


def percent_escaped(journal: str) -> str:
    """An escaped path as replies show it, beside `path_encoding: percent`."""
    return journal[len(_ESCAPED) :]


def with_bytes_escaped(said: str) -> str:
    """A sentence that may name paths of the disk, in UTF-8: each byte that is not is percent-escaped."""
    return said if said.isascii() else _NOT_UTF8.sub(lambda byte: f"%{ord(byte[0]) & 0xFF:02X}", said)


def shown_path(entry: Mapping[str, Any]) -> str:
    """The path of an entry of a reply, as the journal spells it."""
    path = str(entry["path"])
    return _ESCAPED + path if entry.get("path_encoding") else path


def unescaped(given: str) -> str | None:
    """The disk path that a percent-escaped one stands for; None where unescaping gives what is never shown escaped.

    A name that is not UTF-8, or is in a folder called `%`, cannot be written in any other way, so a caller that sends
    back what it was shown can mean nothing else, unless a file is really called so.
    """
    if "%" not in given:
        return None
    disk = unquote_to_bytes(given).decode("utf-8", "surrogateescape")
    return disk if disk.startswith(_ESCAPED) or not is_utf8(disk) else None


def is_utf8(disk: str) -> bool:
    """Are its bytes UTF-8?"""
    try:
        disk.encode()
    except UnicodeEncodeError:
        return False
    return True


def above(path: str) -> Iterator[str]:
    """The folders that `path` is in, the outermost first; without the top."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
