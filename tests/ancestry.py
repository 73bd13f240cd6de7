"""A model of what many writers do to files of slots, told from the versions of the files alone.

A file is a fixed frame with slots in it, and a slot is a block of lines that all carry its name and one token:

    slot NAME TOKEN 1/2
    slot NAME TOKEN 2/2

No token is used twice, so each text of a slot was written once, by one writer, over one other text: its parent. What
a slot holds now therefore has an ancestry, whoever brought it back by however many undos. The work of a writer is
undone when the texts at the top of the ancestry that are that writer's are taken off. A text of somebody else that
stands on one of that writer's stays, and is a conflict.

It knows nothing of Quire and imports nothing of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

Block = tuple[str, ...]
"""The lines of a slot."""

BEGIN = "begin"
"""The token that all slots begin with."""

_LINE = re.compile(r"slot (\S+) (\S+) (\d)/(\d)")


def block(slot: str, token: str, length: int = 1) -> Block:
    """A slot's lines."""
    return tuple(f"slot {slot} {token} {n}/{length}" for n in range(1, length + 1))


def token_of(lines: Block) -> str:
    """The token that they carry."""
    return lines[0].split()[2]


def page(slots: list[str], number: int) -> bytes:
    """A file with these slots as they begin; lines that nobody changes keep them apart."""
    rows = [f"page {number} begins"]
    for slot in slots:
        rows += [*block(slot, BEGIN), f"below {slot} on page {number}"]
    return "".join(f"{row}\n" for row in rows).encode()


@dataclass(frozen=True)
class Page:
    """A file taken apart."""

    slots: dict[str, Block]
    frame: tuple[str, ...]  # the other lines, and the name of each slot in its place
    lines: dict[str, tuple[int, int]]  # of each slot, 1-based, inclusive

    @classmethod
    def of(cls, data: bytes) -> Page:
        """Fails when a slot is not whole, or the file not a page."""
        slots: dict[str, list[str]] = {}
        lines: dict[str, tuple[int, int]] = {}
        frame: list[str] = []
        text = data.decode()
        assert text.endswith("\n"), text[-80:]
        for number, row in enumerate(text[:-1].split("\n"), 1):
            found = _LINE.fullmatch(row)
            if found is None:
                frame.append(row)
            elif found[1] not in slots:
                slots[found[1]], lines[found[1]] = [row], (number, number)
                frame.append(f"({found[1]})")
            else:
                slots[found[1]].append(row)
                lines[found[1]] = (lines[found[1]][0], number)
        for slot, rows in slots.items():
            first, last = lines[slot]
            assert tuple(rows) == block(slot, rows[0].split()[2], last - first + 1), rows
        return cls({slot: tuple(rows) for slot, rows in slots.items()}, tuple(frame), lines)


@dataclass(frozen=True)
class Version:
    """One version of a file, as the log tells it."""

    seq: int
    batch: int
    kind: str
    agent: str  # "" for the outside
    undoing: bool  # did it bring back what had been there?
    data: bytes

    def __str__(self) -> str:
        return f"v{self.seq} ({self.kind} by {self.agent or 'outside'}{', undoing' if self.undoing else ''})"


@dataclass(frozen=True)
class Layer:
    """One text of one slot: who wrote it, in which batch, over what."""

    writer: str  # an agent, or "outside"; "" for the beginning
    batch: int
    parent: Block | None


Place = tuple[str, str]
"""(path, slot)"""


@dataclass(frozen=True)
class Without:
    """What a slot comes to without one writer, and whether somebody else has built on that writer's text there.

    There is one text; or several, where an earlier undo had to leave some of what it names, because others had built
    on it: whether that goes or stays now nobody has said.
    """

    texts: tuple[Block, ...]
    must_conflict: bool
    may_conflict: bool


@dataclass
class Ancestry:
    """The pages of a checkout through all of their versions."""

    outside_slots: frozenset[str]
    now: dict[str, Page] = field(default_factory=dict)
    layers: dict[tuple[Place, Block], Layer] = field(default_factory=dict)
    removed_by: dict[tuple[Place, Block], Version] = field(default_factory=dict)
    changed_by: dict[Place, set[int]] = field(default_factory=lambda: defaultdict(set))
    overrun: set[Place] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)  # batches that are undone at the end, by the log's own word
    counts: Counter[str] = field(default_factory=Counter)

    def tell(self, path: str, version: Version) -> None:
        """The next version of a file. Fails when it changes what its writer had no business with."""
        page = Page.of(version.data)
        before = self.now.get(path)
        self.now[path] = page
        if before is None:
            for slot, text in page.slots.items():
                self.layers[(path, slot), text] = Layer("", version.batch, None)
            return
        assert page.frame == before.frame, f"{path}: {version} changed lines that are nobody's"
        changed = [slot for slot, text in page.slots.items() if text != before.slots[slot]]
        if not version.undoing and version.agent:
            assert len(changed) == 1, f"{path}: {version} changed the slots {changed}"
        for slot in changed:
            self._change((path, slot), before.slots[slot], page.slots[slot], version)

    def _change(self, place: Place, old: Block, new: Block, version: Version) -> None:
        known = (place, new) in self.layers
        self.removed_by[place, old] = version
        self.changed_by[place].add(version.seq)
        if version.undoing:
            assert known, f"{place}: {version} brought {new}, which never was there"
            self.counts["texts brought back"] += 1
        elif version.agent:
            assert not known, f"{place}: {version} brought back {new} without undoing anything"
            assert token_of(new).startswith(f"{version.agent}-"), f"{place}: {version} brought {new}"
        elif place[1] not in self.outside_slots:
            # A program that saved what it had read a moment before, over what had come meanwhile.
            assert known, f"{place}: {version} brought {new}, which never was there"
            self.overrun.add(place)
            self.counts["texts overrun from outside"] += 1
        if not known:
            self.layers[place, new] = Layer(version.agent or "outside", version.batch, old)
        self.removed_by.pop((place, new), None)

    def ancestry(self, place: Place) -> Iterator[tuple[Block, Layer]]:
        """What a slot holds now, what that was written over, and so on."""
        text: Block | None = self.now[place[0]].slots[place[1]]
        while text is not None:
            layer = self.layers[place, text]
            yield text, layer
            text = layer.parent

    def only_changed(self, place: Place, seq: int) -> bool:
        """Is this slot the only one of its file that the record changed?"""
        return [p for p, seqs in self.changed_by.items() if p[0] == place[0] and seq in seqs] == [place]

    def without(self, writer: str) -> dict[Place, Without]:
        """What each slot comes to when the work of `writer` is undone."""
        return {(path, slot): self._without((path, slot), writer) for path in self.now for slot in self.now[path].slots}

    def _without(self, place: Place, writer: str) -> Without:
        chain = list(self.ancestry(place))
        left_over = [text for text, layer in chain if layer.batch in self.undone]
        passed: list[Block] = []
        for text, layer in chain:
            passed.append(text)
            if layer.writer != writer and text not in left_over:
                break
        below = [layer for text, layer in chain if text not in passed and layer.writer == writer]
        if not any(text in left_over for text in passed):
            must = any(layer.batch not in self.undone for layer in below)
            return Without((passed[-1],), must_conflict=must, may_conflict=bool(below or left_over))
        return Without(tuple(passed), must_conflict=False, may_conflict=True)
