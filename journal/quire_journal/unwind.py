"""Unwinding: what a file would be now if some of its versions had never been made.

A `Life` is one file through time: it follows moves, and goes on through a deletion and what is made there later.
Its steps are undone or kept. From the first undone step on two states run side by side: the file as it was, and
as it would have been (`rest`). An undone step changes only the first; a kept one changes both, the second by
three-way merge. Neighbouring kept steps count as one, so that what others did and took back is not in the way.

Where a kept step built on what should be undone, its text stays: `rest` follows the file there, and a `Conflict`
names the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from quire_journal.blobs import NotHeld
from quire_journal.carry import Blocked, carry, changes, three_way
from quire_journal.events import REGULAR
from quire_journal.history import History
from quire_journal.splice import Splice, carry_ranges
from quire_journal.text import Text, merge_ranges
from quire_journal.views.files import Version


@dataclass(frozen=True, slots=True)
class State:
    """A file at one moment of its life."""

    path: str
    version: Version | None  # None: the journal knew nothing there

    @property
    def present(self) -> bool:
        """Was there a file?"""
        return self.version is not None and not self.version.gone

    @property
    def blob(self) -> bytes:
        """Its bytes' address; b"" where there were none, or none known."""
        return self.version.blob if self.version is not None and self.present else b""


@dataclass(frozen=True, slots=True)
class Step:
    """One record in the life of a file."""

    before: State
    after: State
    seq: int
    undone: bool


@dataclass(frozen=True, slots=True)
class Life:
    """A file from the state before its first undone record until now."""

    steps: tuple[Step, ...]

    @property
    def now(self) -> State:
        """The file as the journal has it now."""
        return self.steps[-1].after

    @property
    def paths(self) -> tuple[str, ...]:
        """Every name it had, oldest first."""
        return tuple(dict.fromkeys([self.steps[0].before.path, *(s.after.path for s in self.steps)]))


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that stays as it is now, because record `seq` built on what should be undone.

    `why`: "lines", "bytes" (not a text, or a whole file), "deleted", "occupied", "moved", "mode". `lines` are those
    of the file as it is now (0-based, half-open), where the conflict is about lines that still exist.
    """

    seq: int
    why: str
    lines: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Unwound:
    """What a life comes to without its undone steps.

    `made` is a text that no version holds yet; otherwise the bytes are those of `blob`. `present` False: there
    would be no file. `missing` says why the answer is not known: "uncaptured", "not_a_file".
    """

    now: State
    present: bool
    path: str
    mode: int
    blob: bytes
    made: Text | None = None
    kept: tuple[int, ...] = ()  # seqs of others' later versions, whose changes stay
    conflicts: tuple[Conflict, ...] = ()
    missing: str = ""


def lives(history: History, starts: Iterable[tuple[str, int]], undone: Callable[[Version], bool]) -> list[Life]:
    """The lives that hold the records `starts` (path, seq), each once."""
    found: list[Life] = []
    covered: set[tuple[str, int]] = set()
    for path, seq in sorted(starts, key=lambda start: start[1]):
        if (path, seq) in covered:
            continue
        steps = tuple(_steps(history, path, seq, undone))
        for step in steps:
            covered.update({(step.before.path, step.seq), (step.after.path, step.seq)})
        if steps:
            found.append(Life(steps))
    return found


def _steps(history: History, path: str, seq: int, undone: Callable[[Version], bool]) -> Iterator[Step]:
    """The steps of the file that record `seq` left at `path`, from that record on."""
    first = history.version(path, seq)
    if first is None:
        return
    came_from = first.moved_from or path
    before = State(came_from, history.version_at(came_from, seq - 1))
    after_seq = seq - 1
    on_the_way = True
    while on_the_way:
        on_the_way = False
        for version in history.versions(path, after=after_seq):
            target = history.version(version.moved_to, version.seq) if version.gone and version.moved_to else None
            after = State(path, version) if target is None else State(version.moved_to, target)
            yield Step(before, after, version.seq, undone(version))
            before, after_seq = after, version.seq
            if target is not None:
                path, on_the_way = after.path, True
                break


def unwind(history: History, life: Life) -> Unwound:
    """What `life` comes to without its undone steps."""
    rest = _Rest.of(life.steps[0].before)
    conflicts: list[Conflict] = []
    kept: list[int] = []
    try:
        for undone, run in groupby(life.steps, key=lambda step: step.undone):
            if not undone:
                steps = list(run)
                kept += [s.seq for s in steps]
                merging = _Merging(history, rest, steps, life.now)
                rest = merging.rest
                conflicts += merging.conflicts
    except _NotARegularFile:
        return _unknown(life, kept, "not_a_file")
    except NotHeld:
        return _unknown(life, kept, "uncaptured")
    if rest.present and rest.made is None and not _held(rest):
        return _unknown(life, kept, rest.lacking or "uncaptured")
    return Unwound(life.now, rest.present, rest.path, rest.mode, rest.blob, rest.made, tuple(kept), tuple(conflicts))


def _unknown(life: Life, kept: Sequence[int], why: str) -> Unwound:
    """Nothing can be said, so nothing is to be done."""
    now = life.now
    mode = now.version.mode if now.version is not None else 0
    return Unwound(now, now.present, now.path, mode, now.blob, kept=tuple(kept), missing=why)


class _NotARegularFile(Exception):
    """A link or a folder has no bytes that could be merged."""


@dataclass(frozen=True)
class _Rest:
    """The file as it would have been."""

    present: bool
    path: str
    mode: int = 0
    blob: bytes = b""
    made: Text | None = None
    lacking: str = ""  # why the bytes are not in the journal

    @classmethod
    def of(cls, state: State) -> _Rest:
        v = state.version
        if v is None or not state.present:
            return cls(False, state.path)
        lacking = v.uncaptured if v.entry == REGULAR else "not_a_file"
        return cls(True, state.path, v.mode, v.blob, lacking="uncaptured" if v.uncaptured else lacking)

    def text(self, history: History) -> Text:
        """Its text. Raises `NotHeld`."""
        return self.made if self.made is not None else history.text_of(self.blob)


def _held(rest: _Rest) -> bool:
    return not rest.lacking and bool(rest.blob)


def _same_bytes(a: bytes, b: bytes) -> bool:
    """Equal and known; an address that is not known equals nothing."""
    return a == b and bool(a)


@dataclass
class _Merging:
    """One run of kept steps, from `a` to `b`, applied to the file as it would have been."""

    history: History
    before: _Rest
    steps: Sequence[Step]
    now: State
    conflicts: list[Conflict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.a = self.steps[0].before
        self.b = self.steps[-1].after
        self.rest = self._merged()

    def _merged(self) -> _Rest:
        a, b, rest = self.a, self.b, self.before
        if not b.present:
            return self._after_deletion()
        if not a.present:
            return self._after_creation()
        if not rest.present:
            # The file was made by undone steps: it goes only if nobody changed its bytes.
            if _same_bytes(a.blob, b.blob):
                return rest
            self._block("bytes", lambda s: s.after.blob != s.before.blob)
            return _Rest.of(b)
        merged = self._content()
        return _Rest(True, self._path(), self._mode(), merged.blob, merged.made, merged.lacking)

    def _after_deletion(self) -> _Rest:
        a, rest = self.a, self.before
        if a.present and rest.present:
            if not _same_bytes(a.blob, rest.blob):
                self._block("deleted", lambda s: not s.after.present)
            return _Rest(False, self.b.path)
        return rest

    def _after_creation(self) -> _Rest:
        """Someone made a file where there was none."""
        rest = self.before
        if rest.present and not _same_bytes(rest.blob, self.b.blob):
            self._block("occupied", lambda s: s.after.present)
        return _Rest.of(self.b)

    def _path(self) -> str:
        a, b, path = self.a.path, self.b.path, self.before.path
        if path in (a, b):
            return b
        if a != b:
            self._block("moved", lambda s: s.after.path != s.before.path)
            return b
        return path

    def _mode(self) -> int:
        was, now = _mode(self.a), _mode(self.b)
        mode = self.before.mode
        if mode in (was, now):
            return now
        if was != now:
            self._block("mode", lambda s: s.before.present and s.after.present and _mode(s.before) != _mode(s.after))
            return now
        return mode

    def _content(self) -> _Rest:
        a, b, rest = self.a, self.b, self.before
        if _same_bytes(a.blob, b.blob) or _same_bytes(rest.blob, b.blob):
            return rest
        if _same_bytes(rest.blob, a.blob):
            return _Rest.of(b)
        if any(s.version is not None and s.version.entry != REGULAR for s in (a, b)) or rest.lacking == "not_a_file":
            raise _NotARegularFile
        base, mine, theirs = self.history.text_of(a.blob), rest.text(self.history), self.history.text_of(b.blob)
        if base.binary or mine.binary or theirs.binary:
            self._block("bytes", lambda s: s.after.blob != s.before.blob)
            return _Rest.of(b)
        made, carried = three_way(base, mine, theirs)
        for blocked in carried.blocked:
            self.conflicts.append(self._line_conflict(blocked, theirs))
        if made == theirs:
            return _Rest.of(b)
        return _Rest(True, b.path, rest.mode, made.blob, made)

    def _block(self, why: str, did: Callable[[Step], bool]) -> None:
        """Something stays: name the first record of the run that did it."""
        seq = next((s.seq for s in self.steps if did(s)), self.steps[-1].seq)
        self.conflicts.append(Conflict(seq, why))

    def _line_conflict(self, blocked: Blocked, theirs: Text) -> Conflict:
        return Conflict(self._blocker(blocked.splice), "lines", self._lines_now(blocked, theirs))

    def _blocker(self, splice: Splice) -> int:
        """The first record of the run that touched the lines of `splice`."""
        if len(self.steps) == 1:
            return self.steps[0].seq
        here: tuple[Splice, ...] = (splice,)
        for step in self.steps:
            if step.before.blob == step.after.blob:
                continue
            if not step.before.present or not step.after.present:
                return step.seq
            texts = self.history.text_of(step.before.blob), self.history.text_of(step.after.blob)
            carried = carry(here, changes(*texts))
            if not carried.splices:
                return step.seq
            here = carried.splices
        return self.steps[-1].seq

    def _lines_now(self, blocked: Blocked, theirs: Text) -> tuple[tuple[int, int], ...]:
        """What is left of the blocking lines in the file as it is now."""
        lines = [(blocked.start, blocked.stop)]
        if self.now.present and self.now.blob != self.b.blob:
            lines = carry_ranges(changes(theirs, self.history.text_of(self.now.blob)), lines)
        return merge_ranges(lines)


def _mode(state: State) -> int:
    return state.version.mode if state.version is not None else 0
