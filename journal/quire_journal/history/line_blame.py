"""Blame: who wrote each line of a file, and what brought it where it is.

The versions of the file are gone through from the oldest to the one that is asked about (`line_replay`). What counts:

* A line is its bytes and its break: who turns LF into CRLF wrote the line. Whether the last line has a break, and
  a byte order mark, are properties of the file: who appends behind an unfinished line did not write that one.
* A rename goes on under the earlier name. The bytes that a move changed are that move's.
* A line keeps its author when it comes back: who only moves content is none (`authorship`). So the versions go on
  through a time at which no file was at the path; and bytes that stood at another path have the authors that they had
  there.
* Lines that the journal met, and never saw being written, are those of a commit, where git tells so (`CommitFile`).
* Beyond a version whose bytes are not in the journal nothing is known: what was there already is attributed to the
  first version after it, and a `Gap` says so. Bytes that were never the head are not looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from quire_journal.history.authorship import (
    BY_COMMAND,
    UNDOING,
    CommitFile,
    CommitFileLines,
    CommitLine,
    LineOrigin,
    is_author,
    is_by_git,
    is_met,
)
from quire_journal.history.gaps import RECORD_LOST, gaps_before, lost_version
from quire_journal.history.git_moves import GitMoves
from quire_journal.history.history import History
from quire_journal.history.line_replay import Clues, LineReplay
from quire_journal.history.missing_bytes import missing
from quire_journal.model import CAPTURED, REGULAR, JournalDamaged
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, blocks, common_lines
from quire_journal.views import OUTSIDE_TYPE, Version

MOST_BYTES: Final = 512 << 20
"""Bytes of versions that one blame goes through (a second or two); what is older counts as not held."""

MOST_ELSEWHERE: Final = 16
"""Versions of which one blame asks who wrote the same bytes at another path; each is a blame of its own."""

CommitAnswers = Callable[[CommitFile], CommitFileLines | None]
"""What git has answered; None: nothing yet."""


class Gap(msgspec.Struct, frozen=True):
    """Where the past of a file ends before it began.

    `why`: why the bytes of version `seq` are not there ("too_large", "secret", "unreadable", "not_held"),
    "record_lost": record `seq` is lost, which may have made a version, or "too_long": there are too many versions to go
    through all of them.
    """

    seq: int
    why: str
    after: int  # the version that whatever was there before is attributed to


class Blame(msgspec.Struct, frozen=True):
    """Who wrote a version of a file."""

    version: Version
    text: Text
    origins: Sequence[LineOrigin]  # of each line of `text`
    names: tuple[str, ...]  # that the file had in the versions looked at, oldest first
    gap: Gap | None = None
    unanswered: tuple[CommitFile, ...] = ()  # what git is to be asked; lines that depend on it are `pending`


def blame(
    history: History, path: str, version: Version, most_bytes: int = MOST_BYTES, answers: CommitAnswers | None = None
) -> Blame:
    """Who wrote each line of `version` of `path`, which was a file then.

    `answers`: what git told of commits; None: nobody is to ask it. Raises `blobs.NotHeld` when the bytes of the version
    are not in the journal, `log.JournalDamaged`.
    """
    if version.uncaptured:
        raise NotHeld(version.blob)
    text = history.text_of(version.blob)
    asked = _Replays(history, most_bytes)
    past = asked.past(path, version.seq)
    origins, last = asked.origins(past)
    if last != text.data:  # the one version of which the address was looked at
        raise JournalDamaged(f"the versions of {path} do not lead to version {version.seq}; run `quire verify`")
    found = Blame(version, text, origins, past.names, past.gap)
    return found if answers is None else _with_commits(found, history, asked.git, answers)


# ── the past ─────────────────────────────────────────────────────────────────


class _Past(msgspec.Struct, frozen=True):
    """The versions of a file up to one of them."""

    steps: Sequence[tuple[str, Version]]  # with the names that the file had, oldest first; also where none was there
    names: tuple[str, ...]
    gap: Gap | None


class _Replays:
    """Replays of the versions of one file, and of the others that parts of it come from."""

    def __init__(self, history: History, most_bytes: int) -> None:
        self._history, self._left_bytes = history, most_bytes
        self._elsewhere: dict[int, Sequence[LineOrigin]] = {}
        self.git = GitMoves(history)

    def past(self, path: str, seq: int) -> _Past:
        """The versions of `path` up to `seq`. What is too much to be gone through ends them, with a gap."""
        history = self._history
        steps: list[tuple[str, Version]] = []
        names: dict[str, None] = {}
        gap, there = None, True
        for name, version in chain(backwards(history, path, seq), (("", None),)):
            after = steps[-1][1] if steps else None
            lost = gaps_before(history, after, version) if after is not None and history.lost() else ()
            if lost and after is not None:
                gap = Gap(lost_version(lost, after.base).seq or lost[-1].last, RECORD_LOST, after.seq)
                break
            if version is None:
                break
            if is_file(version):
                self._left_bytes -= version.size
                why = self._missing(version) or ("too_long" if after is not None and self._left_bytes < 0 else "")
                if why and after is not None:
                    gap = Gap(version.seq, why, after.seq)
                    break
                if there:
                    names[name] = None
            else:
                there = False
            steps.append((name, version))
        if not there and gap is not None:
            gap = None  # it is about a file that was there before
        return _Past(steps[::-1], tuple(names)[::-1], gap)

    def origins(self, past: _Past) -> tuple[list[LineOrigin], bytes]:
        """(the origin of each line of the last version, its bytes)."""
        steps = [step for n, step in enumerate(past.steps) if not n or _blob(step[1]) != _blob(past.steps[n - 1][1])]
        versions = [version for _, version in steps]
        copied = self._copied(versions)
        clues = [self._clues(version, versions, copied.get(version.seq)) for version in versions]
        movers = {version.blob for version, known in zip(versions, clues, strict=True) if not known.author}
        replay = LineReplay(movers, {seq for known in clues for seq in known.made_from})
        bytes_of = self._history.bytes_in_turn(version.blob for version in versions if is_file(version))
        data = b""
        for (name, version), known in zip(steps, clues, strict=True):
            data = next(bytes_of) if is_file(version) else b""
            replay.take(name, version, data, known)
        return replay.origins, data

    def _clues(self, version: Version, versions: Sequence[Version], copied: tuple[str, Version] | None) -> Clues:
        """What is known of a version of the file, which has these; `copied`: another with the same bytes elsewhere."""
        elsewhere = None if copied is None else partial(self._origins_elsewhere, *copied)
        if version.type == UNDOING:
            undoing = self._history.undoing(version.batch)
            at = 0 if undoing is None or not undoing.at else bisect_right(versions, undoing.at, key=_seq)
            made_from = (versions[at - 1].seq,) if at else ()
            undone = () if undoing is None else frozenset(undoing.undone)
            return Clues(puts_back=True, made_from=made_from, not_from=undone, elsewhere=elsewhere)
        hint = self.git.hint(version)
        if is_author(version, hint):
            return Clues(author=copied is None or version.evidence not in BY_COMMAND, elsewhere=elsewhere)
        if is_by_git(hint):
            return Clues(puts_back=True, made_from=self.git.made_from(version, versions), elsewhere=elsewhere)
        return Clues(elsewhere=elsewhere)

    def _copied(self, versions: Sequence[Version]) -> dict[int, tuple[str, Version]]:
        """Of the versions, by seq, which may have come from another path: the newest one there with the same bytes."""
        own = {version.seq for version in versions}
        sought: dict[bytes, list[Version]] = {}
        there = False
        for version in versions:
            if is_file(version) and version.blob and self._may_be_copied(version, there):
                sought.setdefault(version.blob, []).append(version)
            there = is_file(version)
        found: dict[int, tuple[str, Version]] = {}
        for path, other in self._history.with_bytes(sought, versions[-1].seq) if sought else ():
            for version in sought[other.blob]:
                if other.seq < version.seq and other.seq not in own:
                    found.setdefault(version.seq, (path, other))
        return found

    def _may_be_copied(self, version: Version, there: bool) -> bool:
        """May it be a copy, or a file that was moved? `there`: in front of it a file was at the path."""
        if version.type == OUTSIDE_TYPE and not version.unproved:
            return version.evidence in BY_COMMAND and not there
        return version.evidence != CAPTURED and not is_author(version)

    def _origins_elsewhere(self, path: str, version: Version) -> Sequence[LineOrigin] | None:
        """The origins of the lines of a version at another path; None where that is too much to ask."""
        known = self._elsewhere.get(version.seq)
        if known is None and len(self._elsewhere) < MOST_ELSEWHERE and not self._missing(version):
            self._elsewhere[version.seq] = ()  # it counts from now on: the other may have come from a third
            known = self._elsewhere[version.seq] = self.origins(self.past(path, version.seq))[0]
        return known

    def _missing(self, version: Version) -> str:
        """Why the bytes of a version cannot be had; "" when they can."""
        held = not version.uncaptured and self._history.holds(version.blob)
        return "" if held else missing(self._history, version).why


def is_file(version: Version) -> bool:
    """Was there a file, with lines?"""
    return not version.gone and version.entry == REGULAR


def backwards(history: History, path: str, seq: int) -> Iterator[tuple[str, Version]]:
    """The versions of a file up to `seq` under each of its names, newest first."""
    while path:
        came_from = ""
        for version in history.versions(path, upto=seq, reverse=True):
            yield path, version
            if version.moved_from:
                came_from, seq = version.moved_from, version.seq - 1
                break
        path = came_from


def _blob(version: Version) -> bytes:
    return version.blob if is_file(version) else b""


def _seq(version: Version) -> int:
    return version.seq


# ── commits ──────────────────────────────────────────────────────────────────


def _with_commits(found: Blame, history: History, git: GitMoves, answers: CommitAnswers) -> Blame:
    """The same with the commits of lines that the journal only met."""
    met: dict[tuple[str, int], Version] = {}
    for origin in found.origins:
        if origin.number >= 0 and is_met(origin.version, git.hint(origin.version)):
            met[origin.path, origin.version.seq] = origin.version
    commits: dict[tuple[str, int], Sequence[CommitLine | None]] = {}
    unanswered: dict[tuple[str, int], CommitFile] = {}
    for (path, seq), version in met.items():
        commit, near = git.head(version)
        question = CommitFile(path, commit) if commit else CommitFile(path, "", near, version.at_ns)
        answer = answers(question)
        if answer is None:
            unanswered[path, seq] = question
        else:
            commits[path, seq] = _of_lines(history, version, answer)
    known: dict[tuple[str, int, int, CommitLine | None], LineOrigin] = {}

    def told(origin: LineOrigin) -> LineOrigin:
        place = origin.path, origin.version.seq
        if place in unanswered:
            return replace(origin, pending=True)
        commit = commits[place][origin.number] if origin.number >= 0 and place in commits else None
        if commit is None:
            return origin
        key = *place, 0 if origin.brought is None else origin.brought.seq, commit
        return known.get(key) or known.setdefault(key, replace(origin, commit=commit))

    return replace(found, origins=[told(origin) for origin in found.origins], unanswered=tuple(unanswered.values()))


def _of_lines(history: History, version: Version, answer: CommitFileLines) -> Sequence[CommitLine | None]:
    """The commit of each line of a version; None for lines that the commit's file does not have."""
    lines, theirs = history.text_of(version.blob).lines, answer.body.splitlines()
    commits = [answer.commits[number] for number in answer.numbers]
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
