"""Authorship: whether a version is the author of the lines that it brings, and what is told of where a line comes from.

Whoever types lines is their author, also of lines that stood there before. Whoever only moves content is not: git, an
undo, a redo, a rollback, a restore, a rename, a copy. A write of another program that nothing proves to be somebody's
is the author of the lines that nobody wrote before, and of no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from quire_journal.model import CAPTURED, ISOLATED, OUTSIDE, SCANNED, TRACED
from quire_journal.views import OUTSIDE_TYPE, Version

UNDOING: Final = "undo"
"""The type of versions that undo, redo, rollback and restore make."""

BY_COMMAND: Final = (ISOLATED, TRACED)
"""Evidence that proves who ran the command that wrote, which may have been a copy."""

BY_GIT: Final = ("git ", "git:")
"""How the hint of a version begins that git brought."""


def is_author(version: Version, hint: str = "") -> bool:
    """Did whoever made the version type the lines that it brings? `hint`: that of its record."""
    if version.type != OUTSIDE_TYPE:
        return version.type != UNDOING
    return not version.unproved and not is_by_git(hint)


def is_met(version: Version, hint: str) -> bool:
    """Was the version only met, so that its lines may be older: first seen, found by a scan, or brought by git?"""
    if version.type != OUTSIDE_TYPE:
        return False
    return is_by_git(hint) or (version.writer == OUTSIDE and version.evidence in (CAPTURED, SCANNED))


def is_by_git(hint: str) -> bool:
    """Was git at work when a version with this hint came?"""
    return hint == "git" or hint.startswith(BY_GIT)


class CommitLine(msgspec.Struct, frozen=True):
    """The commit that a line comes from, as `git blame` tells it."""

    commit: str  # in hex digits
    author: str
    at: str  # RFC 3339, in the author's zone


class CommitFile(msgspec.Struct, frozen=True):
    """A question to git: who wrote the lines of `path`, as HEAD had it when the journal met a version of it.

    `commit` is the HEAD of then. Where it is "", nothing says for sure which that was: `near` is one of about `at_ns`,
    for a repository that does not tell better where HEAD was at that time.
    """

    path: str
    commit: str
    near: str = ""
    at_ns: int = 0


class CommitFileLines(msgspec.Struct, frozen=True):
    """An answer: the lines of the file, and the commit of each."""

    body: bytes = b""
    """The lines, each with LF behind it."""
    commits: tuple[CommitLine, ...] = ()
    numbers: Sequence[int] = ()
    """Of each line, which of `commits` it comes from."""
    why: str = ""
    """Why git has no answer: "no_repository", "no_commit", "no_git", "timed_out"."""


class LineOrigin(msgspec.Struct, frozen=True, gc=False):
    """Where a line comes from: who wrote it, and what brought it here."""

    path: str  # of the file, when it was written
    version: Version  # that wrote it
    brought: Version | None = None  # the one that brought it back, or here from elsewhere, last
    number: int = -1  # of the line in `version`, from 0, where another program made that
    commit: CommitLine | None = None  # that wrote it, where the journal never saw it written
    pending: bool = False  # it may be a commit's: git has not answered yet

    @property
    def told(self) -> tuple[object, ...]:
        """All that is told of the line: equal for lines of one origin."""
        brought = 0 if self.brought is None else self.brought.seq
        return self.path, self.version.seq, brought, self.commit, self.pending
