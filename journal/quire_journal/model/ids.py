"""Ids of records, bytes, paths and writers. Every id has one canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NewType
from urllib.parse import quote, unquote_to_bytes

Seq = NewType("Seq", int)
"""Number of a record in the log: from 1, dense; 0 is before the first record."""

BatchId = NewType("BatchId", int)
"""Seq of the first record of a batch: the records of one request, the unit of undo."""

WriterId = NewType("WriterId", int)
"""Number of a writer, from 1. 0 is `OUTSIDE`."""

PathId = NewType("PathId", int)
"""Number of a path, from 1. Paths are never keys, because LMDB limits keys to 511 bytes."""

BlobId = NewType("BlobId", bytes)
"""sha256 of the bytes, 32 bytes."""

OUTSIDE = WriterId(0)
"""Writer of changes that no tool call made."""


SETUP = "quire"
"""Agent name under which `quire setup` reports its writes to the agents' settings files."""


def is_agent(name: str) -> bool:
    """True if `name` names an agent: not empty, and not that of `quire setup`."""
    return name not in ("", SETUP)


def blob_id(data: bytes) -> BlobId:
    import hashlib  # imported late: it loads OpenSSL, and of these ids a command needs only the others

    return BlobId(hashlib.sha256(data).digest())


def version_token(seq: int) -> str:
    """Return `v812` for the version that record 812 made."""
    return f"v{seq}"


def parse_version_token(token: str) -> Seq | None:
    """Return the seq in a version token; None for any other text."""
    digits = token[1:]
    if token[:1] == "v" and digits.isascii() and digits.isdigit() and len(digits) <= 19:
        return Seq(int(digits))
    return None


def writer_name(writer: int) -> str:
    """Return the shown form of a writer's id: `w3`, or `outside`."""
    return f"w{writer}" if writer else "outside"


def caller_name(agent: str, agent_session: str) -> str:
    """Return the shown name of a caller: `ada/s1`, `ada`; without an agent `user/max`, `the user`."""
    if agent_session:
        return f"{agent or 'user'}/{agent_session}"
    return agent or "the user"


_NOT_UTF8 = re.compile("[\udc80-\udcff]")

_ESCAPED = "%/"
"""Prefix of a path that is not UTF-8 on disk; a path that has it on disk is escaped, too."""


def journal_path(disk: str) -> str:
    """Return the journal form of a workspace path; `disk` has bytes that are not UTF-8 as surrogates. A path that is
    not UTF-8 becomes `%/` and its percent-escaped bytes, so that it can be stored, shown and sent back.
    """
    if disk.startswith(_ESCAPED) or not (disk.isascii() or is_utf8(disk)):
        return _ESCAPED + quote(disk.encode("utf-8", "surrogateescape"))
    return disk


def disk_path(journal: str) -> str:
    if not journal.startswith(_ESCAPED):
        return journal
    return unquote_to_bytes(journal[len(_ESCAPED) :]).decode("utf-8", "surrogateescape")


def leads_inside(journal: str) -> bool:
    """True if the journal path is relative, without NUL and without an empty, `.` or `..` component. Does not check
    links.
    """
    names = disk_path(journal).split("/")
    return not any(name in ("", ".", "..") or "\0" in name for name in names)


def is_escaped(journal: str) -> bool:
    return journal.startswith(_ESCAPED)


def inside_escaped(journal: str) -> str:
    """Return the beginning of every escaped path below the folder `journal`, without the `/` after it."""
    return journal if is_escaped(journal) else _ESCAPED + quote(journal.encode("utf-8", "surrogateescape"))


def percent_escaped(journal: str) -> str:
    """Return an escaped path without its prefix `%/`, as in replies with `path_encoding: percent`."""
    return journal[len(_ESCAPED) :]


def with_bytes_escaped(said: str) -> str:
    """Return a sentence in UTF-8, with bytes of paths that are not UTF-8 percent-escaped."""
    return said if said.isascii() else _NOT_UTF8.sub(lambda byte: f"%{ord(byte[0]) & 0xFF:02X}", said)


def shown_path(entry: Mapping[str, Any]) -> str:
    """Return `path` of a reply's entry, with the prefix `%/` if it is percent-escaped."""
    path = str(entry["path"])
    return _ESCAPED + path if entry.get("path_encoding") else path


def unescaped(given: str) -> str | None:
    """Return the disk path of a percent-escaped path from a reply. None for a path that replies never escape: in UTF-8,
    and not in a folder called `%`.
    """
    if "%" not in given:
        return None
    disk = unquote_to_bytes(given).decode("utf-8", "surrogateescape")
    return disk if disk.startswith(_ESCAPED) or not is_utf8(disk) else None


def is_utf8(disk: str) -> bool:
    try:
        disk.encode()
    except UnicodeEncodeError:
        return False
    return True


def above(path: str) -> Iterator[str]:
    """Yield the folders that contain `path`, the outermost first, without the workspace root."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)
