"""Trees of git commits, and the versions with the same bytes. A commit's file is shown as the version whose bytes have
its git hash, or, if the journal has none, as a version with seq 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from quire_journal.history.git_moves import GitMoves
from quire_journal.history.history import History
from quire_journal.model import LINK, REGULAR, Refusal, Seq, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.views import OUTSIDE_TYPE, Version, standing

MOST_VERSIONS: Final = 200

_POINT: Final = re.compile(r"commit:([0-9a-f]{7,64})", re.ASCII)
_LINK_MODE: Final = "120000"


class CommitTree(msgspec.Struct, frozen=True):
    """Query to git for the files of a commit."""

    commit: str


class CommitEntry(msgspec.Struct, frozen=True):
    mode: str  # 100644, 100755, 120000
    name: str  # git's hash of the bytes, in hex
    size: int


class CommitEntries(msgspec.Struct, frozen=True):
    """Git's answer to a `CommitTree`: path below the workspace root → file."""

    entries: Mapping[str, CommitEntry] = {}
    why: str = ""
    """Why git has no answer: "no_repository", "no_commit", "no_git", "timed_out"; else ""."""


class CommitBlobs(msgspec.Struct, frozen=True):
    """Query to git for the bytes with these hashes."""

    names: tuple[str, ...]


class CommitBytes(msgspec.Struct, frozen=True):
    """Git's answer to a `CommitBlobs`: hash → bytes; `why` as in `CommitEntries`."""

    held: Mapping[str, bytes] = {}
    why: str = ""


def commit_of(point: str) -> str:
    """Return the commit in a point `commit:1a2b3c4`; "" for other points."""
    found = _POINT.fullmatch(point)
    return found[1] if found else ""


def at_commit(commit: str, history: History) -> Seq | None:
    return GitMoves(history).arrival(commit)


def version_of(path: str, entry: CommitEntry, history: History) -> Version | None:
    """Return the newest version of `path` with the bytes of a commit's file, among the last `MOST_VERSIONS`, or None.
    Raises `JournalDamaged`.
    """
    wanted = LINK if entry.mode == _LINK_MODE else REGULAR
    seen: set[bytes] = set()
    for looked, version in enumerate(history.versions(path, reverse=True)):
        if looked == MOST_VERSIONS:
            break
        if standing(version) is None or (version.entry, version.size) != (wanted, entry.size) or version.blob in seen:
            continue
        pause()
        seen.add(version.blob)
        if is_named(version, entry.name, history):
            return version
    return None


def is_named(version: Version, name: str, history: History) -> bool:
    """True if the version's bytes have git's hash `name` (hex); False if they are not held. Raises `JournalDamaged`."""
    try:
        return history.git_name(version.blob, len(name)) == name
    except NotHeld:
        return False


def in_git(entry: CommitEntry, blob: bytes, uncaptured: str = "") -> Version:
    """Return a version with seq 0 that stands for a commit's file that no version has. `blob` is the address of its
    bytes, or b"" if `uncaptured` says why the journal has none.
    """
    kind, mode = (LINK, 0o777) if entry.mode == _LINK_MODE else (REGULAR, int(entry.mode[3:], 8))
    return Version(0, 0, 0, 0, OUTSIDE_TYPE, blob, entry.size, mode, entry=kind, uncaptured=uncaptured)


def unanswered(why: str, commit: str) -> Refusal:
    if why == "no_commit":
        return Refusal("not_found", f"Git has no commit {commit[:12]} in this repository.", "check_commit", why=why)
    told = {"no_repository": "the workspace is in no repository of git", "no_git": "there is no git on this machine"}
    message = f"Git was asked for commit {commit[:12]} and has no answer: {told.get(why, 'it took too long')}."
    return Refusal("not_found", message, "check_commit", why=why)
