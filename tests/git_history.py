"""A git history told to a journal, commit by commit: what the storage benchmark and the tests of exports stand on.

Real git is asked for everything. Histories are taken along first parents, so that each commit has one before it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quire_journal.journal import Journal, NewRecord
from quire_journal.model.events import (
    LINK,
    REGULAR,
    Event,
    FileDeleted,
    FileMoved,
    FileWritten,
    WriterIntroduced,
    WritesSettled,
)
from quire_journal.model.ids import OUTSIDE, BatchId, WriterId, journal_path

_GITLINK = "160000"
_LINK = "120000"
_EXECUTABLE = "100755"

Tree = dict[bytes, tuple[str, bytes]]
"""Path → (mode, content) of everything in a tree; a link's content is its target."""


def git(repo: Path, *words: str, stdin: bytes = b"") -> bytes:
    """What a git command prints. It sees nobody's configuration, and asks for no name."""
    named = {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    ran = subprocess.run(
        ["git", "-C", str(repo), *words], input=stdin, capture_output=True, env={**os.environ, **named, **alone}
    )
    assert ran.returncode == 0, f"git {' '.join(words)}: {ran.stderr.decode(errors='replace')}"
    return ran.stdout


@dataclass
class Change:
    """What a commit did to one path. `mode` is "" where it was removed; `came_from` another name that it had."""

    path: bytes
    mode: str
    content: bytes = b""
    came_from: bytes = b""


@dataclass
class Commit:
    """A commit, and what it changed since the one before."""

    name: str
    tree: str
    author: str
    at_s: int
    changes: list[Change] = field(default_factory=list)


class Blobs:
    """`git cat-file --batch`, kept running."""

    def __init__(self, repo: Path) -> None:
        words = ["git", "-C", str(repo), "cat-file", "--batch"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, name: bytes) -> bytes:
        """The content of an object."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(name + b"\n")
        self._process.stdin.flush()
        size = int(self._process.stdout.readline().split()[2])
        content = self._process.stdout.read(size + 1)
        return content[:-1]

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def commits(repo: Path, most: int = 0, renames: bool = True) -> Iterator[Commit]:
    """The newest `most` commits (0: all) of HEAD along first parents, oldest first. The first has its whole tree.

    Submodules are left out: no file holds them.
    """
    shape = "%H%x09%T%x09%at%x09%aN"
    limit = [f"-{most}"] if most else []
    listed = git(repo, "log", "--first-parent", f"--format={shape}", *limit, "HEAD").decode(errors="replace")
    found = [line.split("\t", 3) for line in listed.splitlines()][::-1]
    blobs = Blobs(repo)
    before = git(repo, "hash-object", "-t", "tree", "--stdin", "-w").decode().strip() if found else ""
    try:
        for name, tree, at_s, author in found:
            words = ["diff-tree", "-r", "-z", *(["-M"] if renames else ["--no-renames"]), before, tree]
            yield Commit(name, tree, author, int(at_s), list(_changes(git(repo, *words), blobs)))
            before = tree
    finally:
        blobs.close()


def _changes(raw: bytes, blobs: Blobs) -> Iterator[Change]:
    parts = iter(raw.split(b"\0")[:-1])
    for head in parts:
        old_mode, mode, _, name, status = head[1:].decode().split()
        path, came_from = next(parts), b""
        if status[0] == "R":
            came_from, path = path, next(parts)
        if _GITLINK in (mode, old_mode):
            if mode != _GITLINK and status[0] != "D":
                yield Change(path, mode, blobs.read(name.encode()))
            elif old_mode not in (_GITLINK, "000000"):
                yield Change(came_from or path, "")
            continue
        yield Change(path, "") if status[0] == "D" else Change(path, mode, blobs.read(name.encode()), came_from)


def tree_of(repo: Path, point: str, blobs: Blobs | None = None) -> Tree:
    """Everything in the tree of a commit, submodules left out."""
    reading = blobs or Blobs(repo)
    found: Tree = {}
    for row in git(repo, "ls-tree", "-r", "-z", point).split(b"\0")[:-1]:
        about, path = row.split(b"\t", 1)
        mode, _, name = about.split()
        if mode.decode() != _GITLINK:
            found[path] = (mode.decode(), reading.read(name))
    if blobs is None:
        reading.close()
    return found


def git_paths(path: bytes) -> str:
    """A path of git as the journal knows it."""
    return journal_path(os.fsdecode(path))


class Teller:
    """Tells a journal of commits: each is a batch of its author's, settled by the next."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._writers: dict[str, WriterId] = {}
        self._heads: dict[str, int] = {}
        self._pending = 0
        self.versions = 0
        self.last_of: list[tuple[int, Commit]] = []  # (last record, commit), when `keep` was asked for

    def tell(self, commit: Commit, keep: bool = False) -> None:
        """One commit. Its time is the author's, never before that of the record in front."""
        at_ns = commit.at_s * 10**9
        writer = self._writers.get(commit.author)
        events: list[tuple[Event, WriterId]] = []
        if writer is None:
            writer = self._writers[commit.author] = WriterId(len(self._writers) + 1)
            introduced = WriterIntroduced(writer, uid=1000, agent=commit.author, agent_session="s1", turn="t1")
            events.append((introduced, OUTSIDE))
        if self._pending:
            events.append((WritesSettled(self._pending), OUTSIDE))
        first = self._journal.head + len(events) + 1
        named: list[tuple[bytes, str]] = []
        # A path may go and another one come in its place (a file where a folder was): what goes, goes first.
        for change in sorted(commit.changes, key=lambda change: bool(change.mode)):
            events.append((self._event(change, self._journal.head + len(events) + 1), writer))
            if change.mode:
                named.append((change.content, git_paths(change.path)))
        entries = [
            NewRecord(event, who, at_ns, BatchId(min(self._journal.head + 1 + at, first)))
            for at, (event, who) in enumerate(events)
        ]
        if entries:
            self._journal.append(entries, named)
        self._pending = self._journal.head if commit.changes else 0
        self.versions += len(commit.changes)
        if keep:
            self.last_of.append((self._journal.head, commit))

    def _event(self, change: Change, seq: int) -> Event:
        path = git_paths(change.path)
        if not change.mode:
            return FileDeleted(path, self._heads.pop(path))
        blob, entry = hashlib.sha256(change.content).digest(), LINK if change.mode == _LINK else REGULAR
        bits = 0o755 if change.mode == _EXECUTABLE else 0o644
        if change.came_from:
            old = git_paths(change.came_from)
            event: Event = FileMoved(
                old, path, blob, len(change.content), bits, self._heads.pop(old), inode=seq, entry=entry
            )
        else:
            base = self._heads.get(path, 0)
            event = FileWritten(path, blob, len(change.content), bits, base, inode=seq, entry=entry, dialect="edit")
        self._heads[path] = seq
        return event
