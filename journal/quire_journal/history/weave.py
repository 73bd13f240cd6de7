"""Weave: every line that a file had, in order, with the batches that added and removed it.

Typing a line makes a new line, even with old words. Putting a line back (undo, redo, rollback, restore, another
program) restores the old line with its author. An undo changes which batches are in force; line changes that this does
not explain are its own work.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final, NamedTuple

from quire_journal.model import paced, pause
from quire_journal.text import blocks, breaks_between, common_bytes

EVER: Final = 1 << 63
"""Seq above that of every record."""

InForce = Callable[[int], bool]
"""Function that returns True if a batch is in force (not undone)."""


class Act(NamedTuple):
    """Addition or removal of an existing line by a batch."""

    batch: int
    brought: bool  # True: added the line; False: removed it
    takes_back: bool = False  # the act only cancels the act before it


class WovenLine:
    __slots__ = ("acts", "born", "brought_by", "key", "removed_by", "there")

    def __init__(self, key: bytes, born: int, seq: int) -> None:
        self.key = key  # bytes with the break
        self.born = born  # batch of its author; 0: before the first woven version
        self.acts: list[Act] = []
        self.there = True
        self.brought_by = seq  # the record that last added the line
        self.removed_by = 0  # the record that last removed the line

    def stands(self, in_force: InForce) -> bool:
        """True if the line would be there with only the batches in force for which `in_force` returns True."""
        if not in_force(self.born):
            return False
        taken_back = False
        for act in reversed(self.acts):
            if taken_back:
                taken_back = False
            elif in_force(act.batch):
                if not act.takes_back:
                    return act.brought
                taken_back = True
        return True

    def is_of(self, fits: Callable[[int], bool]) -> bool:
        """True if `fits` returns True for a batch that added or removed the line."""
        return fits(self.born) or any(fits(act.batch) for act in self.acts)


class BatchesInForce:
    """Batches in force (not undone), if the batches `out` had never been made. `undoers` returns the batches that undid
    a batch.
    """

    def __init__(self, undoers: Callable[[int], Sequence[int]], out: Container[int] = frozenset()) -> None:
        self._undoers, self._out = undoers, out
        self._upto = EVER
        self._known: dict[int, bool] = {0: True}

    def upto(self, batch: int) -> InForce:
        """Return the function that tells which batches were in force right after this batch; valid
        until the next call.
        """
        if batch != self._upto:
            self._upto, self._known = batch, {0: True}
        return self.in_force

    def in_force(self, batch: int) -> bool:
        known, todo = self._known, [batch]
        while todo:  # iterative: undo and redo can alternate a thousand times
            at = todo[-1]
            if at in known:
                todo.pop()
                continue
            if at in self._out:
                known[at] = False
                continue
            deciding = [by for by in self._undoers(at) if by <= self._upto]
            unknown = [by for by in deciding if by not in known]
            if unknown:
                todo += unknown
            else:
                known[at] = not any(known[by] for by in deciding)
        return known[batch]


class Made(NamedTuple):
    seq: int
    batch: int
    undoing: bool = False  # made by undo, redo, rollback or restore
    moving: bool = False  # the maker is no author of old lines
    again: bool = False  # the bytes existed before
    by_git: bool = False


class Weave:
    def __init__(self, first: bytes, seq: int, standing: BatchesInForce) -> None:
        self._standing = standing
        self._first = seq
        self._body = first
        self._now: list[WovenLine | None] = [None] * len(first.splitlines())  # None: as in the first version
        self._gaps: list[list[WovenLine] | None] = [None] * (
            len(self._now) + 1
        )  # removed lines before each line, and at the end
        self._gone: dict[bytes, list[WovenLine]] = {}

    def take(self, body: bytes, made: Made) -> None:
        """Add the next version, whose lines all end in breaks."""
        was, self._body = self._body, body
        if was == body:
            return
        head, tail = common_bytes(was, body)
        line = breaks_between(was, 0, head)
        gone = was[head : len(was) - tail].splitlines(keepends=True)
        come = body[head : len(body) - tail].splitlines(keepends=True)
        in_force = self._standing.upto(made.batch)
        differing = blocks(gone, come)
        fallen: set[WovenLine] = set()
        for i, j, _, _ in differing:
            pause()
            for n in range(i, j):
                fallen.add(self._fell(line + n, gone[n], made, in_force))
        for i, j, k, m in reversed(differing):
            pause()
            fell = self._now[line + i : line + j]
            self._replace(line + i, line + j, come[k:m], made, _Found(self, fallen, in_force, made))
            came = self._now[line + i : line + i + m - k]
            if made.by_git and came and all(one is not None and one.born != made.batch for one in came):
                self._take_back(fell, made, in_force)
        if made.undoing:
            self._give_back(made, in_force)

    @property
    def size(self) -> int:
        return len(self._now)

    def line(self, number: int) -> WovenLine | None:
        """Return present line `number`; None if unchanged since the first version."""
        return self._now[number]

    def gone(self, key: bytes) -> Sequence[WovenLine]:
        """Return the removed lines with these bytes, the last removed last."""
        last_first = dict.fromkeys(reversed(self._gone.get(key, ())))  # a line may have been removed twice
        found = [line for line in last_first if not line.there][::-1]
        self._gone[key] = found
        return found

    def _give_back(self, made: Made, in_force: InForce) -> None:
        for n, line in enumerate(paced(self._now)):
            if line is None or line.key not in self._gone or line.stands(in_force):
                continue
            back = next((one for one in reversed(self.gone(line.key)) if one.stands(in_force)), None)
            if back is not None:
                self._fell(n, line.key, made, in_force)
                self._gaps[n] = [*(self._gaps[n] or ()), line]
                self._now[n] = self._back(back, made, in_force)

    def _fell(self, number: int, key: bytes, made: Made, in_force: InForce) -> WovenLine:
        line = self._now[number]
        if line is None:
            line = self._now[number] = WovenLine(key, 0, self._first)
        if not made.undoing or line.stands(in_force):
            back = made.moving and made.again and bool(line.acts) and line.acts[-1].brought
            line.acts.append(Act(made.batch, brought=False, takes_back=back))
            if back and line.stands(in_force):
                line.acts[-1] = Act(made.batch, brought=False)
        line.there = False
        line.removed_by = made.seq
        self._gone.setdefault(key, []).append(line)
        return line

    def _take_back(self, fell: Sequence[WovenLine | None], made: Made, in_force: InForce) -> None:
        """Let git's removal of lines cancel git's own addition, where git restores older lines, whose author removed
        the added lines.
        """
        for line in fell:
            acts = [] if line is None else line.acts
            if line is None or len(acts) < 2 or not acts[-2].brought or acts[-1].batch != made.batch:
                continue
            plain, acts[-1] = acts[-1], Act(made.batch, brought=False, takes_back=True)
            if line.stands(in_force):
                acts[-1] = plain

    def _replace(self, start: int, stop: int, come: Sequence[bytes], made: Made, found: _Found) -> None:
        before: list[WovenLine] = []
        for n in range(start, stop):
            before += self._gaps[n] or ()
            line = self._now[n]
            if line is not None:
                before.append(line)
        before += self._gaps[stop] or ()
        before = list(dict.fromkeys(before))  # a line restored elsewhere and removed again is in two gaps
        lines: list[WovenLine | None] = []
        gaps: list[list[WovenLine] | None] = []
        at = 0
        places = found.places(come, before) if made.moving else {}
        for n, key in enumerate(come):
            place = places.get(n)
            if place is not None:
                line = before[place]
                gaps.append(before[at:place] or None)
                at = place + 1
            else:
                line = found.elsewhere(key) if made.moving else None
                gaps.append(None)
            lines.append(
                WovenLine(key, made.batch, made.seq) if line is None else self._back(line, made, found.in_force)
            )
        gaps.append([line for line in before[at:] if not line.there] or None)
        self._now[start:stop] = lines
        self._gaps[start : stop + 1] = gaps

    def _back(self, line: WovenLine, made: Made, in_force: InForce) -> WovenLine:
        if not made.undoing or not line.stands(in_force):
            line.acts.append(Act(made.batch, brought=True))
        line.there = True
        line.brought_by = made.seq
        return line


class _Found:
    def __init__(self, weave: Weave, fallen: Container[WovenLine], in_force: InForce, made: Made) -> None:
        self._weave, self._fallen, self.in_force, self._undoing = weave, fallen, in_force, made.undoing
        self._taken: set[WovenLine] = set()

    def places(self, come: Sequence[bytes], before: Sequence[WovenLine]) -> dict[int, int]:
        fit = [n for n, line in enumerate(before) if self._fits(line) and (not self._undoing or self._stands(line))]
        if not fit:
            return {}
        found = {k: fit[i] for i, k in _equal([before[n].key for n in fit], come)}
        self._taken.update(before[n] for n in found.values())
        return found

    def elsewhere(self, key: bytes) -> WovenLine | None:
        fit = [line for line in self._weave.gone(key) if self._fits(line)]
        return next((line for line in reversed(fit) if self._undoing and self._stands(line)), fit[-1] if fit else None)

    def _fits(self, line: WovenLine) -> bool:
        free = not line.there and line not in self._fallen and line not in self._taken
        return free and self.in_force(line.born)

    def _stands(self, line: WovenLine) -> bool:
        return line.stands(self.in_force)


def _equal(a: Sequence[bytes], b: Sequence[bytes]) -> Iterable[tuple[int, int]]:
    i = k = 0
    for start, stop, from_, upto in (*blocks(a, b), (len(a), len(a), len(b), len(b))):
        yield from zip(range(i, start), range(k, from_), strict=True)
        i, k = stop, upto


def ended(body: bytes) -> bytes:
    """Return `body` with its last line ended by its last break, else by LF."""
    if not body or body.endswith((b"\n", b"\r")):
        return body
    at = max(body.rfind(b"\n"), body.rfind(b"\r"))
    return body + ((b"\r\n" if body[at - 1 : at + 1] == b"\r\n" else body[at : at + 1]) if at >= 0 else b"\n")
