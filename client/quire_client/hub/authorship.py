"""Finds the writers, on other hosts, of lines that a commit brought to this checkout. Pure.

A file of the commit is searched by sha256 among its versions on each host. Whoever wrote a version there between the
commit's parent and the commit may have written the commit's lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from quire_client.hub.history import HostHistory
from quire_journal.history import is_by_git
from quire_journal.model import CAPTURED, Record
from quire_journal.shipment import shipped_blob


class CommitContents(NamedTuple):
    """A file's sha256 before a commit (b"" if the commit created the file) and after it."""

    before: bytes
    after: bytes


class HostVersion(NamedTuple):
    """A version of a file on another host."""

    seq: int
    writer: int
    sha256: bytes
    brought: bool  # by git, or older than the journal: its bytes have another author


def version_of(record: Record, writer: int) -> HostVersion:
    event = record.event()
    brought = getattr(event, "evidence", "") == CAPTURED or is_by_git(str(getattr(event, "hint", "")))
    return HostVersion(record.seq, writer, shipped_blob(event), brought)


def versions_of(commit: CommitContents, versions: Iterable[HostVersion]) -> list[HostVersion]:
    """Return those of a host's `versions` (newest first) that lead from the file's bytes before a commit to its bytes
    after. Returns [] if the host has no version with the bytes after, or got that version by git.
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
    """Return commit → writers on other hosts, each with checkout and newest version, for commits with such writers.

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
