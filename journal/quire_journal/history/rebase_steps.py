"""Rebase: three-way merge of consecutive kept steps (changes of a file by records that are not undone) into the file
without the undone steps before them. Where a kept step builds on undone text, its text stays, and a `Conflict` names
the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from quire_journal.history.history import History
from quire_journal.history.timeline import State, TimelineStep
from quire_journal.model import REGULAR, LineRange, Ranges, cached_property, merge_ranges, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import (
    Along,
    BlockedSplice,
    CarriedSplices,
    Dispute,
    Splice,
    Text,
    carry,
    carry_ranges,
    changes,
    clash,
    disputed,
    place_after,
    spliced,
    three_way,
)


class Conflict(msgspec.Struct, frozen=True, gc=False):
    """Part of a file that an undo leaves, as record `seq` built on it.

    `why`: "lines", "bytes" (not a text, or a whole file), "creation_not_seen" (the record is how the file was first
    seen), or what the record did: "deleted" the file, "occupied" (put a file at the path), "moved" it, or changed the
    "mode". `lines` are the blocking lines in the present file (0-based, half-open). `place` is where conflict markers
    go; only the first conflict at a place has it.
    """

    seq: int
    why: str
    lines: Ranges = ()
    place: Dispute | None = None


class NotARegularFile(Exception):
    """Raised where a link or folder has no bytes to merge."""


class Rest(msgspec.Struct, frozen=True):
    """State of a file without the undone steps."""

    present: bool
    path: str
    mode: int = 0
    blob: bytes = b""
    made: Text | None = None
    lacking: str = ""  # why the bytes are not in the journal
    entry: int = REGULAR  # LINK: an unchanged link

    @classmethod
    def of(cls, state: State) -> Rest:
        v = state.version
        if v is None or not state.present:
            return cls(False, state.path)
        lacking = v.uncaptured if v.entry == REGULAR else "not_a_file"
        return cls(True, state.path, v.mode, v.blob, lacking="uncaptured" if v.uncaptured else lacking, entry=v.entry)

    @property
    def held(self) -> bool:
        """True if the journal holds the bytes, as a version has them."""
        return not self.lacking and bool(self.blob)

    def text(self, history: History) -> Text:
        return self.made if self.made is not None else history.text_of(self.blob)


def _replaced(a: Text, b: Text) -> bool:
    return any((splice.start, splice.stop) == (0, len(a)) for splice in changes(a, b))


def _same_bytes(a: bytes, b: bytes) -> bool:
    return a == b and bool(a)


class StepRebase:
    """Merge of consecutive kept steps, from state `a` to `b`, into `before`, the file without the undone steps; gives
    `rest` and `conflicts`. `now` is the present file. Raises `NotARegularFile`, `NotHeld`, `JournalDamaged`.
    """

    def __init__(self, history: History, before: Rest, steps: Sequence[TimelineStep], now: State) -> None:
        self.history, self.before, self.steps, self.now = history, before, steps, now
        self.conflicts: list[Conflict] = []
        self._causes: Sequence[Splice] = ()  # of blocked splices, sorted
        self._ways: dict[bytes, Mapping[tuple[Splice, bool], tuple[bytes, ...]] | None] = {}  # blob → `_ways_of`
        self._over: dict[bytes, Sequence[Splice] | None] = {}  # blob → the changes from `a`; None: not held
        self.a = steps[0].before
        self.b = steps[-1].after
        self.rest = self._merged()

    def _merged(self) -> Rest:
        a, b, rest = self.a, self.b, self.before
        if not b.present:
            return self._after_deletion()
        if not a.present:
            return self._after_creation()
        if not rest.present:
            # Undone steps created the file: it is removed only if no kept step changed its bytes.
            if _same_bytes(a.blob, b.blob):
                return rest
            self._block("bytes", lambda s: s.after.blob != s.before.blob)
            return Rest.of(b)
        merged = self._content()
        return Rest(True, self._path(), self._mode(), merged.blob, merged.made, merged.lacking, merged.entry)

    def _after_deletion(self) -> Rest:
        a, rest = self.a, self.before
        if a.present and rest.present:
            if not _same_bytes(a.blob, rest.blob):
                self._block("deleted", lambda s: not s.after.present)
            return Rest(False, self.b.path)
        return rest

    def _after_creation(self) -> Rest:
        rest = self.before
        if rest.present and not _same_bytes(rest.blob, self.b.blob):
            self._block("occupied", lambda s: s.after.present)
        return Rest.of(self.b)

    def _path(self) -> str:
        a, b, path = self.a.path, self.b.path, self.before.path
        if path in (a, b):
            return b
        if a != b:
            self._block("moved", lambda s: s.after.path != s.before.path)
            return b
        return path

    def _mode(self) -> int:
        was, now = self.a.mode, self.b.mode
        mode = self.before.mode
        if mode in (was, now):
            return now
        if was != now:
            self._block("mode", lambda s: s.before.present and s.after.present and s.before.mode != s.after.mode)
            return now
        return mode

    def _content(self) -> Rest:
        a, b, rest = self.a, self.b, self.before
        if _same_bytes(a.blob, b.blob) or _same_bytes(rest.blob, b.blob):
            return rest
        if _same_bytes(rest.blob, a.blob):
            return Rest.of(b)
        if any(s.version is not None and s.version.entry != REGULAR for s in (a, b)) or rest.lacking == "not_a_file":
            raise NotARegularFile
        base, mine, theirs = self.history.text_of(a.blob), rest.text(self.history), self.history.text_of(b.blob)
        if base.binary or mine.binary or theirs.binary:
            self._block("bytes", lambda s: s.after.blob != s.before.blob)
            return Rest.of(b)
        if not all(s.after.present for s in self.steps) and _replaced(base, theirs):
            self._block("occupied", lambda s: s.after.present and not s.before.present)
            return Rest.of(b)
        made, carried = three_way(base, mine, theirs, cuts=True)
        self.conflicts += self._line_conflicts(base, theirs, carried)
        if made == theirs:
            return Rest.of(b)
        return Rest(True, b.path, rest.mode, made.blob, made)

    def _block(self, why: str, did: Callable[[TimelineStep], bool]) -> None:
        seq = next((s.seq for s in self.steps if did(s)), self.steps[-1].seq)
        self.conflicts.append(Conflict(seq, why))

    def _line_conflicts(self, base: Text, theirs: Text, carried: CarriedSplices) -> Iterator[Conflict]:
        if not carried.blocked:
            return
        pause()
        self._causes = sorted({one.cause or one.splice for one in carried.blocked}, key=lambda s: (s.start, s.stop))
        pause()
        since, met = Along(self._since(theirs)), {*carried.met}
        places = disputed(base, [b.splice for b in carried.blocked], changes(base, theirs))
        for one, place in zip(carried.blocked, places, strict=True):
            pause()
            if place is not None:
                start, stop = place_after(since, place.start, place.stop)
                place = replace(place, start=start, stop=stop)
            cause = one.cause or one.splice
            if one.cause is not None or cause in met:
                blockers = {self._blocker(cause, cause in met): [(one.start, one.stop)]}
            else:
                blockers = self._blockers(one)
            for seq, ranges in blockers.items():
                yield Conflict(seq, "lines", self._lines_now(ranges, since), place)
                place = None

    def _since(self, theirs: Text) -> Sequence[Splice]:
        if not self.now.present or self.now.blob == self.b.blob:
            return ()
        return changes(theirs, self.history.text_of(self.now.blob))

    def _blockers(self, blocked: BlockedSplice) -> dict[int, list[LineRange]]:
        """Return the records that made the lines that block a splice, each with its lines at the end of the steps."""
        found: dict[int, list[LineRange]] = {}
        s, moved = blocked.splice, 0
        for other in self._changes_to(self.b.blob) or ():
            if clash(other, s):
                for start, stop in _cells(other, s):
                    shift = moved if len(other.lines) == other.stop - other.start else moved + other.shift
                    here = (start + moved, stop + shift)
                    for seq, lines in self._parted(here, self._maker(s, (start, stop))):
                        found.setdefault(seq, []).append(lines)
            moved += other.shift
        return found or {self._blocker(s, False): [(blocked.start, blocked.stop)]}

    def _parted(self, lines: LineRange, blocker: int) -> Iterator[tuple[int, LineRange]]:
        """Yield (record, range) for each line of `lines`, numbered as after the steps: the step that made the line,
        else `blocker`. If `blocker` made none of them, it gets an empty range. A single line, or lines by unknown
        makers, are `blocker`'s as a whole.
        """
        made = self._line_makers if lines[1] - lines[0] > 1 else None
        if made is None:
            yield blocker, lines
            return
        makers = {line: made[line] or blocker for line in range(*lines)}
        if blocker not in makers.values():  # a change that only took lines away
            yield blocker, (lines[0], lines[0])
        for line, seq in makers.items():
            yield seq, (line, line + 1)

    @cached_property
    def _line_makers(self) -> Sequence[int] | None:
        """The record that made each line at the end of the steps, 0 for an older line; None if unknown."""
        made = [0] * len(self.history.text_of(self.a.blob))
        for step in self.steps:
            pause()
            try:
                before, after = (
                    self.history.text_of(state.blob) if state.present else Text.of(b"")
                    for state in (step.before, step.after)
                )
            except NotHeld:
                return None
            came = changes(before, after)
            made = spliced(made, came, [[step.seq] * len(splice.lines) for splice in came])
        return made

    def _maker(self, s: Splice, lines: LineRange) -> int:
        """Return the record since which `lines`, numbered as before the steps, block `s`."""
        steps = self.steps
        last = next((step for step in reversed(steps) if self._way(s, lines, step.before) is None), steps[0])
        text = self._way(s, lines, last.after)
        return next((step.seq for step in steps if self._way(s, lines, step.after) == text), last.seq)

    def _way(self, s: Splice, lines: LineRange, state: State) -> tuple[bytes, ...] | None:
        """Return the lines of `state` that block `s` in place of `lines`, numbered as before the steps; () if unknown,
        None if nothing blocks.
        """
        over = self._changes_to(state.blob) if state.present else None
        if over is None:
            return ()
        found: list[bytes] = []
        is_blocked = False
        for other in over:
            met = (other.start, other.stop, other.lines) == (s.start, s.stop, s.lines)
            if met or not clash(other, s) or not clash(other, Splice(*lines, ())):
                continue
            is_blocked = True
            one_by_one = len(other.lines) == other.stop - other.start
            start = max(lines[0] - other.start, 0) if one_by_one else 0
            found += other.lines[start : lines[1] - other.start if one_by_one else None]
        return tuple(found) if is_blocked else None

    def _changes_to(self, blob: bytes) -> Sequence[Splice] | None:
        if blob not in self._over:
            try:
                self._over[blob] = changes(self.history.text_of(self.a.blob), self.history.text_of(blob))
            except NotHeld:
                self._over[blob] = None
        return self._over[blob]

    def _blocker(self, splice: Splice, met: bool) -> int:
        """Return the record that made the text that blocks `splice` at the end of the steps. `met`: the steps made the
        same change.
        """
        steps = self.steps
        last = next((s for s in reversed(steps) if self._in_the_way(splice, met, s.before) is None), steps[0])
        text = self._in_the_way(splice, met, last.after)
        return next((s.seq for s in steps if self._in_the_way(splice, met, s.after) == text), last.seq)

    def _in_the_way(self, splice: Splice, met: bool, state: State) -> tuple[bytes, ...] | None:
        """Return the lines of `state` that block `splice` (`met` as in `_blocker`); () if its text is unknown, None if
        nothing blocks.
        """
        if not state.present:
            return ()
        if state.blob not in self._ways:
            self._ways[state.blob] = self._ways_of(state.blob)
        ways = self._ways[state.blob]
        return () if ways is None else ways.get((splice, met))

    def _ways_of(self, blob: bytes) -> Mapping[tuple[Splice, bool], tuple[bytes, ...]] | None:
        try:
            text = self.history.text_of(blob)
        except NotHeld:
            return None
        over = self._changes_to(blob)
        if over is None:
            return None
        carried = carry(self._causes, over)
        ways = {(splice, True): splice.lines for splice in carried.met}
        return ways | {(b.splice, False): tuple(text.lines[b.start : b.stop]) for b in carried.blocked}

    def _lines_now(self, ranges: Sequence[LineRange], since: Along) -> Ranges:
        found: list[LineRange] = []
        for range_ in merge_ranges(ranges):
            moved, near = since.near(*range_)
            found += ((start + moved, stop + moved) for start, stop in carry_ranges(near, [range_]))
        return merge_ranges(found)


def _cells(other: Splice, s: Splice) -> Iterator[LineRange]:
    """Yield the ranges of lines that `other` replaced: each line that `s` changes, too, or all as one range if `other`
    changed their number.
    """
    if len(other.lines) != other.stop - other.start:
        yield other.start, other.stop
        return
    for number in range(max(other.start, s.start), min(other.stop, s.stop)):
        yield number, number + 1
