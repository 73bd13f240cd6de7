"""The two tree states of a comparison: journal states or git commits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from quire_daemon.core import NeedsCommits, World
from quire_daemon.tools.history.difference import known_text
from quire_daemon.tools.history.renames import EarlierState, TreeChange, followed, other_names, with_renames
from quire_journal.history import (
    CommitBlobs,
    CommitBytes,
    CommitEntries,
    CommitEntry,
    CommitTree,
    History,
    commit_of,
    in_git,
    is_named,
    parse_point,
    unanswered,
    version_of,
    version_then,
)
from quire_journal.model import IGNORED, LINK, REGULAR, Refusal, blob_id, pause
from quire_journal.text import Text
from quire_journal.views import Version, standing

MOST_BYTES: Final = 32 << 20
"""Maximum number of bytes requested from git in one call; larger files are only reported as different."""


class TreeSide(msgspec.Struct, frozen=True):
    """A state of the tree, which a point names."""

    point: str  # the point as replies name it
    seq: int  # the newest record of the state; 0 for a commit
    entries: Mapping[str, CommitEntry] | None = None  # the files of a commit

    @property
    def known_seq(self) -> int | None:
        """`seq`; None for a commit."""
        return self.seq if self.entries is None else None


def side_of(point: str, argument: str, world: World) -> TreeSide:
    """Return the state at a point; the current one for "". Raises `Refusal`, and `NeedsCommits` if git must be asked
    first.
    """
    commit = commit_of(point)
    if commit:
        return TreeSide(point, 0, commit_entries(commit, world))
    seq = int(parse_point(point, world.history, argument)) if point else int(world.history.head())
    return TreeSide(f"seq:{seq}", seq)


def commit_entries(commit: str, world: World) -> Mapping[str, CommitEntry]:
    """Return the files of a commit by path. Raises `Refusal` if git has none, and `NeedsCommits` if git must be asked
    first.
    """
    answer = _asked(CommitTree(commit), world)
    assert isinstance(answer, CommitEntries)
    if answer.why:
        raise unanswered(answer.why, commit)
    return answer.entries


def _asked(question: CommitTree | CommitBlobs, world: World) -> object:
    """Return git's answer. Raises `NeedsCommits` if git has not been asked, `Refusal` if its answer takes too long."""
    answer = world.git(question) if world.git is not None else None
    if answer is not None:
        return answer
    if world.commits_awaited:
        raise Refusal("busy", "Git has not answered yet; ask again.", "retry", retry_after_ms=1000)
    raise NeedsCommits([question])


class ComparedTrees:
    """Files of two tree states in pairs, with bytes that only git holds."""

    def __init__(self, start: TreeSide, end: TreeSide, world: World) -> None:
        self._sides, self._world = (start, end), world
        self.texts: dict[bytes, Text] = {}  # texts that only git has, by address
        self.unknown = 0  # number of a commit's files that the journal never knew

    def paths(self) -> set[str]:
        """Return the paths that may differ: those of all commits compared, and all of the journal if it is one side."""
        found: set[str] = set()
        for side in self._sides:
            found |= {*side.entries} if side.entries is not None else set()
        if any(side.entries is None for side in self._sides):
            found |= {path for path, _ in self._world.history.paths()}
        return found

    def pairs(self, paths: Iterable[str]) -> dict[str, tuple[Version | None, Version | None]]:
        """Return path → (version on the first side, on the second), None for a side without the file. Raises as
        `commit_entries`.
        """
        found = {path: self._pair(path) for path in paths}
        wanted: dict[str, int] = {}
        for path, pair in found.items():
            wanted |= {entry.name: entry.size for entry in self._lacking(path, pair) if entry.size <= MOST_BYTES}
        held = self._bytes(wanted) if wanted else {}
        return {path: self._filled(path, pair, held) for path, pair in found.items()}

    def changes(self, paths: Iterable[str], *, guessed: bool = True, follow: bool = False) -> list[TreeChange]:
        """Return these files by path, also those that do not differ (`TreeChange.differs`). A renamed file is found by
        either name. `guessed`: also renames that only contents show; `follow`: also renames onto a path that was in
        use. Raises as `commit_entries`.
        """
        found = self._changes(paths)
        asked = {one.path for one in found}
        ends = (one for one in found if (standing(one.old) is None) != (standing(one.new) is None))
        found += self._changes({name for one in ends for name in other_names(one, self._world.history)} - asked)
        earlier = EarlierState(self._sides[0].known_seq, self._text_of, self._world.history)
        renamed = with_renames(found, earlier, guessed=guessed)
        renamed = followed(renamed, earlier) if follow else renamed
        return sorted((one for one in renamed if {one.path, one.old_path} & asked), key=lambda one: one.path)

    def _changes(self, paths: Iterable[str]) -> list[TreeChange]:
        return [TreeChange(path, path, *pair) for path, pair in self.pairs(paths).items()]

    def _text_of(self, version: Version) -> Text | None:
        return known_text(version, self._world.history, self.texts)

    def _pair(self, path: str) -> tuple[Version | None, Version | None]:
        start, end = self._sides
        if start.entries is not None and end.entries is not None and start.entries.get(path) == end.entries.get(path):
            return None, None
        history = self._world.history
        if start.entries is None and end.entries is None:
            return version_then(history, path, start.seq), version_then(history, path, end.seq)
        if None in (start.entries, end.entries) and history.path_id(path) is None:
            self.unknown += 1  # ignored or secret: absence from the journal proves nothing
            return None, None
        if start.entries is None:
            then = _beside(version_then(history, path, start.seq), end, path)
            return then, self._of_commit(path, end, then)
        now = None if end.entries is not None else _beside(version_then(history, path, end.seq), start, path)
        return self._of_commit(path, start, now), now if end.entries is None else self._of_commit(path, end, None)

    def _of_commit(self, path: str, side: TreeSide, other: Version | None) -> Version | None:
        """Return a commit's file as a version: the journal's with the same bytes if there is one; None if the commit
        lacks the path. `other` is the version on the other side, tried first.
        """
        pause()
        entry = (side.entries or {}).get(path)
        if entry is None:
            return None
        history, there = self._world.history, standing(other)
        if there is not None and there.uncaptured and there.size == entry.size:
            return there  # not comparable: treated as equal
        if there is not None and _is_same(there, entry, history):
            return there if _mode(there) == entry.mode else _with_mode(there, entry)
        known = version_of(path, entry, history)
        return _with_mode(known, entry) if known is not None else in_git(entry, b"", "in_git")

    def _lacking(self, path: str, pair: tuple[Version | None, Version | None]) -> Iterable[CommitEntry]:
        for side, version in zip(self._sides, pair, strict=True):
            if version is not None and version.uncaptured == "in_git" and side.entries is not None:
                yield side.entries[path]

    def _bytes(self, wanted: Mapping[str, int]) -> Mapping[str, bytes]:
        names, left = [], MOST_BYTES
        for name, size in sorted(wanted.items()):
            if size <= left:
                names.append(name)
                left -= size
        answer = _asked(CommitBlobs(tuple(names)), self._world)
        assert isinstance(answer, CommitBytes)
        return answer.held

    def _filled(
        self, path: str, pair: tuple[Version | None, Version | None], held: Mapping[str, bytes]
    ) -> tuple[Version | None, Version | None]:
        old, new = (self._one(path, side, version, held) for side, version in zip(self._sides, pair, strict=True))
        return old, new

    def _one(self, path: str, side: TreeSide, version: Version | None, held: Mapping[str, bytes]) -> Version | None:
        if version is None or version.uncaptured != "in_git" or side.entries is None:
            return version
        entry = side.entries[path]
        if entry.name not in held:
            return version
        blob = blob_id(held[entry.name])
        self.texts[blob] = Text.of(held[entry.name], blob)
        return in_git(entry, blob)


def _beside(version: Version | None, commit: TreeSide, path: str) -> Version | None:
    """Return the version, to compare it with a commit; None if it is ignored and the commit lacks the file."""
    ignored = version is not None and version.uncaptured == IGNORED
    return None if ignored and path not in (commit.entries or {}) else version


def _is_same(version: Version, entry: CommitEntry, history: History) -> bool:
    kind = LINK if entry.mode == "120000" else REGULAR
    return (version.entry, version.size) == (kind, entry.size) and is_named(version, entry.name, history)


def _mode(version: Version) -> str:
    return "120000" if version.entry == LINK else "100755" if version.mode & 0o100 else "100644"


def _with_mode(version: Version, entry: CommitEntry) -> Version:
    if _mode(version) == entry.mode:
        return version
    return msgspec.structs.replace(version, mode=int(entry.mode[3:], 8))
