"""Authorship: whether a version is the author of the lines that it adds, and the origin of a line.

Whoever types lines is their author. Moving content makes no author: git, undo, redo, rollback, restore, rename, copy.
An outside write without proof of its writer is the author of new lines only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from quire_journal.model import CAPTURED, ISOLATED, OUTSIDE, SCANNED, TRACED
from quire_journal.views import OUTSIDE_TYPE, Version

UNDOING: Final = "undo"
"""Type of versions made by undo, redo, rollback and restore."""

BY_COMMAND: Final = (ISOLATED, TRACED)
"""Evidence that proves who ran the command that wrote; the command may have copied the bytes."""

BY_GIT: Final = ("git ", "git:")

LOCK_HELD: Final = "git: index.lock was held"
LOCK_TAKEN: Final = "git: index.lock was taken at that moment"
"""Hints of writes for which only the lock of git's index shows that git was running."""


def is_author(version: Version, hint: str = "") -> bool:
    """True if the maker of the version typed its lines. `hint` is the hint in the version's record."""
    if version.type != OUTSIDE_TYPE:
        return version.type != UNDOING
    return not version.unproved and not is_by_git(hint)


def is_met(version: Version, hint: str) -> bool:
    """True if the version was only found (first capture, scan, git), so that its lines may be older."""
    if version.type != OUTSIDE_TYPE:
        return False
    return is_by_git(hint) or (version.writer == OUTSIDE and version.evidence in (CAPTURED, SCANNED))


def is_by_git(hint: str) -> bool:
    return hint == "git" or hint.startswith(BY_GIT)


class CommitLine(msgspec.Struct, frozen=True):
    commit: str  # hash in hex
    author: str
    at: str  # RFC 3339, in the author's zone


class CommitFile(msgspec.Struct, frozen=True):
    """Query to git for the commit that brought each line of `path`, as the file is in `commit`: HEAD when the journal
    found a version. If that HEAD is unknown, `commit` is "", and `near` is the last known HEAD before `at_ns`.
    """

    path: str
    commit: str
    near: str = ""
    at_ns: int = 0


class CommitFileLines(msgspec.Struct, frozen=True):
    """Git's answer to a `CommitFile`: the file's lines, each with its commit."""

    body: bytes = b""
    """Lines of the file, each ending in LF."""
    commits: tuple[CommitLine, ...] = ()
    numbers: Sequence[int] = ()
    """Index in `commits` of each line."""
    why: str = ""
    """Why git has no answer: "no_repository", "no_commit", "no_git", "timed_out"; else ""."""


class LineOrigin(msgspec.Struct, frozen=True, gc=False):
    path: str  # path of the file when the line was written
    version: Version  # the version that wrote it
    brought: Version | None = None  # the version that last restored or moved the line
    number: int = -1  # 0-based line number in `version`, if another program made `version`; else -1
    commit: CommitLine | None = None  # the commit that wrote the line, if the journal did not see it written
    pending: bool = False  # git has not yet said whether a commit wrote the line

    @property
    def told(self) -> tuple[object, ...]:
        """The values that a caller is shown; origins with equal values look alike."""
        brought = 0 if self.brought is None else self.brought.seq
        return self.path, self.version.seq, brought, self.commit, self.pending
