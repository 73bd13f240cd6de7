"""Signs of git commands that report nothing: a moved HEAD, and the lock of the index.

When outside writes are recorded, HEAD, its log, the index, `index.lock`, the stash's log and the files of commands that
have not committed yet are checked (ten stats, and one more while the index is locked). A move of HEAD by a command that
changes trees labels writes at about that time; so does a locked index. The label says that git was at work, not that
git wrote this file.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from quire_journal.history import LOCK_HELD, LOCK_TAKEN, STEPS, first_word
from quire_journal.model import plain
from quire_journal.workspaces import common_folder, file_tail, git_folder

SECOND: Final = 1_000_000_000

BEFORE_NS: Final = SECOND
"""Nanoseconds before a move of HEAD in which its command may have written."""

CLOCKS_NS: Final = 10_000_000
"""Largest lag of file timestamps: a tick of the slowest kernel clock."""

LOCKED_NS: Final = 600_000_000_000
"""Longest time of a lock; an older one is stale."""

UNSEEN_NS: Final = 50_000_000
"""Longest time of a lock known only from the index."""

EXPECTED_NS: Final = 2_000_000_000
"""Nanoseconds after its lock in which git may move HEAD."""

STASHED_NS: Final = 5_000_000_000
"""Nanoseconds after a stash entry in which `git stash` resets HEAD."""

_UNLOGGED: Final = b"HEAD moved"
"""Label of a move without a log of HEAD."""

_LOCKING: Final = "am|checkout|cherry-pick|merge|pull|rebase|reset|revert"
"""Commands that change the tree only while the index is locked. `git stash` removes untracked files before, and
`git stash pop` brings them back after."""

_CHANGES_TREES: Final = re.compile(rf"(?:HEAD moved|stash|{_LOCKING})\b")
"""Log entries of commands that change trees; a commit does not."""

_UNDER_LOCK: Final = re.compile(rf"git: (?:index\.lock was |(?:{_LOCKING})\b)")
"""Labels of writes by such commands, or by one that is known only by the lock."""

_STASH_PUSH: Final = "git: stash (HEAD "
_STASH_POP: Final = "git: stash pop (HEAD "

_BEFORE_COMMIT: Final = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick:",
    "REBASE_HEAD": "rebase:",
    "REVERT_HEAD": "revert:",
    "SQUASH_MSG": "merge --squash",
}
"""File of a command that has written the tree and not moved HEAD yet (an editor, a hook, a conflict, a squash) → its
name. The file begins with the commit that was merged, or names it first.
"""

_REVERTED: Final = "REVERT_HEAD"
"""File of a command that takes lines from the parent of the commit that it names."""

_SQUASHED: Final = "SQUASH_MSG"
"""File of a command that never moves HEAD: the commit that follows is another command."""

_RESET: Final = "reset: moving to HEAD"

_MOST_SAID: Final = 100
_MOST_TRIES: Final = 3
_MOST_READ: Final = 4096
_MOST_MESSAGE: Final = 1 << 20  # of a squash, with the messages of all its commits
_COMMIT: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOGGED_S: Final = re.compile(rb"> (\d{1,12}) [-+]\d{4}$")
_BRANCHES: Final = re.compile(
    r"checkout: moving from (?P<left>\S+) to (?P<to>\S+)$|.*: returning to refs/heads/(?P<back>\S+)"
)


def is_under_lock(hint: str, removed: bool, new: bool) -> bool:
    """True if the label `hint` explains a change only if the change came while git's index was locked. `removed`: the
    change is a removal; `new`: the change makes a file.
    """
    if hint.startswith(_STASH_PUSH):
        return not removed
    return bool(_UNDER_LOCK.match(hint)) or (hint.startswith(_STASH_POP) and not new)


class Head(msgspec.Struct, frozen=True):
    name: str  # of the branch; "" if detached
    commit: str  # "" if the log does not say
    action: str  # "checkout: moving from main to side"
    at_ns: int  # when it was moved
    previous: str = ""  # previous commit, if logged
    timed: bool = True  # `at_ns` is the time of a file; else at most the end of the second in the log

    def __str__(self) -> str:
        return " ".join(part for part in (self.name, self.commit[:12]) if part)


class HeadMove(msgspec.Struct, frozen=True):
    before: Head
    after: Head
    began_ns: int = 0  # earliest time at which the command may have written; 0 if unknown

    @property
    def hint(self) -> str:
        return f"git: {self.after.action} (HEAD {self.before} -> {self.after})"

    @property
    def stays(self) -> bool:
        """True if the command of this move changes no files: a commit, or a checkout of the current commit."""
        same = self.before.commit == self.after.commit != ""
        return self.after.action.startswith("commit") or (same and self.after.action.startswith("checkout:"))

    @property
    def writes_index(self) -> bool:
        """True if the command of this move certainly wrote the index; a reset may be `--soft`."""
        return self.changes_trees and self.command != "reset"

    @property
    def has_one_lock(self) -> bool:
        """True if the command of this move writes files only during the lock that ended just before HEAD moved."""
        return self.command in ("checkout", "reset") or self.after.action.endswith(": Fast-forward")

    @property
    def changes_trees(self) -> bool:
        return not self.stays and bool(_CHANGES_TREES.match(self.after.action))

    @property
    def command(self) -> str:
        """Name of the git command, the same for all moves of a rebase."""
        return first_word(self.after.action)


class GitHead:
    def __init__(self, root: str, born_ns: Callable[[str], int] = lambda path: 0) -> None:
        """`born_ns`: creation time of a file (the index is created as its lock); 0 if unknown."""
        self._root, self._born_ns = root, born_ns
        self._stamp: tuple[int, ...] = ()
        self._line = b""  # last of the log of HEAD
        self._moves: list[HeadMove] = []  # the latest, the oldest first
        self._untold: list[HeadMove] = []  # moves that `finished` has not returned
        self._due = False  # a move in `_untold` labelled or followed writes
        self._expected_ns = 0  # end of the time in which a lock may move HEAD
        self._nameless_ns = 0  # end of the time in which a move may name the command of a label
        self._lock = 0  # inode of the current lock
        self._held = (0, 0)  # (begin, end) of the last lock
        self._is_waiting = False  # a commit with the lock waits for its editor, and writes no more files
        self._index_ns = 0
        self._uncommitted: HeadMove | None = None  # command whose file of `_BEFORE_COMMIT` stands
        self._merged = ("", 0)  # (commit named by the last file of `_BEFORE_COMMIT`, when it was written)
        self._before_commit: dict[str, tuple[int, int, int]] = {}  # stamps of the files of `_BEFORE_COMMIT`
        self._stash = (0, 0, 0)  # stamp of the log of the stash
        self._entry = ""  # commit of the newest stash entry
        self._stashed_ns = 0  # time of an entry of the stash whose reset was not seen
        self._plain_ns = 0  # time of the latest write without a label
        self.now = Head("", "", "", 0)
        self.forget()

    def forget(self) -> None:
        """Read HEAD and discard all earlier moves: they label no write, and `finished` does not return them."""
        self._look()
        self._moves, self._untold, self._due = [], [], False
        self._expected_ns, self._held, self._stashed_ns = 0, (0, 0), 0

    def hint(self, at_ns: int, slack_ns: int, now_ns: int) -> str:
        """Return a label of what git did at a write, up to `slack_ns` before `at_ns`; "" if nothing."""
        self._look()
        found = [
            move
            for move in self._moves
            if _within(at_ns, max(move.after.at_ns - BEFORE_NS, move.began_ns), move.after.at_ns, slack_ns)
        ]
        if found:
            self._due = True
            ended_later = [move for move in found if at_ns <= move.after.at_ns]
            return _label(ended_later or found[-1:])  # else it was noticed late
        if self._stashed_ns and _within(at_ns, self._stashed_ns, self._unstashed_ns(), slack_ns):
            self._due, self._expected_ns = True, now_ns + EXPECTED_NS
            return HeadMove(self.now, msgspec.structs.replace(self.now, action="stash")).hint
        if not _within(at_ns, *self._held, slack_ns):
            self._plain_ns = max(self._plain_ns, at_ns)
            self._expected_ns = now_ns + EXPECTED_NS if self._stash[1] else self._expected_ns  # a stash may come back
            return ""
        self._expected_ns = self._nameless_ns = now_ns + EXPECTED_NS
        return LOCK_TAKEN if at_ns == self._held[0] - CLOCKS_NS else LOCK_HELD

    def _unstashed_ns(self) -> int:
        """Return the latest time at which a `git stash`, whose reset was not seen, wrote files. A stash of some paths
        resets nothing, and writes the index last.
        """
        end_ns = self._stashed_ns + STASHED_NS
        is_locked = self._lock and not self._is_waiting
        return end_ns if is_locked or self._index_ns <= self._stashed_ns else min(self._index_ns, end_ns)

    def current(self) -> str:
        self._look()
        return str(self.now)

    def expect(self, now_ns: int) -> None:
        """Record that HEAD was written, so that `finished` returns the move once the log of HEAD says why."""
        self._expected_ns = self._nameless_ns = now_ns + EXPECTED_NS

    def awaits_name(self, now_ns: int) -> bool:
        """True if the command that wrote HEAD, or locked the index, may soon be known."""
        return now_ns <= self._nameless_ns

    def merged_since(self, ns: int) -> str:
        """Return the commit (12 digits) that a merge, cherry-pick or the like wrote to the files since `ns`, without
        moving HEAD yet; "" if none.
        """
        commit, at_ns = self._merged
        return commit[:12] if at_ns >= ns - CLOCKS_NS else ""

    def finished(self, now_ns: int) -> list[HeadMove]:
        """Return the moves of HEAD that labelled or followed writes, in order, each in one call only."""
        if now_ns <= self._expected_ns:
            self._look()
        if not self._due:
            return []
        untold, self._untold, self._due = sorted(self._untold, key=_moved_ns), [], False
        self._expected_ns = 0 if untold else self._expected_ns
        self._nameless_ns = 0 if untold else self._nameless_ns
        return untold

    def _look(self) -> None:
        folder = git_folder(self._root)
        uncommitted = {n: _stamp(os.path.join(folder, n)) for n in _BEFORE_COMMIT} if folder else {}  # before HEAD
        stamp = _head_stamp(folder)
        if folder:
            self._look_at_lock(folder)
            self._look_at_stash(folder, moved_ns=stamp[-1])
        if self._stamp and stamp != self._stamp and stamp[3:] == self._stamp[3:] and any(stamp[3:]):
            return  # git moves HEAD before it writes the log: not finished
        if stamp != self._stamp:
            self._look_at_moves(folder, stamp)
        self._look_at_uncommitted(folder, uncommitted)

    def _look_at_moves(self, folder: str, stamp: tuple[int, ...]) -> None:
        before, last = self.now, self._stamp
        for _ in range(_MOST_TRIES):
            grown = stamp[4] - last[4] if last and stamp[3:4] == last[3:4] else 0
            ways, now, line = _read(folder, grown, before) if folder else ([], Head("", "", "", 0), b"")
            found = _head_stamp(folder)
            if found == stamp:
                break
            stamp = found  # git moved HEAD while it was read
        else:
            return
        is_known = not grown and line == self._line != b""  # git has rewritten the log, or HEAD
        self._stamp, self.now, self._line = stamp, now, line
        if not last or is_known or not ways:
            return
        begun_ns, ended_ns, moved_ns = self._held[0] - CLOCKS_NS, self._held[1], ways[-1].after.at_ns
        if ways[-1].stays and begun_ns < moved_ns and ended_ns <= moved_ns + CLOCKS_NS:
            self._held = (0, 0)  # the lock was that of this command
        born_ns = self._born_ns(os.path.join(folder, "index"))
        ways = [_since(way, before if at == 0 else ways[at - 1].after) for at, way in enumerate(ways)]
        if ways[-1].has_one_lock and ways[-1].began_ns < born_ns <= moved_ns:
            ways[-1] = msgspec.structs.replace(ways[-1], began_ns=born_ns)
        ways = ways[1:] if self._commits(ways[0]) else ways
        if ways and ways[-1].writes_index:
            ways = _before_lock(ways, born_ns)
        self._take([self._named(way) for way in ways if _CHANGES_TREES.match(way.after.action)])

    def _commits(self, move: HeadMove) -> bool:
        """True if `move` is the commit that ends a command whose writes were seen before, such as a merge. The move of
        that command then gets this commit.
        """
        seen, self._uncommitted = self._uncommitted, None
        if seen is None or (seen.command, seen.before.commit) != (move.command, move.before.commit):
            return False
        if move.after.commit == move.before.commit or "(abort)" in move.after.action:
            return False
        whole = msgspec.structs.replace(seen, after=msgspec.structs.replace(seen.after, commit=move.after.commit))
        self._moves = [whole if one is seen else one for one in self._moves]
        self._untold = [whole if one is seen else one for one in self._untold]
        return True

    def _take(self, moves: list[HeadMove]) -> None:
        if not moves:
            return
        since_ns = moves[-1].after.at_ns - EXPECTED_NS
        labels = [move for move in moves if not move.stays]
        self._moves = [*(move for move in self._moves if move.after.at_ns > since_ns), *labels]
        self._untold = [*(move for move in self._untold if self._due or move.after.at_ns > since_ns), *moves]
        self._due = self._due or bool(self._expected_ns)

    def _named(self, move: HeadMove) -> HeadMove:
        if move.after.action != _RESET or not 0 <= move.after.at_ns - self._stashed_ns <= STASHED_NS:
            return move
        began_ns, self._stashed_ns = min(move.began_ns, self._stashed_ns), 0  # untracked files go before the lock
        return HeadMove(move.before, msgspec.structs.replace(move.after, action="stash"), began_ns)

    def _look_at_stash(self, folder: str, moved_ns: int) -> None:
        """Detect an added or dropped stash entry: `git stash pop` moves no HEAD, and drops its entry last."""
        common = common_folder(folder)
        logs = os.path.join(common, "logs", "refs")
        stamp = _stamp(os.path.join(logs, "stash"))
        before, self._stash = self._stash, stamp
        if stamp == before:
            return
        entry, self._entry = self._entry, _last_commit(os.path.join(logs, "stash"))
        if stamp[1] > before[1]:
            self._stashed_ns = stamp[2]
            return
        if not before[1]:
            return  # git empties the log of the last entry, and then removes it
        popped_ns = stamp[2] or _stamp(logs)[2]  # of the last entry git removes the log
        indexed_ns = 0 if self._held[1] <= moved_ns <= popped_ns else self._held[1]  # else of a command before
        saved_ns = self._plain_ns if entry != self._entry and _has_untracked(common, entry) else 0
        if max(indexed_ns, saved_ns) >= popped_ns - BEFORE_NS:  # not a mere `git stash drop`
            after = msgspec.structs.replace(self.now, action="stash pop", at_ns=popped_ns)
            self._take([_since(HeadMove(self.now, after), self.now)])

    def _look_at_uncommitted(self, folder: str, stamps: dict[str, tuple[int, int, int]]) -> None:
        known, self._before_commit = self._before_commit, stamps
        for name, (*_, written_ns) in stamps.items():
            if stamps[name] == known.get(name, stamps[name]):
                continue
            of_rebase = os.path.exists(os.path.join(folder, "rebase-merge"))
            commit = _first_commit(os.path.join(folder, name))
            if name == _SQUASHED and of_rebase:
                continue  # a rebase writes the message of a fixup to it
            if written_ns and not commit:
                stamps[name] = known.get(name, (0, 0, 0))  # git has made the file and not written to it yet
                continue
            command = _BEFORE_COMMIT["REBASE_HEAD" if of_rebase else name]
            is_committed = self.now.action.startswith(command.rstrip(":")) and self.now.at_ns >= written_ns
            self._uncommitted = None
            if written_ns and not is_committed:
                self._merged = ("" if name == _REVERTED else commit), written_ns
                action = f"{command} {commit[:7]}"
                after = msgspec.structs.replace(self.now, action=action, at_ns=written_ns)
                move = _since(HeadMove(self.now, after), self.now)
                self._uncommitted = None if name == _SQUASHED else move
                self._take([move])

    def _look_at_lock(self, folder: str) -> None:
        lock, _, locked_ns = _stamp(os.path.join(folder, "index.lock"))
        index, _, index_ns = _stamp(os.path.join(folder, "index"))
        if lock:
            if lock != self._lock:
                self._held = (self._locked_ns(folder, "index.lock") or locked_ns, locked_ns + LOCKED_NS)
            message_ns = _stamp(os.path.join(folder, "COMMIT_EDITMSG"))[2]
            self._is_waiting = message_ns > locked_ns
            if self._is_waiting:
                self._held = (self._held[0], min(self._held[1], message_ns))
        elif index_ns != self._index_ns:
            begun_ns = max(index_ns - UNSEEN_NS, self._locked_ns(folder, "index"))
            self._held = (self._held[0] if self._lock == index else begun_ns, index_ns)
        elif self._lock:
            self._held = (0, 0)  # released without a write
        self._lock, self._index_ns = lock, index_ns

    def _locked_ns(self, folder: str, name: str) -> int:
        """Return the creation time of the lock (which becomes the index) on the clock of file times; 0 if unknown."""
        born_ns = self._born_ns(os.path.join(folder, name))
        return born_ns + CLOCKS_NS if born_ns else 0


def _label(moves: Sequence[HeadMove]) -> str:
    """Return the label of a write that came before these moves (in order). It names the first move whose time is known,
    or only "git" if earlier moves had other commands.
    """
    at = next((at for at, move in enumerate(moves) if move.after.timed), len(moves) - 1)
    steps = [move for move in moves[at:] if move.command == moves[at].command in STEPS]
    last = steps[-1] if steps else moves[at]
    return last.hint if {move.command for move in moves[: at + 1]} == {last.command} else "git"


def _since(move: HeadMove, last: Head) -> HeadMove:
    """Return `move` with its beginning: the time of the `last` move, if that was shortly before."""
    last_ns = last.at_ns if last.timed else last.at_ns // SECOND * SECOND
    is_near = 0 < last_ns <= move.after.at_ns <= last_ns + EXPECTED_NS
    return msgspec.structs.replace(move, began_ns=last_ns) if is_near else move


def _before_lock(moves: Sequence[HeadMove], born_ns: int) -> list[HeadMove]:
    """Return moves that were read together; all but the last get the time of the last one's lock, by which they had
    ended.
    """
    *passed, last = moves
    if not 0 < born_ns <= last.after.at_ns:
        return [*moves]
    found = [
        msgspec.structs.replace(move, after=msgspec.structs.replace(move.after, at_ns=min(move.after.at_ns, born_ns)))
        for move in passed
    ]
    for at in [at for at, move in enumerate(found) if move.changes_trees][-1:]:
        found[at] = msgspec.structs.replace(found[at], after=msgspec.structs.replace(found[at].after, timed=True))
    return [*found, last]


def _moved_ns(move: HeadMove) -> int:
    return move.after.at_ns


def _within(at_ns: int, first_ns: int, last_ns: int, slack_ns: int) -> bool:
    return bool(last_ns) and first_ns - CLOCKS_NS <= at_ns <= last_ns + slack_ns


class _Logged(msgspec.Struct, frozen=True):
    """A line of the log of HEAD."""

    before: str  # commit; "" if HEAD had none
    after: str
    second: int
    said: str

    @classmethod
    def of(cls, line: bytes) -> _Logged | None:
        ids, _, said = line.partition(b"\t")
        commits, stamp = _COMMIT.findall(ids), _LOGGED_S.search(ids)
        if len(commits) < 2:
            return None
        first = _text(commits[0]) if commits[0].strip(b"0") else ""
        return cls(first, _text(commits[1]), int(stamp[1]) if stamp is not None else 0, _text(said))

    def branches(self, before: str) -> tuple[str, str, bool]:
        """Return (branch before, branch after, True if the line names the branch after); a branch is "" if HEAD is
        detached. `before` is the branch known so far.
        """
        named = _BRANCHES.match(self.said)
        if named is None:
            return before, before, False
        return _branch(named["left"] or before), _branch(named["to"] or named["back"]), True


def _read(folder: str, grown: int, before: Head) -> tuple[list[HeadMove], Head, bytes]:
    """Return the moves in the last `grown` bytes of HEAD's log (0: one move, from `before`), HEAD, and the last
    line.
    """
    pointer, at_ns = file_tail(os.path.join(folder, "HEAD"))
    log, logged_ns = file_tail(os.path.join(folder, "logs", "HEAD"))
    pointer = pointer.strip()
    name = _text(pointer[5:].strip().removeprefix(b"refs/heads/")) if pointer.startswith(b"ref: ") else ""
    lines = log.rstrip(b"\n").split(b"\n")
    is_whole = 0 < grown <= len(log)
    last_ns = logged_ns if is_whole else max(at_ns, logged_ns)  # HEAD is written before its log, or by the next move
    new = log[-grown:].rstrip(b"\n").split(b"\n") if is_whole else lines[-1:]
    logged = [one for line in new if (one := _Logged.of(line)) is not None]
    if not logged:
        now = Head(name, "" if name else _text(pointer), _text(b"" if log else _UNLOGGED), last_ns)
        return [HeadMove(before, now)], now, lines[-1]
    moves, now = list[HeadMove](), before
    for one in logged:
        left, branch, told = one.branches(now.name)
        is_last = one is logged[-1]
        if is_last and not (is_whole and name and (told or at_ns > logged_ns)):
            branch = name  # otherwise the pointer may be that of the next move, which the log has not yet
        second_ns = one.second * SECOND  # the log has seconds: moved at any time of it
        moved_ns = last_ns if is_last else min(second_ns + 999_999_999, last_ns)
        came = msgspec.structs.replace(now, name=left, commit=one.before)
        now = Head(branch, one.after, one.said, moved_ns, one.before, is_last)
        moves.append(HeadMove(came, now))
    return (moves if is_whole else [HeadMove(before, now)]), now, lines[-1]


def _branch(name: str) -> str:
    """Return the branch that the log names; "" if it names a commit."""
    return "" if _COMMIT.fullmatch(name.encode()) else name


def _text(raw: bytes) -> str:
    return plain(raw.decode("utf-8", "replace"), _MOST_SAID)


def _head_stamp(folder: str) -> tuple[int, ...]:
    files = (os.path.join(folder, "HEAD"), os.path.join(folder, "logs", "HEAD")) if folder else ()
    return tuple(number for file in files for number in _stamp(file))


def _stamp(file: str) -> tuple[int, int, int]:
    try:
        found = os.stat(file, follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def _last_commit(log: str) -> str:
    """Return the commit in the last line of a git log file; "" if there is none."""
    commits = _COMMIT.findall(file_tail(log)[0].rstrip(b"\n").rpartition(b"\n")[2].partition(b"\t")[0])
    return _text(commits[1]) if len(commits) > 1 else ""


def _first_commit(file: str) -> str:
    """Return the first commit named in a file such as MERGE_HEAD; "" if there is none."""
    found = _COMMIT.search(file_tail(file, _MOST_MESSAGE)[0])
    return _text(found[0]) if found else ""


def _has_untracked(folder: str, stash: str) -> bool:
    """True if a dropped stash entry (commit `stash`) has untracked files, which are its third parent."""
    try:
        with open(os.path.join(folder, "objects", stash[:2], stash[2:]), "rb") as file:
            commit = zlib.decompressobj().decompress(file.read(_MOST_READ), _MOST_READ)
    except (OSError, zlib.error):
        return False
    return commit.partition(b"\n\n")[0].count(b"\nparent ") > 2
