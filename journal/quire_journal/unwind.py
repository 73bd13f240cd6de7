"""Unwinding: what a file would be now if some of its versions had never been made.

A `Life` is one file through time: it follows moves, and goes on through a deletion and what is made there later, but
not into a file that comes there from another name: that has a life of its own.
Its steps are undone or kept. From the first undone step on two states run side by side: the file as it was, and
as it would have been (`rest`). An undone step changes only the first; a kept one changes both, the second by
three-way merge. Neighbouring kept steps count as one, so that what others did and took back is not in the way.

Where a kept step built on what should be undone, its text stays: `rest` follows the file there, and a `Conflict`
names the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby

import msgspec
from msgspec.structs import replace

from quire_journal.blobs import NotHeld
from quire_journal.carry import Blocked, carry, changes, three_way
from quire_journal.events import REGULAR, BatchUndone
from quire_journal.history import History
from quire_journal.marking import Disputed, disputed, place_after
from quire_journal.splice import Splice, carry_ranges
from quire_journal.text import Text, merge_ranges
from quire_journal.views.batches import ABANDONED
from quire_journal.views.files import OUTSIDE_TYPE, Version


class State(msgspec.Struct, frozen=True, gc=False):
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


class Step(msgspec.Struct, frozen=True, gc=False):
    """One record in the life of a file."""

    before: State
    after: State
    seq: int
    undone: bool

    @property
    def batch(self) -> int:
        """The one that the record belongs to."""
        return self.after.version.batch if self.after.version is not None else 0


class Life(msgspec.Struct, frozen=True, gc=False):
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


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """Something that stays as it is now, because record `seq` built on what should be undone.

    `why`: "lines", "bytes" (not a text, or a whole file), "deleted", "occupied", "moved", "mode"; or
    "creation_not_seen": nobody built on that record, but it is how the file was first seen. `lines` are those of
    the file as it is now (0-based, half-open), where the conflict is about lines that still exist; `place` is where in
    that file markers would stand, and what would be there without the undone records. Of several conflicts at one
    place the first has it.
    """

    seq: int
    why: str
    lines: tuple[tuple[int, int], ...] = ()
    place: Disputed | None = None


class Unwound(msgspec.Struct, frozen=True, gc=False):
    """What a life comes to without its undone steps.

    `made` is a text that no version holds yet; otherwise the bytes are those of `blob`. `present` False: there
    would be no file. `missing` says why the answer is not known: "uncaptured", "not_a_file", "creation_not_seen".
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
    entry: int = REGULAR  # LINK, FOLDER: of what would be there, made anew
    needed: bytes = b""  # blob whose bytes are needed and not held

    @property
    def is_now(self) -> bool:
        """Is the file like that already?"""
        now = self.now
        if not self.present or not now.present:
            return self.present == now.present
        mode = now.version.mode if now.version is not None else 0
        return (self.path, self.mode, self.blob) == (now.path, mode, now.blob)


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
    before = _before(history, path, first)
    later: Iterator[Version] = chain(() if first.displaced else (first,), history.versions(path, after=seq))
    on_the_way = True
    others = False  # has the path been another file's since this one went?
    while on_the_way:
        on_the_way = False
        for version in later:
            if not before.present and version.seq != seq:
                others = not _goes_on(version, before, others)
                if others:
                    continue
            target = history.version(version.moved_to, version.seq) if version.gone and version.moved_to else None
            after = State(path, version) if target is None else State(version.moved_to, target)
            yield Step(before, after, version.seq, undone(version))
            before = after
            if target is not None:
                path, on_the_way = after.path, True
                later = history.versions(path, after=version.seq)
                break
        back = None if on_the_way else _back_elsewhere(history, before)
        if back is not None and back.version is not None:
            yield Step(before, back, back.version.seq, undone(back.version))
            before, path, on_the_way, others = back, back.path, True, False
            later = history.versions(path, after=back.version.seq)


def _before(history: History, path: str, first: Version) -> State:
    """What a record found of the file that it left at `path`."""
    came_from = first.moved_from or path
    there = history.version_at(came_from, first.seq - 1)
    if first.base and (there is None or there.seq != first.base):
        base = history.version(came_from, first.base)
        if base is not None and base.gone:  # it came back; the path may be another file's by now
            return State(came_from, base)
    return State(came_from, there)


def _back_elsewhere(history: History, gone: State) -> State | None:
    """Where a file came back that had gone from where another one is, or was since."""
    if gone.present or gone.version is None:
        return None
    for version in history.versions(gone.path, after=gone.version.seq, displaced=True):
        if version.displaced and version.gone and version.base == gone.version.seq:
            there = history.version(version.moved_to, version.seq)
            return None if there is None else State(version.moved_to, there)
    return None


def _goes_on(version: Version, gone: State, others: bool) -> bool:
    """Is a file that comes to a path the one that went from there? `others`: there was another one since.

    What brings a file back says so by its base; what is made anew goes on with what was there last.
    """
    if gone.version is not None and version.base == gone.version.seq:
        return True
    return not (others or version.moved_from or version.base)


def unwind(history: History, life: Life) -> Unwound:
    """What `life` comes to without its undone steps.

    What others did and took back is not in the way, though undone steps came between: where a conflict names such a
    record, it is unwound together with what took it back, if both together are nothing to the file as it is.

    As it was first seen is as far back as a file goes, when nothing shows that it was made then.
    """
    first = life.steps[0]
    if first.undone and any(s.undone for s in life.steps[1:]) and not _made_then(history, first):
        found = _without_taken_back(history, Life((replace(first, undone=False), *life.steps[1:])))
        if not _is_now(found) and not found.missing:
            return replace(found, conflicts=(Conflict(first.seq, "creation_not_seen"), *found.conflicts))
    return _without_taken_back(history, life)


def _without_taken_back(history: History, life: Life) -> Unwound:
    found = _unwind(history, life)
    if not (found.conflicts or found.kept):
        return found
    first = life.steps[0].seq
    cancelling: dict[int, bool] = {}
    tried: set[int] = set()
    while (batch := _taken_back(history, life, found, tried)) is not None:
        more, alone, again = dict(cancelling), found, found
        another: int | None = batch
        while another is not None:  # what was taken back may stand on something else that was taken back
            tried.add(another)
            together, life = _undone_together(history, life, another)
            more |= together
            alone = _unwind(history, _without(life, more, chosen=False))
            again = _unwind(history, _without(life, more, chosen=True))
            known = tried | more.keys()
            another = _taken_back(history, life, alone, known) or _taken_back(history, life, again, known)
        before, left = _blockers(found), _blockers(again) - _blockers(alone)
        fewer = _void(history, life, left) < _void(history, life, before) and left.total() <= before.total()
        if fewer and _is_now(alone) and not again.missing:
            cancelling, found = more, again
    return replace(found, kept=tuple(seq for seq in found.kept if seq > first))


def _taken_back(history: History, life: Life, found: Unwound, tried: Container[int]) -> int | None:
    """A batch that is not in force, although a conflict names a record of it."""
    blockers = _blockers(found)
    batches = (step.batch for step in life.steps if step.seq in blockers and not step.undone)
    return next((b for b in batches if b not in tried and history.undone_by(b) is not None), None)


def _void(history: History, life: Life, blockers: Counter[int]) -> int:
    """How many of these conflicts are with records that are not in force."""
    return sum(blockers[s.seq] for s in life.steps if s.seq in blockers and history.undone_by(s.batch) is not None)


def _blockers(found: Unwound) -> Counter[int]:
    return Counter(conflict.seq for conflict in found.conflicts)


def _is_now(found: Unwound) -> bool:
    """Does the file stay what it is?"""
    now = found.now
    return (found.present, found.path, found.blob) == (now.present, now.path, now.blob) and not found.missing


def _without(life: Life, group: Mapping[int, bool], chosen: bool) -> Life:
    """`life` in which the steps of a group cancel out; the undone ones are undone only if they are `chosen`, too."""
    return Life(tuple(replace(s, undone=group.get(s.batch, s.undone and chosen)) for s in life.steps))


def _undone_together(history: History, life: Life, batch: int) -> tuple[dict[int, bool], Life]:
    """The batches that `batch` is connected with by undoing and redoing; for each, whether its steps cancel out.

    And `life`, from the first of these steps on. None and the same life when they cannot be told from the file's life
    alone: some are chosen themselves, or one undid others in some files only.
    """
    group: dict[int, bool] = {}
    changed: dict[int, str] = {}
    todo = [batch]
    while todo:
        one = todo.pop()
        if one in group or history.batch_state(one) == ABANDONED:
            continue
        records = history.batch(one)
        changed |= {r.seq: path for r in records for path in life.paths if history.version(path, r.seq)}
        marks = [event for event in (r.event() for r in records) if isinstance(event, BatchUndone)]
        if any(mark.paths or mark.left for mark in marks):
            return {}, life
        undid = [b for mark in marks for b in mark.undone if b < one]
        group[one] = bool(undid) or history.undone_by(one) is not None
        todo += [*undid, *history.undoers(one)]
    longer = _from(history, life, min(changed.items(), default=(life.steps[0].seq, "")))
    undone = {step.seq: step.undone for step in longer.steps}
    return (group, longer) if all(undone.get(seq) is False for seq in changed) else ({}, life)


def _from(history: History, life: Life, start: tuple[int, str]) -> Life:
    """`life` from an earlier record (seq, path) on; the same when that is not of its beginning."""
    undone = {step.seq: step.undone for step in life.steps}
    if start[0] >= life.steps[0].seq:
        return life
    steps = tuple(_steps(history, start[1], start[0], lambda version: undone.get(version.seq, False)))
    return Life(steps) if undone.keys() <= {step.seq for step in steps} else life


def _unwind(history: History, life: Life) -> Unwound:
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
    except NotHeld as lost:
        return _unknown(life, kept, "uncaptured", lost.blob)
    if not rest.present and life.now.present and not _made_then(history, life.steps[0]):
        return _unknown(life, kept, "creation_not_seen")
    if rest.present and rest.made is None and not _held(rest):
        return _unknown(life, kept, rest.lacking or "uncaptured")
    return Unwound(life.now, rest.present, rest.path, rest.mode, rest.blob, rest.made, tuple(kept), tuple(conflicts))


def _made_then(history: History, first: Step) -> bool:
    """Is it known that the file was not there before this step?

    A tool creates only what does not exist, and says so. What came from outside was not there before when the journal
    knew the path to be free, or had looked at the whole tree and then saw the file come. Found later, by a scan or by a
    call, it may be older than the journal.
    """
    if first.before.present or first.before.version is not None:
        return True
    version = first.after.version
    if version is None or version.type != OUTSIDE_TYPE:
        return True
    looked = history.first_scan()
    return version.evidence == "watched" and looked is not None and looked < version.seq


def _unknown(life: Life, kept: Sequence[int], why: str, needed: bytes = b"") -> Unwound:
    """Nothing can be said, so nothing is to be done."""
    now = life.now
    mode = now.version.mode if now.version is not None else 0
    return Unwound(now, now.present, now.path, mode, now.blob, kept=tuple(kept), missing=why, needed=needed)


class _NotARegularFile(Exception):
    """A link or a folder has no bytes that could be merged."""


class _Rest(msgspec.Struct, frozen=True):
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


def _replaced(a: Text, b: Text) -> bool:
    """Is no line of `a` left in `b`?"""
    return any((splice.start, splice.stop) == (0, len(a)) for splice in changes(a, b))


def _held(rest: _Rest) -> bool:
    return not rest.lacking and bool(rest.blob)


def _same_bytes(a: bytes, b: bytes) -> bool:
    """Equal and known; an address that is not known equals nothing."""
    return a == b and bool(a)


class _Merging:
    """One run of kept steps, from `a` to `b`, applied to the file as it would have been."""

    def __init__(self, history: History, before: _Rest, steps: Sequence[Step], now: State) -> None:
        self.history, self.before, self.steps, self.now = history, before, steps, now
        self.conflicts: list[Conflict] = []
        self.until: dict[bytes, Sequence[Splice]] = {}  # by blob: the changes from `a`
        self.a = steps[0].before
        self.b = steps[-1].after
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
        if not all(s.after.present for s in self.steps) and _replaced(base, theirs):
            self._block("occupied", lambda s: s.after.present and not s.before.present)
            return _Rest.of(b)
        made, carried = three_way(base, mine, theirs)
        self.conflicts += self._line_conflicts(base, theirs, carried.blocked)
        if made == theirs:
            return _Rest.of(b)
        return _Rest(True, b.path, rest.mode, made.blob, made)

    def _block(self, why: str, did: Callable[[Step], bool]) -> None:
        """Something stays: name the first record of the run that did it."""
        seq = next((s.seq for s in self.steps if did(s)), self.steps[-1].seq)
        self.conflicts.append(Conflict(seq, why))

    def _line_conflicts(self, base: Text, theirs: Text, blocked: Sequence[Blocked]) -> Iterator[Conflict]:
        if not blocked:
            return
        since = self._since(theirs)
        places = disputed(base, [b.splice for b in blocked], changes(base, theirs))
        for one, place in zip(blocked, places, strict=True):
            if place is not None:
                start, stop = place_after(since, place.start, place.stop)
                place = replace(place, start=start, stop=stop)
            yield Conflict(self._blocker(one.splice), "lines", self._lines_now(one, since), place)

    def _since(self, theirs: Text) -> Sequence[Splice]:
        """What was done to the file between the end of this run and now."""
        if not self.now.present or self.now.blob == self.b.blob:
            return ()
        return changes(theirs, self.history.text_of(self.now.blob))

    def _blocker(self, splice: Splice) -> int:
        """The record whose text is in the way of `splice`: the first of those that were not taken back within the run.

        What was taken back and redone is still the work of the record that made it.
        """
        last = next((s for s in reversed(self.steps) if self._in_the_way(splice, s.before) is None), self.steps[0])
        text = self._in_the_way(splice, last.after)
        return next((s.seq for s in self.steps if self._in_the_way(splice, s.after) == text), last.seq)

    def _in_the_way(self, splice: Splice, state: State) -> tuple[bytes, ...] | None:
        """The lines by which what the run had come to is in the way of `splice`; none where no text is known there.

        None when it is not in the way.
        """
        if not state.present:
            return ()
        try:
            text = self.history.text_of(state.blob)
            if state.blob not in self.until:
                self.until[state.blob] = changes(self.history.text_of(self.a.blob), text)
        except NotHeld:
            return ()
        blocked = carry((splice,), self.until[state.blob]).blocked
        return tuple(text.lines[blocked[0].start : blocked[0].stop]) if blocked else None

    def _lines_now(self, blocked: Blocked, since: Sequence[Splice]) -> tuple[tuple[int, int], ...]:
        """What is left of the blocking lines in the file as it is now."""
        return merge_ranges(carry_ranges(since, [(blocked.start, blocked.stop)]))


def _mode(state: State) -> int:
    return state.version.mode if state.version is not None else 0
