"""One writer's changes to a file between two states, as the final file with and without these changes.

One pass over the versions keeps common lines, lines added by the writer and lines removed by the writer in order.
Changes by others apply to both sides, and restored bytes restore their lines' owners.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from quire_journal.history import History, is_author
from quire_journal.model import REGULAR, Record, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import BOM, Splice, Text, changes
from quire_journal.views import Version

MOST_STEPS: Final = 2000

MOST_BYTES: Final = 4 << 20
"""Largest version in a pass, in bytes."""


class WovenLine(NamedTuple):
    """A line of the file, or one that was removed from it."""

    content: bytes
    ending: bytes
    before: bool = True  # present without the writer's changes
    after: bool = True  # present with them
    number: int = 0  # names it among the lines
    own: bool = False  # the writer added it
    cut: bool = False  # the writer removed it
    between: tuple[int, int] = (0, 0)  # the lines around it when it was added; 0: an end
    replaces: tuple[int, ...] = ()  # the lines that it replaced


class OwnSide(NamedTuple):
    """The file without the writer's changes: its text (None: no file), path and mode."""

    text: Text | None
    path: str
    mode: int
    lines: tuple[WovenLine, ...] = ()  # of both sides, and removed ones if wanted, in order
    begun: bool = False  # there is a version at the start


def without_own(
    path: str,
    end: Version,
    is_start: Callable[[Version], bool],
    own: Callable[[Record], bool | None],
    history: History,
    *,
    removed: bool = False,
) -> OwnSide | None:
    """The file at `end` without the changes by the writer of `own` records since the start.

    `removed`: its `lines` have those that are on neither side, too.

    None for a file that is binary, too large, has too many versions, or whose bytes are not held.
    """
    steps = steps_since(path, end, is_start, history)
    if steps is None:
        return None
    try:
        return _Walk(own, history, removed).side(*steps)
    except NotHeld:
        return None


FileStep = tuple[str, Version]


def steps_since(
    path: str, end: Version, is_start: Callable[[Version], bool], history: History
) -> tuple[FileStep | None, list[FileStep]] | None:
    """(the version at the start, those since, oldest first), each with the path of the file then; None if too many."""
    found: list[FileStep] = []
    at: FileStep | None = (path, end)
    while at is not None and not is_start(at[1]):
        if len(found) == MOST_STEPS:
            return None
        found.append(at)
        name = at[1].moved_from or at[0]
        earlier = history.version_at(name, at[1].seq - 1)
        at = None if earlier is None else (name, earlier)
    return at, found[::-1]


class _Walk:
    """One pass over the versions of a file."""

    def __init__(self, own: Callable[[Record], bool | None], history: History, removed: bool) -> None:
        self._own, self._history, self._removed = own, history, removed
        self._lines: list[WovenLine] = []
        self._count = 0  # lines that have a number
        self._seen: dict[bytes, list[WovenLine]] = {}

    def side(self, start: FileStep | None, steps: Sequence[FileStep]) -> OwnSide | None:
        """The side without the writer's changes."""
        path, mode, last = "", 0, Text.of(b"")
        if start is not None and not start[1].gone:
            path, mode, last = start[0], start[1].mode, self._text(start[1])
            self._lines = self._numbered(last.lines, last.breaks)
            self._seen[start[1].blob] = [*self._lines]
        bom, final, name = last.bom, last.final_break, path
        for name, version in steps:
            pause()
            text = self._text(version)
            if text.binary or last.binary:
                return None
            own = self._is_own(version)
            if not own and version.blob in self._seen and not is_author(version, self._hint(version)):
                self._lines = [*self._seen[version.blob]]
            else:
                self._take(last, text, own)
            if not own:
                bom, final, mode = text.bom, text.final_break, version.mode
                path = "" if version.gone else name if version.moved_from or not path else path
            if not version.gone:
                self._seen[version.blob] = [*self._lines]
            last = text
        before = [line for line in self._lines if line.before]
        if not path and not before:
            return OwnSide(None, "", 0, (*self._lines,), start is not None)
        return OwnSide(joined(before, bom, final), path or name, mode or 0o644, (*self._lines,), start is not None)

    def _is_own(self, version: Version) -> bool:
        record = self._history.record(version.seq)
        return record is not None and bool(self._own(record))

    def _hint(self, version: Version) -> str:
        return str(getattr(self._history.event(version.seq), "hint", ""))

    def _text(self, version: Version) -> Text:
        if version.gone:
            return Text.of(b"")
        if version.entry != REGULAR or version.uncaptured or version.size > MOST_BYTES:
            raise NotHeld(version.blob)
        return self._history.text_of(version.blob)

    def _take(self, a: Text, b: Text, own: bool) -> None:
        there = [at for at, line in enumerate(self._lines) if line.after]
        lines, taken = list[WovenLine](), 0
        for splice in changes(a, b):
            start = there[splice.start] if splice.start < len(there) else len(self._lines)
            stop = there[splice.stop - 1] + 1 if splice.stop > splice.start else start
            if stop == start:  # lines in front of those that replaced others are in front of the replaced ones, too
                start = stop = self._above_replaced(start)
            lines += self._lines[taken:start]
            for line in self._lines[start:stop]:
                left = line._replace(after=False, before=line.before and own, cut=own) if line.after else line
                if left.before or self._removed:
                    lines.append(left)
            endings = splice.breaks or (b"\n",) * len(splice.lines)
            added = self._numbered(splice.lines, endings)
            lines += self._placed(added, there, splice, own)
            taken = stop
        self._lines = lines + self._lines[taken:]

    def _above_replaced(self, at: int) -> int:
        replaced = self._lines[at].replaces if at < len(self._lines) else ()
        while at and not self._lines[at - 1].after and self._lines[at - 1].number in replaced:
            at -= 1
        return at

    def _placed(self, added: Sequence[WovenLine], there: Sequence[int], splice: Splice, own: bool) -> list[WovenLine]:
        """New lines, with what they replace and stand between."""
        replaces = tuple(self._lines[at].number for at in there[splice.start : splice.stop])
        above, below = (
            self._lines[there[at]].number if 0 <= at < len(there) else 0 for at in (splice.start - 1, splice.stop)
        )
        return [line._replace(before=not own, own=own, between=(above, below), replaces=replaces) for line in added]

    def _numbered(self, lines: Sequence[bytes], endings: Sequence[bytes]) -> list[WovenLine]:
        first = self._count + 1
        self._count += len(lines)
        each = enumerate(zip(lines, endings, strict=True), first)
        return [WovenLine(line, end, number=number) for number, (line, end) in each]


def joined(lines: Sequence[WovenLine], bom: bool, final: bool) -> Text:
    """The text of these lines. Only the last line may lack a break, if the file's last line does."""
    usual = next((line.ending for line in lines if line.ending), b"\n")
    endings = [line.ending or usual for line in lines]
    if endings and not final:
        endings[-1] = b""
    body = b"".join(part for line, ending in zip(lines, endings, strict=True) for part in (line.content, ending))
    return Text.of((BOM if bom else b"") + body)
