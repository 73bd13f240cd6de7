"""Who wrote on another host what a commit brought here: pure.

The bytes of a commit's file are found among the versions of that file there, by their sha256. Whoever wrote a version
since the one that the commit's parent has may have written the commit's lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from quire_client.hub.history import HostHistory
from quire_journal.history import is_by_git
from quire_journal.model import CAPTURED, Record
from quire_journal.shipment import shipped_blob


class CommitContents(NamedTuple):
    """A file in a commit, by sha256: before it, b"" if the commit made the file, and after it."""

    before: bytes
    after: bytes


class HostVersion(NamedTuple):
    """A version of a file on another host, newest first in lists."""

    seq: int
    writer: int
    sha256: bytes
    brought: bool  # by git, or it was there before the journal: its bytes are of somebody else


def version_of(record: Record, writer: int) -> HostVersion:
    event = record.event()
    brought = getattr(event, "evidence", "") == CAPTURED or is_by_git(str(getattr(event, "hint", "")))
    return HostVersion(record.seq, writer, shipped_blob(event), brought)


def versions_of(commit: CommitContents, versions: Iterable[HostVersion]) -> list[HostVersion]:
    """Return a host's versions of a file (newest first) that led to its bytes in a commit, back to the bytes before the
    commit. Empty if the host did not write these bytes itself.
    """
    found: list[HostVersion] = []
    for version in versions:
        if not found and version.sha256 != commit.after:
            continue
        if found and version.sha256 == commit.before:
            break
        found.append(version)
    return [] if not found or found[0].brought else [version for version in found if not version.brought]


def writers_elsewhere(
    commits: Mapping[str, CommitContents], histories: Iterable[HostHistory], path: str
) -> dict[str, list[dict[str, Any]]]:
    """For each commit whose lines were written on another host: checkout, writer and newest version of each writer.

    Raises `FarSideUnreachable`, `BadSegment` and `JournalDamaged`.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for history in histories:
        versions = [version_of(record, writer) for record, writer, _ in history.versions(path)]
        for commit, contents in commits.items():
            newest: dict[int, int] = {}
            for version in versions_of(contents, versions):
                newest.setdefault(version.writer, version.seq)
            found.setdefault(commit, []).extend(
                {"checkout": history.checkout, "version": f"v{seq}", "writer": history.named(writer)}
                for writer, seq in newest.items()
            )
    return {commit: writers for commit, writers in found.items() if writers}
