"""The changed places of a file that nobody has accepted yet (pending). Pure.

The places are those of the difference between two states. A line is accepted if a record `WorkAccepted` (a mark) has a
line with the same author's version and the same bytes; so a mark follows its line through edits, undos, renames and
rebases, as blame does. A removal is accepted if a mark has the same lines as removed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import Final, NamedTuple, TypeVar

from quire_daemon.tools.history import Ownership, known_text, same
from quire_daemon.tools.history.by_writer import (
    IsStart,
    is_mover,
    starts_at,
    steps_since,
    steps_since_alike,
    writing_since,
)
from quire_journal.history import History, LineOrigin, blame
from quire_journal.model import (
    JournalDamaged,
    RejectionEnded,
    WorkAccepted,
    WorkRejected,
    merge_ranges,
    pause,
)
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Splice, Text, blocks, changes, diff
from quire_journal.views import Version, standing
from quire_journal.views.indexes import of_kind

MOST_MARKS: Final = 200
"""Maximum number of marks of one file that are followed, the newest first."""

REMOVAL_BYTES: Final = 8


class PendingHunk(NamedTuple):
    """A pending place of a file; lines are of the later version, from 0."""

    start: int
    stop: int  # equal to `start`: lines were only removed above it
    removed: tuple[bytes, ...]  # lines of the earlier state there that the writers who are meant removed
    pending: tuple[int, ...]  # lines that are not accepted; of a removal empty
    authors: tuple[Version, ...]  # of each pending line, or of each removed one
    whole: bool = False  # the file as a whole: no text, or only its mode or path differs

    @property
    def writers(self) -> tuple[int, ...]:
        """The writers of the place, each once."""
        return tuple(dict.fromkeys(version.writer for version in self.authors))

    def only(self, fits: Callable[[int, Version], bool]) -> PendingHunk | None:
        """Return the place with only those pending lines for which `fits` (line number, author) is True; None if there
        are none.
        """
        kept = [(n, version) for n, version in zip(self.pending, self.authors, strict=True) if fits(n, version)]
        return self._replace(pending=tuple(n for n, _ in kept), authors=tuple(v for _, v in kept)) if kept else None


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


Meant = Callable[[Version], Ownership]
"""Version → the claim to it of the writers whose work is meant."""


def has_work(change: FileChange, history: History, meant: Meant) -> bool:
    """True if a writer whose work is asked for (`meant`) made a version between the two states, or this is unknown."""
    if not change.differs:
        return False
    found = writing_since(change.path, change.made, _starts(change), history)
    return found is None or any(map(meant, found))


def _starts(change: FileChange) -> IsStart:
    return starts_at(change.old_path, change.old)


class LineOrigins:
    """Cache of the origin (authoring version) of each line of versions."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._known: dict[tuple[str, int], Sequence[LineOrigin]] = {}

    def of(self, path: str, version: Version) -> Sequence[LineOrigin]:
        """Return the origin of each line; empty for a removed file, and if the journal lacks the bytes of an older
        version.
        """
        if version.gone:
            return ()
        key = path, version.seq
        if key not in self._known:
            self._known[key] = _origins(path, version, self.history)
        return self._known[key]


def pending_hunks(
    change: FileChange, marks: Sequence[WorkAccepted], texts: Mapping[bytes, Text], known: LineOrigins, meant: Meant
) -> list[PendingHunk]:
    """Return the pending places of the writers that are `meant`. `texts`: texts by sha256 that the journal lacks."""
    path, old, made = change.path, change.old, change.made
    history = known.history
    if not change.differs:
        return []
    a, b = known_text(old, history, texts), known_text(None if made.gone else made, history, texts)
    if a is None or b is None or a.binary or b.binary or (a.data == b.data and standing(made) is not None):
        accepted = any(mark.whole and _is_same(mark.version, made, path, history) for mark in marks)
        return [] if accepted or not meant(made) else [PendingHunk(0, 0, (), (), (made,), whole=True)]
    origins = known.of(path, made)
    lines, removals = _accepted(marks, known)
    removers = _Removers(change, a, history)
    found: list[PendingHunk] = []
    moved = 0
    for splice in diff(a, b):
        at, gone = splice.start + moved, tuple(a.lines[splice.start : splice.stop])
        moved += splice.shift
        if not splice.lines:
            if not _take(removals, removal_mark(gone)):
                versions = removers.of(splice.start, splice.stop)
                found += _removals(at, gone, versions, removals, meant, history)
            continue
        stop = at + len(splice.lines)
        left = [number for number in range(at, stop) if not _take(lines, _key(origins, number, b))]
        theirs = tuple(number for number in left if meant(_author(origins, number, made)))
        if theirs:
            removed = zip(gone, removers.of(splice.start, splice.stop), strict=True)
            own = tuple(line for line, version in removed if meant(version))
            found.append(PendingHunk(at, stop, own, theirs, tuple(_author(origins, n, made) for n in theirs)))
    return found


def _removals(
    at: int,
    gone: Sequence[bytes],
    versions: Sequence[Version],
    accepted: Counter[bytes],
    meant: Meant,
    history: History,
) -> Iterator[PendingHunk]:
    """Yield the lines removed at one place that are pending, as a place for each run of one writer."""
    for _, run in groupby(range(len(gone)), lambda n: (history.caller_of(versions[n].writer), meant(versions[n]))):
        numbers = [*run]
        part = tuple(gone[n] for n in numbers)
        if meant(versions[numbers[0]]) and not (len(part) < len(gone) and _take(accepted, removal_mark(part))):
            yield PendingHunk(at, at, part, (), tuple(versions[n] for n in numbers))


class _Removers:
    """Finds the version that removed a line of the earlier state."""

    def __init__(self, change: FileChange, then: Text, history: History) -> None:
        self._change, self._then, self._history = change, then, history
        self._found: dict[int, Version] | None = None

    def of(self, start: int, stop: int) -> list[Version]:
        """Return the version that removed each of the lines start..stop; the newest version of the file for a line
        whose removal is not known.
        """
        if self._found is None:
            self._found = self._walked()
        return [self._found.get(number, self._change.made) for number in range(start, stop)]

    def _walked(self) -> dict[int, Version]:
        """Return line number in the earlier state → version that removed the line last. A version that only moves lines
        does not count where another version removed the line before.
        """
        change, old = self._change, self._change.old
        steps, before = steps_since_alike(change.path, change.made, _starts(change), self._history) or ([], 0)
        text, every = self._then, range(len(self._then))
        lines: list[int | None] = [*every]  # of a version: numbers in the earlier state
        gone, found = set[int | None](), dict[int, Version]()
        for n, (_, version) in enumerate(steps):
            pause()
            now = Text.of(b"") if version.gone else known_text(version, self._history, {})
            if now is None or now.binary:
                return found
            moves = is_mover(version, self._history)
            if n < before and old is not None and version.blob == old.blob and not version.gone:
                lines, text, gone = [*every], now, set()
                if not moves:
                    found.clear()
                continue
            for splice in reversed(changes(text, now)):
                removed = {number for number in lines[splice.start : splice.stop] if number is not None}
                gone |= removed
                found |= {number: version for number in removed if not (moves and number in found)}
                back = self._returning(splice, lines, gone)
                gone.difference_update(back)
                lines[splice.start : splice.stop] = back
            text = now
        return found

    def _returning(self, splice: Splice, lines: Sequence[int | None], gone: Set[int | None]) -> list[int | None]:
        """Return for each line that a splice adds: its number in the earlier state if the line comes back to its place
        there, else None.
        """
        above = next((n for n in reversed(lines[: splice.start]) if n is not None), -1)
        below = next((n for n in lines[splice.stop :] if n is not None), len(self._then))
        left = [n for n in range(above + 1, below) if n in gone]
        back: list[int | None] = [None] * len(splice.lines)
        differing = blocks([self._then.lines[n] for n in left], splice.lines)
        i = at = 0
        for start, stop, first, upto in (*differing, (len(left), len(left), len(back), len(back))):
            back[at:first] = left[i:start]
            i, at = stop, upto
        return back


def work_of(
    change: FileChange, hunks: Sequence[PendingHunk], marks: Sequence[WorkAccepted], known: LineOrigins
) -> set[int]:
    """Return the batches by which the writers of these places changed the file, since the last acceptance before the
    places.
    """
    path, made = change.path, change.made
    history = known.history
    wrote = {version.seq for hunk in hunks for version in hunk.authors}
    floor = max((mark.version for mark in marks if wrote and mark.version < min(wrote)), default=0)
    callers = {history.caller_of(writer) for hunk in hunks for writer in hunk.writers}
    steps = steps_since(path, made, _starts(change), history)
    own = (version for _, version in steps[1] if history.caller_of(version.writer) in callers) if steps else ()
    wrote |= {version.seq for version in own if version.seq > floor}
    records = (history.record(seq) for seq in wrote)
    return {record.batch for record in records if record is not None}


def rejection_of(change: FileChange, hunks: Sequence[PendingHunk], batches: Iterable[int]) -> WorkRejected:
    """Return the mark that rejects these places."""
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
    """Return the mark that accepts these places."""
    lines = merge_ranges([(number, number + 1) for hunk in hunks for number in hunk.pending])
    removals = tuple(removal_mark(hunk.removed) for hunk in hunks if not hunk.pending and not hunk.whole)
    return WorkAccepted(change.path, change.made.seq, lines, removals, any(hunk.whole for hunk in hunks))


def removal_mark(lines: Sequence[bytes]) -> bytes:
    """Return the digest that names lines removed in one place."""
    return hashlib.sha256(b"\n".join(lines)).digest()[:REMOVAL_BYTES]


def open_rejections(history: History) -> dict[int, WorkRejected]:
    """Return the rejections that are not carried out yet, by seq, oldest first."""
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
    """Return the marks of all files, by the path that they name."""
    found: dict[str, list[WorkAccepted]] = {}
    for _, seqs in history.with_terms([[of_kind(WorkAccepted.kind)]], 0, history.head(), reverse=True):
        for seq in seqs:
            event = history.event(seq)
            if isinstance(event, WorkAccepted) and len(found.setdefault(event.path, [])) < MOST_MARKS:
                found[event.path].append(event)
    return found


def marks_of(path: str, marks: MarksByPath, history: History) -> list[WorkAccepted]:
    """Return the marks of a file, also under the paths that it had."""
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


def _author(origins: Sequence[LineOrigin], number: int, made: Version) -> Version:
    return origins[number].version if number < len(origins) else made


_Mark = TypeVar("_Mark", bound=Hashable)


def _take(lines: Counter[_Mark], key: _Mark) -> bool:
    if not lines[key]:
        return False
    lines[key] -= 1
    return True


def _is_same(seq: int, made: Version, path: str, history: History) -> bool:
    accepted = history.version(path, seq)
    return accepted is not None and (accepted.blob, accepted.mode, accepted.gone) == (made.blob, made.mode, made.gone)
