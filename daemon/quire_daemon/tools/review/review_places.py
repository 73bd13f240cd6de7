"""The places of a file that nobody has accepted yet. Pure.

The places are those of the difference between two states. A line is accepted if a mark (`WorkAccepted`) has a line with
the same author's version and the same bytes; so a mark follows its line through edits, undos, renames and rebases, as
blame does. A removal is accepted if a mark has the same lines as removed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from quire_daemon.tools.history import known_text, same, steps_since
from quire_journal.history import History, LineOrigin, blame
from quire_journal.model import JournalDamaged, WorkAccepted, merge_ranges
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import Text, diff
from quire_journal.views import Version, standing
from quire_journal.views.indexes import of_kind

MOST_MARKS: Final = 200
"""Maximum number of marks of one file that are followed, the newest first."""

REMOVAL_BYTES: Final = 8


class PendingHunk(NamedTuple):
    """A place of a file; lines are of the version, from 0."""

    start: int
    stop: int  # equal to `start`: lines were only removed in front of it
    removed: tuple[bytes, ...]  # the lines of the earlier state in its place
    pending: tuple[int, ...]  # lines that are not accepted; of a removal empty
    writers: tuple[int, ...]  # writers of the pending lines, or of the newest version
    whole: bool = False  # a file without lines


class FileChange(NamedTuple):
    """A file in two states."""

    path: str
    old: Version | None
    made: Version  # the later state; of a removed file the version that removed it


Authors = Callable[[int], object]
"""Truthy for a writer whose work is meant."""


def has_work(change: FileChange, history: History, meant: Authors) -> bool:
    """True if somebody who is meant made one of the versions between the two states."""
    path, old, made = change
    if same(old, None if made.gone else made):
        return False
    then = old.blob if old is not None else b""
    found = steps_since(path, made, lambda version: bool(then) and version.blob == then, history)
    return found is None or any(meant(version.writer) for _, version in found[1])


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
    path, old, made = change
    history = known.history
    if same(old, None if made.gone else made):
        return []
    a, b = known_text(old, history, texts), known_text(None if made.gone else made, history, texts)
    if a is None or b is None or a.binary or b.binary or (a.data == b.data and standing(made) is not None):
        accepted = any(mark.whole and _is_same(mark.version, made, path, history) for mark in marks)
        return [] if accepted or not meant(made.writer) else [PendingHunk(0, 0, (), (), (made.writer,), whole=True)]
    origins = known.of(path, made)
    lines, removals = _accepted(marks, known)
    found: list[PendingHunk] = []
    moved = 0
    for splice in diff(a, b):
        at, gone = splice.start + moved, tuple(a.lines[splice.start : splice.stop])
        moved += splice.shift
        if not splice.lines:
            if removals[removal_mark(gone)]:
                removals[removal_mark(gone)] -= 1
            elif meant(made.writer):
                found.append(PendingHunk(at, at, gone, (), (made.writer,)))
            continue
        stop = at + len(splice.lines)
        left = [number for number in range(at, stop) if not _take(lines, _key(origins, number, b))]
        theirs = tuple(number for number in left if meant(_writer(origins, number, made)))
        if theirs:
            writers = dict.fromkeys(_writer(origins, number, made) for number in theirs)
            found.append(PendingHunk(at, stop, gone, theirs, tuple(writers)))
    return found


def mark_of(change: FileChange, hunks: Sequence[PendingHunk]) -> WorkAccepted:
    """The mark that accepts these places."""
    lines = merge_ranges([(number, number + 1) for hunk in hunks for number in hunk.pending])
    removals = tuple(removal_mark(hunk.removed) for hunk in hunks if not hunk.pending and not hunk.whole)
    return WorkAccepted(change.path, change.made.seq, lines, removals, any(hunk.whole for hunk in hunks))


def removal_mark(lines: Sequence[bytes]) -> bytes:
    """The name of lines that were removed in one place."""
    return hashlib.sha256(b"\n".join(lines)).digest()[:REMOVAL_BYTES]


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
