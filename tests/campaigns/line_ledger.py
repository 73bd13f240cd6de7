"""A ledger of lines: each line is an object that knows which batch brought it and what was done to it since.

It is told the text of a file after each operation, by whom, and of undos which batches they name. It knows nothing of
Quire and imports nothing of it. A line is known by its text, which nobody writes twice by chance.

What an undo may do follows from the objects alone. A batch is in force in a file unless something that is in force
undid it there. A line stands if the batch that typed it is in force, and the last batch in force that did something
to it did not remove it. Who puts a whole text back that was there once (a checkout, a restore) does to each line what
had been done to it by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final


@dataclass(frozen=True)
class Act:
    """What a batch did to a line: removed it, brought it back, or put back what had been done to it."""

    batch: int
    brought: bool
    as_of: tuple[Act, ...] | None = None


@dataclass(eq=False)
class Line:
    """One line, typed once."""

    text: str
    born: int
    by: str
    acts: tuple[Act, ...] = ()
    there: bool = True
    excused: bool = False  # an undo said that it could not do what it was to do with it
    trail: list[tuple[int, bool]] = field(default_factory=list)  # by which batches it came and went, undos included

    def did(self, batch: int, there: bool) -> None:
        """Note that a batch brought or removed it."""
        self.there = there
        self.trail.append((batch, there))

    def was_there(self, batches: set[int], ledger: Ledger) -> set[bool]:
        """Was it there before these did something to it? Seen from what is in force, and from the batches alone."""
        own = [there for batch, there in self.trail if batches.isdisjoint(ledger.all_undid([batch]))]
        standing = [there for batch, there in self.trail if batch not in batches and ledger.in_force(batch)]
        first = min(batches & ledger.before.keys(), default=0)
        then = {self in ledger.before[first]} if first else set()
        return {*own[-1:], *standing[-1:]} | then or {self.born not in batches}

    def __repr__(self) -> str:
        return f"{self.text} ({self.by} in {self.born}, {self.acts})"

    def stands(self, ledger: Ledger) -> bool:
        """Would it be there, by what is in force?"""
        return ledger.in_force(self.born) and _brought(self.acts, ledger)


def _brought(acts: Sequence[Act], ledger: Ledger) -> bool:
    for act in reversed(acts):
        if ledger.in_force(act.batch):
            return act.brought if act.as_of is None else _brought(act.as_of, ledger)
    return True


UNBORN: Final = (Act(0, brought=False),)
"""What has been done to a line by a time at which it was not there yet."""


@dataclass(frozen=True)
class Past:
    """The file as it was once: its lines, and what had been done to each line by then."""

    lines: tuple[Line, ...]
    acts: dict[Line, tuple[Act, ...]]


@dataclass
class Ledger:
    """The lines of one file."""

    lines: list[Line] = field(default_factory=list)
    now: list[Line] = field(default_factory=list)
    undoers: dict[int, list[int]] = field(default_factory=dict)
    undid: dict[int, tuple[int, ...]] = field(default_factory=dict)
    before: dict[int, set[Line]] = field(default_factory=dict)  # what was there before a batch
    past: dict[tuple[str, ...], Past] = field(default_factory=dict)  # by the text, as it was there last

    def in_force(self, batch: int) -> bool:
        """Is a batch in force in this file?"""
        return not any(self.in_force(by) for by in self.undoers.get(batch, ()))

    @property
    def text(self) -> tuple[str, ...]:
        """The file as it is."""
        return tuple(line.text for line in self.now)

    # ── what is done ──

    def edited(self, text: Sequence[str], batch: int, by: str) -> None:
        """Somebody typed: whoever brings a line is its author."""
        kept = self._kept(text)
        for line in {*self.now}.difference(kept.values()):
            line.did(batch, there=False)
            line.acts += (Act(batch, brought=False),)
        self._keep([kept[n] if n in kept else self._new(one, batch, by) for n, one in enumerate(text)], batch)

    def put_back(self, text: Sequence[str], batch: int, by: str) -> None:
        """A program wrote, which is not the author of what stood there before.

        In a whole text that was there once each line is the one that it was then, where its author's work is in force.
        """
        past = self.past.get(tuple(text))
        kept = self._kept(text) if past is None else self._kept_of(past)
        was = None if past is None else past.acts
        gone = {*self.now}.difference(kept.values())
        now: list[Line] = []
        for n, one in enumerate(text):
            then = None if past is None else past.lines[n]
            line = kept[n] if n in kept else self._dead(one, gone, then)
            if line is not None and n not in kept:
                line.did(batch, there=True)
                line.acts += (self._back(line, batch, was),)
            now.append(line or self._new(one, batch, by))
        for line in gone:
            line.did(batch, there=False)
            line.acts += (self._back(line, batch, was),)
        self._keep(now, batch)

    def undone(self, text: Sequence[str], batch: int, batches: Sequence[int], told: bool) -> list[str]:
        """Somebody undid these batches in this file; what is wrong with it. `told`: the reply names conflicts here."""
        before = self.text
        idle = {act.batch for line in self.lines for act in line.acts if act.brought and not self.in_force(act.batch)}
        for one in batches:
            self.undoers.setdefault(one, []).append(batch)
        self.undid[batch] = tuple(batches)
        meant = {*batches}
        self._part({batch for batch in idle if self.in_force(batch)}, text)
        wrong: list[str] = []
        chosen: set[Line] = set()
        for one in {*before, *text}:
            alike = [line for line in self.lines if line.text == one]
            wanted = {line: {line.stands(self)} | line.was_there(meant, self) for line in alike}
            for line in alike:
                if line.excused:  # it stayed though its author's work was undone: only what was done since counts
                    wanted[line].add(_brought(line.acts, self))
            free = {line: wanted[line] | ({line.there} if told or line.excused else set()) for line in alike}
            stay = [line for line in alike if wanted[line] | {line.there} == {True}]
            may = [line for line in alike if True in wanted[line] | {line.there} and line not in stay]
            must = [line for line in may if free[line] == {True}]
            there = text.count(one)
            if there < len(stay) and not (text == [] and stay[0].born < self._deleted()):
                wrong.append(f"{stay[0]} went, and nothing undone accounts for it")
            elif must and not there:
                wrong.append(f"{must[-1]} did not come back, unsaid")
            if there > len(stay) + len(may):
                wrong.append(f"{one} came back, and nothing undone accounts for it: {alike}")
            elif there > len(stay) + sum(True in free[line] for line in may):
                wrong.append(f"{next(line for line in may if free[line] == {False})} stayed, unsaid")
            may.sort(
                key=lambda line: (line not in must, False in free[line] and True not in wanted[line], not line.there)
            )
            chosen.update([*stay, *may][:there])
        typed = Counter(line.text for line in self.lines)
        alone = {line.text for line in self.lines if not line.trail and typed[line.text] == 1}
        if [one for one in before if one in text and one in alone] != [
            one for one in text if one in before and one in alone
        ]:
            wrong.append("lines that stay have changed places")
        if not wrong:
            self._excuse(chosen, meant)
            for line in self.lines:
                if line.there != (line in chosen):
                    line.did(batch, line in chosen)
            kept, free = self._kept(text), {*chosen}
            found = {n: line for n, line in kept.items() if line in chosen}
            free.difference_update(found.values())
            for n, one in enumerate(text):
                if n not in found:
                    found[n] = next(line for line in self.lines if line in free and line.text == one)
                    free.discard(found[n])
            self._keep([found[n] for n in range(len(text))], batch)
        return wrong

    def _part(self, revived: set[int], text: Sequence[str]) -> None:
        """Tell apart what two batches brought back at two places: a program put the line back, that was undone, and
        another one put it back elsewhere. Once the first is redone, the line may stand at both: each has a batch in
        force that brought it there. One that has no such batch is not parted, and still counts as too many.
        """
        for line in [line for line in self.lines if line.there and text.count(line.text) > self.text.count(line.text)]:
            other = [act for act in line.acts if act.brought and act.batch not in revived and self.in_force(act.batch)]
            again = next((act for act in reversed(line.acts) if act.brought and act.batch in revived), None)
            if again is not None and other:
                line.acts = tuple(act for act in line.acts if act is not again)
                self.lines.append(Line(line.text, again.batch, line.by, there=False))

    def _excuse(self, chosen: set[Line], undone: set[int]) -> None:
        """Note what was not done, as the undo said.

        Where a batch replaced a line, and the undo could not bring that one back, the undo made no difference to what
        the batch wrote instead either, though that was gone by then. Somebody who undoes its removal and its return
        may find it there, as the batch left it: the undo told the place. Of a batch whose lines all came back, what it
        wrote stays away.
        """
        stuck: set[int] = set()
        for line in self.lines:
            if line.stands(self) and line not in chosen:
                stuck.update(act.batch for act in line.acts if act.batch in undone and not act.brought)
        for line in self.lines:
            late = line.born in stuck and not line.there
            line.excused = line.excused or late or line.stands(self) != (line in chosen)

    def _deleted(self) -> int:
        """The newest batch in force that removed the file: what was in it goes with it."""
        acts = [act for line in self.lines if line.text == self.text[0] for act in line.acts]
        return max((act.batch for act in acts if not act.brought and self.in_force(act.batch)), default=0)

    def all_undid(self, batches: Sequence[int]) -> set[int]:
        """These, what they undid, what that undid, and so on."""
        return {*batches}.union(*(self.all_undid(self.undid.get(one, ())) for one in batches))

    def _kept(self, text: Sequence[str]) -> dict[int, Line]:
        """The lines that are there before and after, by where they are afterwards."""
        return self._same(self.text, tuple(text))

    def _kept_of(self, past: Past) -> dict[int, Line]:
        """The same, where the text is one of before: one of its lines that cannot come back is known by its words."""
        then = [line if line.there or self.in_force(line.born) else line.text for line in past.lines]
        known = {*then}
        return self._same([line if line in known else line.text for line in self.now], then)

    def _same(self, was: Sequence[object], then: Sequence[object]) -> dict[int, Line]:
        """The lines as they are now, by the places of the same texts, or lines, in another sequence."""
        same = SequenceMatcher(None, was, then, autojunk=False).get_matching_blocks()
        return {k + n: self.now[i + n] for i, k, size in same for n in range(size)}

    def _new(self, text: str, batch: int, by: str) -> Line:
        self.lines.append(Line(text, batch, by))
        return self.lines[-1]

    def _dead(self, text: str, gone: set[Line], then: Line | None) -> Line | None:
        """A line with this text whose author's work is in force: that of then, or the last one that went."""
        dead = [line for line in self.lines if line.text == text and not line.there and line not in gone]
        return next((line for line in (then, *reversed(dead)) if line in dead and self.in_force(line.born)), None)

    def _back(self, line: Line, batch: int, was: dict[Line, tuple[Act, ...]] | None) -> Act:
        before = None if was is None else was.get(line, UNBORN)
        return Act(batch, line.there, before if before is not None and _brought(before, self) == line.there else None)

    def _keep(self, now: list[Line], batch: int) -> None:
        self.before.setdefault(batch, {*self.now})
        self.now = now
        self.past[self.text] = Past(tuple(now), {line: line.acts for line in self.lines})
