"""Traces of unreported git commands: a moved HEAD, and the lock of the index.

Nothing is watched. When outside writes are noted, HEAD, its log, the index and `index.lock` are checked (four stats). A
move of HEAD by a command that changes trees, at about the time of a write, labels that write; so does a locked index.
The label says that git was at work, not that git wrote this file.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Final

import msgspec

from quire_journal.model import plain

BEFORE_NS: Final = 1_000_000_000
"""Nanoseconds before a move of HEAD in which its command may have written: git writes the tree first."""

CLOCKS_NS: Final = 10_000_000
"""Largest lag of file timestamps: a tick of the slowest kernel clock."""

LOCKED_NS: Final = 600_000_000_000
"""Longest time of a lock; an older one was left behind."""

UNSEEN_NS: Final = 50_000_000
"""Longest time of a lock that was not seen, and is known from the index only."""

EXPECTED_NS: Final = 2_000_000_000
"""Nanoseconds after its lock in which git may move HEAD."""

_UNLOGGED: Final = b"HEAD moved"
"""Label of a move in a repository without a log of HEAD."""

_CHANGES_TREES: Final = re.compile(r"(?:HEAD moved|am|checkout|cherry-pick|merge|pull|rebase|reset|revert|stash)\b")
"""Log entries of commands that change trees. A commit does not."""

_TAIL_BYTES: Final = 4096
_MOST_SAID: Final = 100
_COMMIT: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Head(msgspec.Struct, frozen=True):
    """Position of HEAD, and the command that moved it."""

    name: str  # of the branch; "" if detached
    commit: str  # "" if the log does not say
    action: str  # "checkout: moving from main to side"
    at_ns: int  # when it was moved
    previous: str = ""  # previous commit, if logged

    def __str__(self) -> str:
        return " ".join(part for part in (self.name, self.commit[:12]) if part)


class HeadMove(msgspec.Struct, frozen=True):
    """A move of HEAD."""

    before: Head
    after: Head

    @property
    def hint(self) -> str:
        return f"git: {self.after.action} (HEAD {self.before} -> {self.after})"


class GitHead:
    """HEAD and the index of the workspace's own repository, at the last look."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._stamp: tuple[int, ...] = ()
        self._move: HeadMove | None = None
        self._told = True  # the last move was returned
        self._expected_ns = 0  # end of the time in which a lock may move HEAD
        self._lock = 0  # inode of the current lock
        self._held = (0, 0)  # (begin, end) of the last lock
        self._index_ns = 0
        self.now = Head("", "", "", 0)
        self.forget()

    def forget(self) -> None:
        """Mark everything up to now as known."""
        self._look()
        self._move, self._told, self._expected_ns, self._held = None, True, 0, (0, 0)

    def hint(self, at_ns: int, slack_ns: int, now_ns: int) -> str:
        """Git's activity at the time of a write; "" if none is visible.

        The write may have happened up to `slack_ns` before `at_ns`.
        """
        self._look()
        if self._move is not None and _within(
            at_ns, self._move.after.at_ns - BEFORE_NS, self._move.after.at_ns, slack_ns
        ):
            self._told = False
            return self._move.hint
        if not _within(at_ns, *self._held, slack_ns):
            return ""
        self._expected_ns = now_ns + EXPECTED_NS
        return "git: index.lock was held"

    def current(self) -> str:
        """Branch and commit of HEAD."""
        self._look()
        return str(self.now)

    def finished(self, now_ns: int) -> HeadMove | None:
        """A move that labelled or followed writes, and was not returned before."""
        if now_ns <= self._expected_ns:
            self._look()
        if self._told or self._move is None:
            return None
        self._told, self._expected_ns = True, 0
        return self._move

    def _look(self) -> None:
        folder = git_folder(self._root)
        files = (os.path.join(folder, "HEAD"), os.path.join(folder, "logs", "HEAD")) if folder else ()
        stamp = tuple(number for file in files for number in _stamp(file))
        if folder:
            self._look_at_lock(folder)
        if stamp == self._stamp:
            return
        before, first = self.now, not self._stamp
        if not first and stamp[3:] == self._stamp[3:] and any(stamp[3:]):
            return  # git moves HEAD before it writes the log: not finished
        self._stamp = stamp
        self.now = _read(folder)
        if not first and before != self.now and _CHANGES_TREES.match(self.now.action):
            self._move, self._told = HeadMove(before, self.now), self._told and not self._expected_ns

    def _look_at_lock(self, folder: str) -> None:
        """Update the time for which the index is, or was, locked."""
        lock, _, locked_ns = _stamp(os.path.join(folder, "index.lock"))
        _, _, index_ns = _stamp(os.path.join(folder, "index"))
        if lock:
            if lock != self._lock:
                self._held = (locked_ns, locked_ns + LOCKED_NS)
        elif index_ns != self._index_ns:
            self._held = (self._held[0] if self._lock else index_ns - UNSEEN_NS, index_ns)
        elif self._lock:
            self._held = (0, 0)  # released without a write
        self._lock, self._index_ns = lock, index_ns


def _within(at_ns: int, first_ns: int, last_ns: int, slack_ns: int) -> bool:
    """True if it happened in this time, with lags of timestamps and of noticing."""
    return bool(last_ns) and first_ns - CLOCKS_NS <= at_ns <= last_ns + slack_ns


def git_folder(root: str) -> str:
    """Folder of the repository whose worktree is at `root`; "" if none.

    `.git` is a folder, a link to one, or in a linked worktree a file that names one (gitrepository-layout(5)).
    """
    git = os.path.join(root, ".git")
    try:
        mode = os.stat(git).st_mode
    except OSError:
        return ""
    if stat.S_ISDIR(mode):
        return git
    pointer = _tail(git)[0] if stat.S_ISREG(mode) else b""
    return os.path.join(root, os.fsdecode(pointer[7:].strip())) if pointer.startswith(b"gitdir:") else ""


def _read(folder: str) -> Head:
    pointer, at_ns = _tail(os.path.join(folder, "HEAD"))
    log, logged_ns = _tail(os.path.join(folder, "logs", "HEAD"))
    pointer = pointer.strip()
    name = pointer[5:].strip().removeprefix(b"refs/heads/") if pointer.startswith(b"ref: ") else b""
    ids, _, said = log.rstrip(b"\n").rpartition(b"\n")[2].partition(b"\t")
    commits = _COMMIT.findall(ids)
    commit = commits[1] if len(commits) > 1 else b"" if name else pointer
    previous = commits[0] if len(commits) > 1 else b""
    said = said if log else _UNLOGGED
    return Head(_text(name), _text(commit), _text(said), max(at_ns, logged_ns), _text(previous))


def _text(raw: bytes) -> str:
    return plain(raw.decode("utf-8", "replace"), _MOST_SAID)


def regular_bytes(file: str, most: int) -> bytes:
    """The last `most` bytes of a regular file; b"" if it is none or unreadable."""
    return _tail(file, most)[0]


def _tail(file: str, most: int = _TAIL_BYTES) -> tuple[bytes, int]:
    """The end of a regular file, and its mtime. Never waits (FIFO), never follows a link."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b"", 0
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return b"", 0
        return os.pread(fd, most, max(0, found.st_size - most)), found.st_mtime_ns
    except OSError:
        return b"", 0
    finally:
        os.close(fd)


def _stamp(file: str) -> tuple[int, int, int]:
    try:
        found = os.stat(file, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
