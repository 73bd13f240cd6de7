"""Origins of lines for replies: their writer, and the undo or git command that restored them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from quire_daemon.core import NeedsCommits, World
from quire_daemon.tools.history.writers import Whose, is_unclaimed
from quire_journal.history import Blame, CommitLine, History, LineOrigin, blame, is_by_git, rfc3339, short_command
from quire_journal.history.stories import stash_restored
from quire_journal.model import OUTSIDE, version_token
from quire_journal.views import Version

ANOTHER: Final = "another program"

SHORT: Final = 7


def blamed(path: str, version: Version, world: World, start: int = 0, stop: int | None = None) -> Blame:
    """Return the blame of a version, of which lines [start, stop), from 0, are needed. Raises `NeedsCommits` if git may
    know their commits and has not been asked.
    """
    found = blame(world.history, path, version, answers=world.commits)
    if found.unanswered and not world.commits_awaited and any(o.pending for o in found.origins[start:stop]):
        raise NeedsCommits(found.unanswered)
    return found


def origin_json(origin: LineOrigin, history: History) -> dict[str, Any]:
    """Return the origin of a line for a reply; `how` is the kind of undo that wrote it."""
    version = origin.version
    writer = history.writer_json(version.writer, version.type)
    told: dict[str, Any] = {
        "seq": version.seq,
        "version": version_token(version.seq),
        "writer": writer,
        "turn": writer["turn"],
        "at": rfc3339(version.at_ns),
    }
    undoing = history.undoing(version.batch) if version.type == "undo" else None
    if undoing is not None:
        told["how"] = undoing.how
    if version.evidence:
        told["evidence"] = version.evidence
    if is_of_nobody(origin, history):
        told["unclaimed"] = True
    if origin.commit is not None:
        told["commit"] = commit_json(origin.commit)
    if origin.pending:
        told["commit_pending"] = True
    if origin.brought is not None:
        told["brought"] = brought_json(origin.brought, history)
    return told


def commit_json(commit: CommitLine) -> dict[str, str]:
    return {"id": commit.commit, "author": commit.author, "at": commit.at}


def is_of_nobody(origin: LineOrigin, history: History) -> bool:
    """True if another program wrote the line, and neither an agent nor git is known to have."""
    if origin.version.writer != OUTSIDE or origin.commit is not None or origin.pending:
        return False
    record = history.record(origin.version.seq)
    return record is not None and is_unclaimed(record, history)


def origin_filter(named: str, history: History) -> Callable[[LineOrigin], bool]:
    """Return a predicate on origins: True if the line is of the writer `named`, at least probably."""
    whose = Whose(history, named)
    return lambda origin: bool(whose.of_line(origin))


def brought_json(version: Version, history: History) -> dict[str, Any]:
    """Return the version that restored lines last, for a reply; `by` names its command or writer."""
    return {
        "version": version_token(version.seq),
        "at": rfc3339(version.at_ns),
        "by": mover(version, history),
        "writer": history.named(version.writer),
    }


def mover(version: Version, history: History) -> str:
    """Return the name of the command or writer that restored a version's bytes: `git checkout`, `undo`, `ada/s1` or
    `another program`.
    """
    if version.type == "undo":
        undoing = history.undoing(version.batch)
        return "undo" if undoing is None else undoing.how
    hint = getattr(history.event(version.seq), "hint", "")
    if is_by_git(hint):
        return short_command(hint)
    if version.writer == OUTSIDE:
        return stash_restored(version, history) or ANOTHER
    return history.named(version.writer)


def commit_told(origin: LineOrigin) -> str:
    """Return `commit 1a2b3c4 Max 2025-03-01`; "" if no commit is known."""
    commit = origin.commit
    return "" if commit is None else f"commit {commit.commit[:SHORT]} {commit.author} {commit.at[:10]}".rstrip()


def pending(origins: Sequence[LineOrigin]) -> int:
    """Return the number of lines whose commit is not known yet."""
    return sum(origin.pending for origin in origins)
