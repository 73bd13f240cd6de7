"""Authorship: whether a version is the author of the lines it adds, and the origin of a line.

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
"""Evidence that proves who ran the command that wrote, perhaps a copy."""

BY_GIT: Final = ("git ", "git:")

LOCK_HELD: Final = "git: index.lock was held"
LOCK_TAKEN: Final = "git: index.lock was taken at that moment"
"""Hints of a write at a time when nothing but the lock of the index tells of git."""


def is_author(version: Version, hint: str = "") -> bool:
    """True if the maker of the version typed its lines. `hint`: that of its record."""
    if version.type != OUTSIDE_TYPE:
        return version.type != UNDOING
    return not version.unproved and not is_by_git(hint)


def is_met(version: Version, hint: str) -> bool:
    """True if the version was only found (first capture, scan, or git), so its lines may be older."""
    if version.type != OUTSIDE_TYPE:
        return False
    return is_by_git(hint) or (version.writer == OUTSIDE and version.evidence in (CAPTURED, SCANNED))


def is_by_git(hint: str) -> bool:
    """True if git was running when a version with this hint came."""
    return hint == "git" or hint.startswith(BY_GIT)


class CommitLine(msgspec.Struct, frozen=True):
    """The commit of a line, as `git blame` gives it."""

    commit: str  # in hex digits
    author: str
    at: str  # RFC 3339, in the author's zone


class CommitFile(msgspec.Struct, frozen=True):
    """A query to git: who wrote the lines of `path` at the HEAD under which the journal found a version.

    `commit` is that HEAD; "" if uncertain: then `near` is a HEAD of about `at_ns`.
    """

    path: str
    commit: str
    near: str = ""
    at_ns: int = 0


class CommitFileLines(msgspec.Struct, frozen=True):
    """The answer: the lines of the file, and the commit of each."""

    body: bytes = b""
    """The lines, each with LF."""
    commits: tuple[CommitLine, ...] = ()
    numbers: Sequence[int] = ()
    """The index in `commits` of each line."""
    why: str = ""
    """Why git has no answer: "no_repository", "no_commit", "no_git", "timed_out"."""


class LineOrigin(msgspec.Struct, frozen=True, gc=False):
    """The origin of a line: who wrote it, and what brought it here."""

    path: str  # path of the file when the line was written
    version: Version  # the version that wrote it
    brought: Version | None = None  # the version that last restored or moved it
    number: int = -1  # its number in `version`, from 0, if another program made that
    commit: CommitLine | None = None  # the commit that wrote it, if the journal never saw it written
    pending: bool = False  # a commit may have written it: git has not answered yet

    @property
    def told(self) -> tuple[object, ...]:
        """All shown fields; equal for lines of one origin."""
        brought = 0 if self.brought is None else self.brought.seq
        return self.path, self.version.seq, brought, self.commit, self.pending
