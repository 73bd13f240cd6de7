"""Undo guard: no line is removed or restored without a reason in the chosen batches, whatever the plan.

The guard weaves the versions of the file (`weave`), and asks for each line to be removed or restored whether it would
be there without the chosen batches. A change without reason becomes a conflict that names the opposing record. The same
holds for the path, mode and presence of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec
from msgspec.structs import replace

from quire_journal.history.authorship import is_by_git
from quire_journal.history.history import History
from quire_journal.history.line_past import backwards
from quire_journal.history.rebase_steps import Conflict
from quire_journal.history.renames import FoundRenames
from quire_journal.history.timeline import FileTimeline, State, TimelineStep
from quire_journal.history.unwinder import Unwound
from quire_journal.history.weave import BatchesInForce, Made, Weave, WovenLine, ended
from quire_journal.model import REGULAR, blob_id, pause, ranges_of
from quire_journal.text import BINARY_PROBE, BOM, Dispute, Splice, Text, apply, changes

UNDOING: Final = "undo"

FIRST_SEEN: Final = "creation_not_seen"
"""`Conflict.why` of a chosen first version that is kept, as no record shows the file's creation."""

FEW: Final = 8
"""Maximum number of versions read one by one."""

MOST_CELLS: Final = 40_000
"""Maximum product of line counts when searching an equivalent change (20 ms)."""


class GuardedUndo(msgspec.Struct, frozen=True):
    """Batches to undo, and the undos in the log that concern them."""

    chosen: frozenset[int]
    nothing: Callable[[int], bool]  # True if a batch undid only chosen batches, so that it has no effect without them
    affected: Collection[int]  # batches undone by the chosen batches, directly or through other undos
    undoers: Callable[[int], Sequence[int]]  # the batches that undid a batch, in this file


def guard(history: History, life: FileTimeline, found: Unwound, undoing: GuardedUndo) -> Unwound:
    """Return `found` with conflicts in place of changes that no chosen batch justifies."""
    if found.missing or found.is_now or found.now.folder:
        return found
    if any(conflict.why == FIRST_SEEN for conflict in found.conflicts):
        undoing = replace(undoing, chosen=undoing.chosen - {life.steps[0].batch})  # the first version stays
    if _is_as_before(life, found, undoing):
        return found
    return _Guard(history, _from_the_first(history, life, undoing), found, undoing).guarded()


def _is_as_before(life: FileTimeline, found: Unwound, undoing: GuardedUndo) -> bool:
    begun = next((n for n, step in enumerate(life.steps) if step.batch in undoing.chosen), 0)
    if not all(step.batch in undoing.chosen or undoing.nothing(step.batch) for step in life.steps[begun:]):
        return False
    then = life.steps[begun].before
    if not found.present or not then.present:
        return found.present == then.present
    return bool(then.blob) and (found.path, found.mode, found.blob) == (then.path, then.mode, then.blob)


def _from_the_first(history: History, life: FileTimeline, undoing: GuardedUndo) -> FileTimeline:
    before, since = life.steps[0].before, min(undoing.affected, default=0)
    if not 0 < since <= before.seq:
        return life
    states: list[State] = []
    wanted, renames = 0, history.once(FoundRenames)
    for path, version in backwards(history, before.path, before.seq):
        if version.seq < since:
            break
        states.append(State(path, version))
        wanted = len(states) if version.batch in undoing.affected else wanted
    if not wanted:
        return life
    oldest = states[wanted - 1]
    came_from = oldest.version.moved_from if oldest.version is not None else ""
    one = renames.of(oldest.path, oldest.version) if oldest.version is not None and oldest.present else None
    path, last = (one.old, one.before) if one is not None else (came_from or oldest.path, oldest.seq - 1)
    chain = [State(path, history.version_at(path, last)), *reversed(states[:wanted])]
    steps = (TimelineStep(a, b, b.seq, undone=False) for a, b in pairwise(chain))
    return FileTimeline((*steps, *life.steps))


class _Guard:
    def __init__(self, history: History, life: FileTimeline, found: Unwound, undoing: GuardedUndo) -> None:
        self._history, self._life, self._found, self._chosen = history, life, found, undoing.chosen
        self._then = BatchesInForce(undoing.undoers)
        self._before = BatchesInForce(undoing.undoers)
        self._after = BatchesInForce(undoing.undoers, undoing.chosen)
        self._claimed: set[WovenLine] = set()
        self._conflicts: list[Conflict] = []
        self._first = life.steps[0].before.seq or life.steps[0].seq
        self._text = self._woven()

    # ── the past ──

    def _woven(self) -> Weave:
        states = [self._life.steps[0].before, *(step.after for step in self._steps())]
        bodies = self._bodies(states)
        weave = Weave(next(bodies), states[0].seq, self._then)
        seen = {states[0].blob}
        for state, body in zip(states[1:], bodies, strict=True):
            by_git = is_by_git(getattr(self._history.event(state.seq), "hint", ""))
            weave.take(body, _made(state, state.blob in seen, by_git))
            seen.add(state.blob)
        return weave

    def _woven_word(self, word: Callable[[State], bytes]) -> Weave:
        states = [self._life.steps[0].before, *(step.after for step in self._steps())]
        weave = Weave(word(states[0]), states[0].seq, self._then)
        for state in states[1:]:
            if state.present or word is not _mode:
                weave.take(word(state), _made(state, again=True))
        return weave

    def _steps(self) -> Iterator[TimelineStep]:
        steps = self._life.steps
        for step, behind in zip(steps, (*steps[1:], None), strict=True):
            if behind is None or not (self._is_chosen_edit(step) and self._is_chosen_edit(behind)):
                yield step

    def _is_chosen_edit(self, step: TimelineStep) -> bool:
        version = step.after.version
        if not (step.before.present and step.after.present):
            return False
        return step.batch in self._chosen and version is not None and not (version.type == UNDOING or version.unproved)

    def _bodies(self, states: Sequence[State]) -> Iterator[bytes]:
        held = [s.present and _is_file(s) and bool(s.blob) and self._history.holds(s.blob) for s in states]
        blobs = [s.blob for s, there in zip(states, held, strict=True) if there]
        # A few texts are in the cache, because the plan was made from them.
        few = len(blobs) <= FEW
        data = (self._history.text_of(b).data for b in blobs) if few else self._history.bytes_in_turn(blobs)
        body = b""
        for state, there in zip(states, held, strict=True):
            if there:
                body = _body(next(data))
            elif not state.present:
                body = b""
            elif state.blob and not _is_file(state):
                body = _whole(state.blob)
            yield body

    # ── the plan ──

    def guarded(self) -> Unwound:
        found, now = self._found, self._found.now
        if found.present != now.present:
            presence = self._woven_word(_presence)
            if not self._may_become(presence, _PRESENT if found.present else b""):
                self._conflict("occupied" if now.present else "deleted", presence, _PRESENT)
                return self._left_with()
        if not found.present:
            return self._without_all()
        path, mode = found.path, found.mode
        if path != now.path and not self._may_be(_path, _of_path(path), "moved"):
            path = now.path
        if now.present and mode != now.mode and not self._may_be(_mode, _of_mode(mode), "mode"):
            mode = now.mode
        blob, made = self._content()
        conflicts = (*found.conflicts, *self._conflicts)
        return replace(found, path=path, mode=mode, blob=blob, made=made, conflicts=conflicts)

    def _without_all(self) -> Unwound:
        held = [n for n in range(self._text.size) if not self._may_go(self._text.line(n))]
        if not held:
            return self._found
        seq = self._brought(held[0])
        return self._left_with(Conflict(seq, "bytes", () if self._is_whole() else ranges_of(held)))

    def _left_with(self, *conflicts: Conflict) -> Unwound:
        found, now = self._found, self._found.now
        left = Unwound.left_alone(now, "", kept=found.kept)
        return replace(left, conflicts=(*found.conflicts, *self._conflicts, *conflicts))

    def _conflict(self, why: str, weave: Weave, key: bytes) -> None:
        there = weave.line(0) if weave.size else None
        gone = weave.gone(key)
        seq = there.brought_by if there is not None else gone[-1].removed_by if gone else 0
        self._conflicts.append(Conflict(seq or self._first, why))

    def _may_be(self, word: Callable[[State], bytes], key: bytes, why: str) -> bool:
        weave = self._woven_word(word)
        may = self._may_become(weave, key)
        if not may:
            self._conflict(why, weave, key)
        return may

    def _may_become(self, weave: Weave, key: bytes) -> bool:
        if weave.size and not self._may_go(weave.line(0)):
            return False
        return not key or any(line.stands(self._after.in_force) for line in weave.gone(key))

    # ── the text ──

    def _content(self) -> tuple[bytes, Text | None]:
        found, now = self._found, self._found.now
        if found.blob == now.blob and now.present:
            return found.blob, found.made
        if found.entry != REGULAR or not _is_file(now):
            return self._whole_content(_whole(found.blob))
        was = self._history.text_of(now.blob) if now.present else Text.of(b"")
        wanted = found.made if found.made is not None else self._history.text_of(found.blob)
        if was.binary or wanted.binary:
            return self._whole_content(_body(wanted.data))
        splices = changes(was, wanted)
        kept = [part for n, s in enumerate(splices) for part in self._parts(splices, n, s, was, wanted)]
        if kept == [*splices]:
            return found.blob, found.made
        if not kept and now.present:
            return now.blob, None
        made = apply(was, kept, final_break=wanted.final_break)
        made = Text(wanted.bom, made.lines, made.breaks)
        return (now.blob, None) if now.present and made == was else (made.blob, made)

    def _whole_content(self, key: bytes) -> tuple[bytes, Text | None]:
        found, now = self._found, self._found.now
        if all(self._may_go(self._text.line(n)) for n in range(self._text.size)) and all(
            self._claim(part) is not None for part in key.splitlines(keepends=True)
        ):
            return found.blob, found.made
        seq = self._brought(0) if self._text.size else self._first
        self._conflicts.append(Conflict(seq, "bytes"))
        return now.blob, None

    def _parts(self, splices: Sequence[Splice], n: int, s: Splice, was: Text, wanted: Text) -> Iterator[Splice]:
        pause()
        keys = [line + ending for line, ending in zip(s.lines, s.breaks or (), strict=True)]
        going = [self._text.line(number) for number in range(s.start, s.stop)]
        coming = [self._claim(key) for key in keys]
        held = [s.start + i for i, line in enumerate(going) if not self._may_go(line)]
        known = [line for line in (*going, *coming) if line is not None]
        meant = any(line.is_of(self._is_affected) for line in known)
        if meant and not held and all(line is not None for line in coming):
            yield s
            return
        if self._is_told_otherwise(splices, n, was, wanted, coming):
            yield s
            return
        if not meant:
            held = [*range(s.start, s.stop)]
            coming = [None] * len(keys)
        self._block(s, held, keys, coming)
        if not s.lines:
            yield from (Splice(a, b, (), ()) for a, b in _runs(s.start, s.stop, held))
        elif s.start == s.stop and any(line is not None for line in coming):
            parts = [i for i, line in enumerate(coming) if line is not None]
            breaks = s.breaks or ()
            yield replace(s, lines=tuple(s.lines[i] for i in parts), breaks=tuple(breaks[i] for i in parts))

    def _block(self, s: Splice, held: Sequence[int], keys: Sequence[bytes], coming: Sequence[WovenLine | None]) -> None:
        against: dict[int, list[int]] = {}
        for number in held:
            against.setdefault(self._brought(number), []).append(number)
        for key, line in zip(keys, coming, strict=True):
            if line is None:
                gone = self._text.gone(key)
                if self._found.conflicts and gone and gone[-1].acts and gone[-1].acts[-1].batch in self._chosen:
                    continue  # a chosen batch is in nobody's way; the conflict before it is named already
                against.setdefault(gone[-1].removed_by if gone else self._found.now.seq, [])
        parts = [i for i, line in enumerate(coming) if line is not None]
        place: Dispute | None = Dispute(
            s.start, s.stop, tuple(s.lines[i] for i in parts), tuple((s.breaks or ())[i] for i in parts)
        )
        if any(
            c.place is not None and c.place.start <= s.stop and s.start <= c.place.stop for c in self._found.conflicts
        ):
            place = None
        if s.start == s.stop and not parts:
            place = None
        for seq, numbers in against.items():
            self._conflicts.append(Conflict(seq or self._first, "lines", ranges_of(numbers), place))
            place = None

    def _is_told_otherwise(
        self, splices: Sequence[Splice], n: int, was: Text, wanted: Text, own: Sequence[WovenLine | None]
    ) -> bool:
        """True if another diff gives the same text, in which every removed or restored line nearby has a reason."""
        s = splices[n]
        moved = sum(one.shift for one in splices[:n])
        size = max(s.stop - s.start, len(s.lines))
        before = min(2 * size + 4, s.start - (splices[n - 1].stop if n else 0))
        behind = min(2 * size + 4, (splices[n + 1].start if n + 1 < len(splices) else len(was)) - s.stop)
        start, stop = s.start - before, s.stop + behind
        from_, upto = start + moved, stop + moved + s.shift
        if (stop - start + 1) * (upto - from_ + 1) > MOST_CELLS:
            return False
        old, new = _keys(was, start, stop), _keys(wanted, from_, upto)
        may_go = [self._may_go(self._text.line(number)) for number in range(start, stop)]
        more = Counter(new)
        more.subtract(old)
        may_come = [len(self._free(key, own)) >= max(1, more[key]) for key in new]
        reached = [True]
        for k in range(len(new)):
            reached.append(reached[k] and may_come[k])
        for i, key in enumerate(old):
            row = [reached[0] and may_go[i]]
            for k, other in enumerate(new):
                row.append((reached[k] and key == other) or (reached[k + 1] and may_go[i]) or (row[k] and may_come[k]))
            reached = row
        return reached[-1]

    # ── reasons for a change ──

    def _may_go(self, line: WovenLine | None) -> bool:
        return line is not None and not line.stands(self._after.in_force)

    def _comes_back(self, line: WovenLine) -> bool:
        return line.stands(self._after.in_force)

    def _free(self, key: bytes, own: Sequence[WovenLine | None]) -> Sequence[WovenLine]:
        gone = (line for line in self._text.gone(key) if line not in self._claimed or line in own)
        return [line for line in gone if self._comes_back(line)]

    def _claim(self, key: bytes) -> WovenLine | None:
        for line in reversed(self._text.gone(key)):
            if line not in self._claimed and self._comes_back(line):
                self._claimed.add(line)
                return line
        return None

    def _is_affected(self, batch: int) -> bool:
        return batch in self._chosen or self._before.in_force(batch) != self._after.in_force(batch)

    def _brought(self, number: int) -> int:
        line = self._text.line(number)
        return (line.brought_by if line is not None else 0) or self._first

    def _is_whole(self) -> bool:
        now = self._found.now
        return not _is_file(now) or self._history.text_of(now.blob).binary


_PRESENT: Final = b"there\n"


def _made(state: State, again: bool, by_git: bool = False) -> Made:
    version = state.version
    if version is None:
        return Made(0, 0)
    undoing = version.type == UNDOING
    return Made(version.seq, version.batch, undoing, undoing or version.unproved, again, by_git)


def _presence(state: State) -> bytes:
    return _PRESENT if state.present else b""


def _mode(state: State) -> bytes:
    return _of_mode(state.mode)


def _path(state: State) -> bytes:
    return _of_path(state.path)


def _of_mode(mode: int) -> bytes:
    return b"%o\n" % mode


def _of_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape").hex().encode() + b"\n"


def _is_file(state: State) -> bool:
    return state.version is not None and state.version.entry == REGULAR


def _whole(blob: bytes) -> bytes:
    return b"\0" + blob.hex().encode() + b"\n"


def _body(data: bytes) -> bytes:
    if data.find(b"\0", 0, BINARY_PROBE) >= 0:
        return _whole(blob_id(data))
    return ended(data.removeprefix(BOM))


def _keys(text: Text, start: int, stop: int) -> list[bytes]:
    breaks = [b or text.break_for(len(text) - 1) for b in text.breaks[start:stop]]
    return [line + ending for line, ending in zip(text.lines[start:stop], breaks, strict=True)]


def _runs(start: int, stop: int, without: Sequence[int]) -> Iterator[tuple[int, int]]:
    at = start
    for number in (*without, stop):
        if at < number:
            yield at, number
        at = number + 1
