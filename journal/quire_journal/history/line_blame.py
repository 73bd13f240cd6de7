"""Blame: the author of each line of a file, and the version that last restored or moved the line.

The versions of the file (`line_past`) are replayed from the oldest on (`line_replay`). Rules:
* A line is its bytes and its break. The final break and a byte order mark are properties of the file.
* A rename continues under the earlier path. Bytes changed by a move belong to the move.
* A restored line keeps its author, and so do bytes copied from another path (`authorship`).
* Lines never seen being written belong to a git commit, if git knows it (`CommitFile`).
* Lines older than a version without bytes belong to the next version, and `Gap` says so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from quire_journal.history.authorship import CommitFile, CommitFileLines, CommitLine, LineOrigin, is_met
from quire_journal.history.git_moves import GitMoves
from quire_journal.history.history import History
from quire_journal.history.line_past import FilePast, Gap, PastStep, file_past, is_file
from quire_journal.history.line_replay import Clues, LineReplay
from quire_journal.history.renames import FoundRenames
from quire_journal.model import JournalDamaged
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, blocks, common_lines
from quire_journal.views import Version

MOST_BYTES: Final = 512 << 20

MOST_TRAILS: Final = 256

MOST_ELSEWHERE: Final = 16
"""Maximum number of versions per blame that are traced to another path."""

CommitAnswers = Callable[[CommitFile], CommitFileLines | None]
"""Function that returns git's answer; None if there is none yet."""


class Blame(msgspec.Struct, frozen=True):
    version: Version
    text: Text
    origins: Sequence[LineOrigin]  # one for each line of `text`
    names: tuple[str, ...]  # paths of the file, oldest first
    gap: Gap | None = None
    unanswered: tuple[CommitFile, ...] = ()  # queries that git has not answered; their lines are `pending`


def blame(
    history: History, path: str, version: Version, most_bytes: int = MOST_BYTES, answers: CommitAnswers | None = None
) -> Blame:
    """Return the author of each line of `version` of `path`, a regular file. `answers`: git's answers (None: git is not
    asked). Raises `blobs.NotHeld`, `JournalDamaged`.
    """
    if version.uncaptured:
        raise NotHeld(version.blob)
    text = history.text_of(version.blob)
    git = GitMoves(history)
    past = file_past(history, git, path, version.seq, most_bytes)
    replay, last = _Elsewhere(history, git, most_bytes).replay(past)
    if last != text.data:  # `text_of` verified this version only
        raise JournalDamaged(f"the versions of {path} do not lead to version {version.seq}; run `quire verify`")
    if answers is None:
        return Blame(version, text, replay.origins, past.names, past.gap)
    commits = _Commits(history, git, answers)
    lines = zip(replay.origins, replay.met_as, strict=True)
    origins = [commits.told(origin, replay.met_in, met_as) for origin, met_as in lines]
    return Blame(version, text, origins, past.names, past.gap, tuple(commits.unanswered))


def origins_in_git(history: History, path: str, seq: int, found: Version, data: bytes) -> Sequence[LineOrigin]:
    """Return the origin of each line of `data`, a commit's file that the journal lacks, as if git had brought it to
    `path` after record `seq`. A line that no version has gets `found`, the file's stand-in, as its version. Raises
    `blobs.NotHeld`, `JournalDamaged`.
    """
    git = GitMoves(history)
    elsewhere = _Elsewhere(history, git, MOST_BYTES)
    replay, _ = elsewhere.replay(file_past(history, git, path, seq, MOST_BYTES))
    replay.take(path, found, data, Clues(), elsewhere.origins)
    return replay.origins


class _Elsewhere:
    def __init__(self, history: History, git: GitMoves, most_bytes: int) -> None:
        self._history, self._git, self._most_bytes = history, git, most_bytes
        self._known: dict[int, Sequence[LineOrigin]] = {}
        self._left = MOST_ELSEWHERE

    def replay(self, past: FilePast) -> tuple[LineReplay, bytes]:
        files = (step.version.blob for step in past.steps if is_file(step.version))
        bytes_of = self._history.bytes_in_turn(files)
        replay, data = new_replay(past.steps), b""
        for step in past.steps:
            data = next(bytes_of) if is_file(step.version) else b""
            replay.take(step.path, step.version, data, step.clues, self.origins)
        return replay, data

    def origins(self, path: str, version: Version) -> Sequence[LineOrigin] | None:
        if version.seq not in self._known and self._left:
            self._left -= 1
            past = file_past(self._history, self._git, path, version.seq, self._most_bytes)
            self._known[version.seq] = self.replay(past)[0].origins
        return self._known.get(version.seq)


def new_replay(steps: Sequence[PastStep]) -> LineReplay:
    """Return a replay that keeps the versions that later versions restore or are made from."""
    kept = {seq for step in steps for seq in step.clues.made_from}
    restored: set[bytes] = set()
    for step in reversed(steps):
        if step.version.blob in restored:
            kept.add(step.version.seq)
        if not step.clues.author:
            restored.add(step.version.blob)
    return LineReplay(kept)


# ── successive versions ────────────────────────────────────────────────────


class LineTrails:
    """Line origins for a walk through the log that queries the versions of a path in order. Holds nothing of a store
    between queries.
    """

    def __init__(self) -> None:
        self._trails: OrderedDict[str, _Trail] = OrderedDict()

    def origins(
        self, history: History, path: str, version: Version, bytes_of: Callable[[bytes], bytes]
    ) -> Sequence[LineOrigin] | None:
        """Return the origin of each line of `version`, valid until the next query; None if unknown. `bytes_of` returns
        the bytes of a blob; its errors pass.
        """
        trail = self._trails.pop(path, None)
        if trail is None or not trail.first <= version.seq <= trail.last or trail.at > trail.place(version):
            trail = _Trail.of(history, path, version)
        self._trails[path] = trail
        if len(self._trails) > MOST_TRAILS:
            self._trails.popitem(last=False)
        if version.seq < trail.first:
            return None
        elsewhere = _Elsewhere(history, GitMoves(history), MOST_BYTES)
        while trail.at < trail.place(version):
            step = trail.steps[trail.at]
            data = bytes_of(step.version.blob) if is_file(step.version) else b""
            trail.replay.take(step.path, step.version, data, step.clues, elsewhere.origins)
            trail.at += 1
        return trail.replay.origins


class _Trail(msgspec.Struct):
    """Versions of a path until a move brings another file to it, and the number of them that are replayed."""

    steps: Sequence[PastStep]
    last: int  # seq of the newest version
    replay: LineReplay
    at: int = 0

    @classmethod
    def of(cls, history: History, path: str, version: Version) -> _Trail:
        later = list(_until_moved(path, history.versions(path, after=version.seq), history.once(FoundRenames)))
        last = later[-1].seq if later else version.seq
        steps = file_past(history, GitMoves(history), path, last, MOST_BYTES).steps
        return cls(steps, last, new_replay(steps))

    @property
    def first(self) -> int:
        return self.steps[0].version.seq

    def place(self, version: Version) -> int:
        return bisect_right(self.steps, version.seq, key=lambda step: step.version.seq)


def _until_moved(path: str, versions: Iterator[Version], renames: FoundRenames) -> Iterator[Version]:
    for version in versions:
        if version.moved_from or (not version.gone and renames.of(path, version) is not None):
            return
        yield version


# ── commits ──────────────────────────────────────────────────────────────────


class _Commits:
    def __init__(self, history: History, git: GitMoves, answers: CommitAnswers) -> None:
        self._history, self._git, self._answers = history, git, answers
        self._lines: dict[tuple[str, int], Sequence[CommitLine | None] | None] = {}
        self.unanswered: list[CommitFile] = []

    def told(self, origin: LineOrigin, met_in: tuple[str, Version] | None, met_as: int) -> LineOrigin:
        """Return `origin` with the commit that wrote its line, if git names one; as `pending` if git has not answered.
        Git is first asked about `met_in`, the newest version that was only found (there the line has the number
        `met_as`); about the version of the origin only if that gives no commit, or one too young.
        """
        if origin.number < 0 or not is_met(origin.version, self._git.hint(origin.version)):
            return origin
        places = [(origin.path, origin.version, origin.number)]
        if met_in is not None and met_as >= 0:
            places.insert(0, (*met_in, met_as))
        young: CommitLine | None = None
        for path, version, number in places:
            lines = self._lines_of(path, version)
            if lines is None:
                return replace(origin, pending=True)
            found = lines[number]
            if found is not None and _may_have_written(found, origin.version):
                return replace(origin, commit=found)
            young = found or young
        return origin if young is None else replace(origin, commit=young)

    def _lines_of(self, path: str, version: Version) -> Sequence[CommitLine | None] | None:
        key = path, version.seq
        if key not in self._lines:
            self._lines[key] = self._asked(path, version)
        return self._lines[key]

    def _asked(self, path: str, version: Version) -> Sequence[CommitLine | None] | None:
        """Return for each line of a version its commit in HEAD's file, else in that of a commit merged into HEAD, else
        None. None for the whole if git has not answered.
        """
        commit, near = self._git.head(version)
        questions = [CommitFile(path, commit) if commit else CommitFile(path, "", near, version.at_ns)]
        questions += [CommitFile(path, merged) for merged in self._git.merged(version)]
        answers = [(question, self._answers(question)) for question in questions]
        unanswered = [question for question, answer in answers if answer is None]
        self.unanswered += unanswered
        if unanswered:
            return None
        told = [_of_lines(self._history, version, answer) for _, answer in answers if answer is not None]
        return [next(filter(None, line), None) for line in zip(*told, strict=True)]


def _may_have_written(commit: CommitLine, version: Version) -> bool:
    """True if the commit is older than `version`, which has its line, or has no time. A younger commit (a revert) only
    restored the line.
    """
    try:
        return not commit.at or datetime.fromisoformat(commit.at).timestamp() < version.at_ns // 1_000_000_000
    except ValueError:
        return True


def _of_lines(history: History, version: Version, answer: CommitFileLines) -> Sequence[CommitLine | None]:
    lines, theirs = history.text_of(version.blob).lines, answer.body.splitlines()
    commits = [answer.commits[number] for number in answer.numbers]
    if len(commits) != len(theirs):
        return [None] * len(lines)
    head, tail = common_lines(lines, theirs)
    stop, their_stop = len(lines) - tail, len(theirs) - tail
    found: list[CommitLine | None] = [None] * len(lines)
    i = k = 0
    ours, others = lines[head:stop], theirs[head:their_stop]
    for start, end, from_, upto in (*blocks(ours, others), (stop - head, 0, their_stop - head, 0)):
        found[head + i : head + start] = commits[head + k : head + from_]
        i, k = end, upto
    found[:head] = commits[:head]
    found[stop:] = commits[their_stop:]
    return found
