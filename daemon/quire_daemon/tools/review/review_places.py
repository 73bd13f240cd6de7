"""The places of a file that nobody has accepted yet. Pure.

The places are those of the difference between two states. A line is accepted if a mark (`WorkAccepted`) has a line with
the same author's version and the same bytes; so a mark follows its line through edits, undos, renames and rebases, as
blame does. A removal is accepted if a mark has the same lines as removed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from quire_daemon.tools.history import (
    IsStart,
    is_mover,
    known_text,
    same,
    starts_at,
    steps_since,
    without_own,
    writing_since,
)
from quire_journal.history import History, LineOrigin, blame
from quire_journal.model import (
    JournalDamaged,
    Record,
    RejectionEnded,
    WorkAccepted,
    WorkRejected,
    merge_ranges,
    pause,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, changes, diff
from quire_journal.views import Version, standing
from quire_journal.views.indexes import of_kind

MOST_MARKS: Final = 200
"""Maximum number of marks of one file that are followed, the newest first."""

MOST_CALLERS: Final = 8
"""Maximum number of callers whose removals in a file are told apart, the newest first."""

REMOVAL_BYTES: Final = 8


class PendingHunk(NamedTuple):
    """A place of a file; lines are of the version, from 0."""

    start: int
    stop: int  # equal to `start`: lines were only removed in front of it
    removed: tuple[bytes, ...]  # the lines of the earlier state in its place
    pending: tuple[int, ...]  # lines that are not accepted; of a removal empty
    writers: tuple[int, ...]  # writers of the pending lines, or of the removal
    whole: bool = False  # a file without lines
    removers: tuple[int, ...] = ()  # of a removal: the versions that made it


class FileChange(NamedTuple):
    """A file in two states."""

    path: str  # in the later state; of a removed file the last one
    old_path: str  # in the earlier state
    old: Version | None
    made: Version  # the later state; of a removed file the version that removed it

    @property
    def differs(self) -> bool:
        """True if there is a difference to show."""
        now = None if self.made.gone else self.made
        return not same(self.old, now) or (now is not None and self.path != self.old_path)


Authors = Callable[[int], object]
"""Truthy for a writer whose work is meant."""


def has_work(change: FileChange, history: History, meant: Authors) -> bool:
    """True if somebody who is meant made one of the versions between the two states."""
    if not change.differs:
        return False
    found = writing_since(change.path, change.made, _starts(change), history)
    return found is None or any(meant(version.writer) for version in found)


def _starts(change: FileChange) -> IsStart:
    return starts_at(change.old_path, change.old)


def _removals(change: FileChange, history: History, meant: Authors) -> Iterator[tuple[int, Counter[bytes]]]:
    """(a writer who is meant, the lines that its caller removed), the newest first; nothing for an unknown past."""
    path, made = change.path, change.made
    callers: dict[bytes, int] = {}
    for version in reversed(writing_since(path, made, _starts(change), history) or ()):
        if meant(version.writer):
            callers.setdefault(history.caller_of(version.writer), version.writer)
    for key, writer in [*callers.items()][:MOST_CALLERS]:

        def is_theirs(record: Record, key: bytes = key) -> bool:
            return history.caller_of(history.author(record)) == key

        side = without_own(path, made, _starts(change), is_theirs, history)
        if side is not None:
            yield writer, Counter(line.content for line in side.lines if line.before and not line.after)


class LineOrigins:
    """The origins of lines of versions, each worked out once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._known: dict[tuple[str, int], Sequence[LineOrigin]] = {}

    def of(self, path: str, version: Version) -> Sequence[LineOrigin]:
        """The origin of each line; empty for a removed file, and if the past of the file is not held."""
        if version.gone:
            return ()
        key = path, version.seq
        if key not in self._known:
            self._known[key] = _origins(path, version, self.history)
        return self._known[key]


def pending_hunks(
    change: FileChange, marks: Sequence[WorkAccepted], texts: Mapping[bytes, Text], known: LineOrigins, meant: Authors
) -> list[PendingHunk]:
    """The places that are pending, of the writers that are meant. `texts`: texts by address that the journal lacks."""
    path, old, made = change.path, change.old, change.made
    history = known.history
    if not change.differs:
        return []
    a, b = known_text(old, history, texts), known_text(None if made.gone else made, history, texts)
    if a is None or b is None or a.binary or b.binary or (a.data == b.data and standing(made) is not None):
        accepted = any(mark.whole and _is_same(mark.version, made, path, history) for mark in marks)
        return [] if accepted or not meant(made.writer) else [PendingHunk(0, 0, (), (), (made.writer,), whole=True)]
    origins = known.of(path, made)
    lines, removals = _accepted(marks, known)
    removers = _Removers(change, a, known)
    brought: list[tuple[int, Counter[bytes]]] | None = None
    found: list[PendingHunk] = []
    moved = 0
    for splice in diff(a, b):
        at, gone = splice.start + moved, tuple(a.lines[splice.start : splice.stop])
        moved += splice.shift
        if not splice.lines:
            if removals[removal_mark(gone)]:
                removals[removal_mark(gone)] -= 1
                continue
            versions = removers.of(splice.start, splice.stop)
            theirs_alone = [version for version in versions if meant(version.writer)]
            by = tuple(dict.fromkeys(version.writer for version in theirs_alone))
            if not by or any(is_mover(version, history) for version in theirs_alone):
                brought = [*_removals(change, history, meant)] if brought is None else brought
                by = tuple([writer for writer, theirs in brought if Counter(gone) <= theirs][:1]) or by
            if by:
                found.append(
                    PendingHunk(
                        at, at, gone, (), by, removers=tuple(version.seq for version in theirs_alone or versions)
                    )
                )
            continue
        stop = at + len(splice.lines)
        left = [number for number in range(at, stop) if not _take(lines, _key(origins, number, b))]
        theirs = tuple(number for number in left if meant(_writer(origins, number, made)))
        if theirs:
            authors = tuple(dict.fromkeys(_writer(origins, number, made) for number in theirs))
            found.append(PendingHunk(at, stop, gone, theirs, authors))
    return found


class _Removers:
    """The versions that removed lines of the earlier state."""

    def __init__(self, change: FileChange, then: Text, known: LineOrigins) -> None:
        self._change, self._then, self._known = change, then, known
        self._found: dict[int, Version] | None = None

    def of(self, start: int, stop: int) -> list[Version]:
        """Those of lines start..stop, without double; the newest version of the file where that is not known."""
        if self._found is None:
            self._found = self._walked()
        made = self._change.made
        found = {(one := self._found.get(number, made)).seq: one for number in range(start, stop)}
        return [*found.values()]

    def _walked(self) -> dict[int, Version]:
        change, history = self._change, self._known.history
        steps = steps_since(change.path, change.made, _starts(change), history)
        text: Text | None = self._then
        lines: list[int | None] = [*range(len(self._then))]  # of a version: numbers in the earlier state
        found: dict[int, Version] = {}
        for _, version in steps[1] if steps is not None and steps[0] is not None else ():
            pause()
            now = Text.of(b"") if version.gone else known_text(version, history, {})
            if text is None or now is None or now.binary:
                return found
            for splice in reversed(changes(text, now)):
                found |= {number: version for number in lines[splice.start : splice.stop] if number is not None}
                lines[splice.start : splice.stop] = [None] * len(splice.lines)
            text = now
        return found


def work_of(
    change: FileChange, hunks: Sequence[PendingHunk], marks: Sequence[WorkAccepted], known: LineOrigins
) -> set[int]:
    """The batches by which the writers of these places made them, since the last acceptance before."""
    path, made = change.path, change.made
    history = known.history
    origins = known.of(path, made)
    wrote = {origins[number].version.seq for hunk in hunks for number in hunk.pending if number < len(origins)}
    wrote |= {seq for hunk in hunks for seq in hunk.removers}
    floor = max((mark.version for mark in marks if wrote and mark.version < min(wrote)), default=0)
    callers = {history.caller_of(writer) for hunk in hunks for writer in hunk.writers}
    steps = steps_since(path, made, _starts(change), history)
    own = (version for _, version in steps[1] if history.caller_of(version.writer) in callers) if steps else ()
    wrote |= {version.seq for version in own if version.seq > floor}
    records = (history.record(seq) for seq in wrote)
    return {record.batch for record in records if record is not None}


def rejection_of(change: FileChange, hunks: Sequence[PendingHunk], batches: Iterable[int]) -> WorkRejected:
    """The mark that rejects these places."""
    made = change.made
    lines = 0 if made.gone else sum(1 for hunk in hunks for _ in hunk.pending)
    new = standing(change.old) is None and len(hunks) == 1 and hunks[0].start == 0 and lines == hunks[0].stop > 0
    whole = made.gone or new or any(hunk.whole for hunk in hunks)
    places = [] if whole else [place for hunk in hunks for place in _places(hunk)]
    return WorkRejected(change.path, made.seq, tuple(places), tuple(sorted(batches)))


def _places(hunk: PendingHunk) -> Sequence[tuple[int, int]]:
    if len(hunk.pending) in (0, hunk.stop - hunk.start):
        return [(hunk.start, hunk.stop)]
    return merge_ranges([(number, number + 1) for number in hunk.pending])


def mark_of(change: FileChange, hunks: Sequence[PendingHunk]) -> WorkAccepted:
    """The mark that accepts these places."""
    lines = merge_ranges([(number, number + 1) for hunk in hunks for number in hunk.pending])
    removals = tuple(removal_mark(hunk.removed) for hunk in hunks if not hunk.pending and not hunk.whole)
    return WorkAccepted(change.path, change.made.seq, lines, removals, any(hunk.whole for hunk in hunks))


def removal_mark(lines: Sequence[bytes]) -> bytes:
    """The name of lines that were removed in one place."""
    return hashlib.sha256(b"\n".join(lines)).digest()[:REMOVAL_BYTES]


def open_rejections(history: History) -> dict[int, WorkRejected]:
    """The rejections that are not carried out yet, by seq, oldest first."""
    found = dict[int, WorkRejected]()
    wanted = [[of_kind(WorkRejected.kind), of_kind(RejectionEnded.kind)]]
    for _, seqs in history.with_terms(wanted, 0, history.head()):
        for seq in seqs:
            event = history.event(seq)
            if isinstance(event, WorkRejected):
                found[seq] = event
            elif isinstance(event, RejectionEnded):
                for ended in event.rejections:
                    found.pop(ended, None)
    return found


MarksByPath = Mapping[str, Sequence[WorkAccepted]]
"""The marks of each path, newest first."""


def all_marks(history: History) -> MarksByPath:
    """The marks of all files, by the path that they name."""
    found: dict[str, list[WorkAccepted]] = {}
    for _, seqs in history.with_terms([[of_kind(WorkAccepted.kind)]], 0, history.head(), reverse=True):
        for seq in seqs:
            event = history.event(seq)
            if isinstance(event, WorkAccepted) and len(found.setdefault(event.path, [])) < MOST_MARKS:
                found[event.path].append(event)
    return found


def marks_of(path: str, marks: MarksByPath, history: History) -> list[WorkAccepted]:
    """The marks of a file, also under the names that it had."""
    names = (path, *_earlier_names(path, history)) if marks else ()
    return [mark for name in dict.fromkeys(names) for mark in marks.get(name, ())]


def _earlier_names(path: str, history: History) -> Iterator[str]:
    version = history.file(path)
    for _ in range(MOST_MARKS):
        if version is None or not version.moved_from:
            return
        yield version.moved_from
        version = history.version_at(version.moved_from, version.seq - 1)


def _origins(path: str, version: Version, history: History) -> Sequence[LineOrigin]:
    try:
        return blame(history, path, version).origins
    except (NotHeld, JournalDamaged):
        return ()


_Key = tuple[int, bytes]
"""(the version that wrote a line, its bytes)."""


def _accepted(marks: Sequence[WorkAccepted], known: LineOrigins) -> tuple[Counter[_Key], Counter[bytes]]:
    history = known.history
    lines, removals = Counter[_Key](), Counter[bytes]()
    for mark in marks:
        removals.update(mark.removals)
        version = standing(history.version(mark.path, mark.version)) if mark.lines else None
        text = None if version is None else history.text_held(version.blob)
        if version is None or text is None:
            continue
        origins = known.of(mark.path, version)
        here = Counter(
            _key(origins, number, text) for start, stop in mark.lines for number in range(start, min(stop, len(text)))
        )
        lines |= here  # two marks of the same line are one
    return lines, removals


def _key(origins: Sequence[LineOrigin], number: int, text: Text) -> _Key:
    seq = origins[number].version.seq if number < len(origins) else 0
    return seq, text.lines[number]


def _writer(origins: Sequence[LineOrigin], number: int, made: Version) -> int:
    return origins[number].version.writer if number < len(origins) else made.writer


def _take(lines: Counter[_Key], key: _Key) -> bool:
    if not lines[key]:
        return False
    lines[key] -= 1
    return True


def _is_same(seq: int, made: Version, path: str, history: History) -> bool:
    accepted = history.version(path, seq)
    return accepted is not None and (accepted.blob, accepted.mode, accepted.gone) == (made.blob, made.mode, made.gone)
