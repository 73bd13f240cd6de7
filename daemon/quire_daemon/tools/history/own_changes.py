"""What somebody changed in a file between two states: the file as it is at the end, beside the same without that.

The versions in between are gone through once, with three kinds of lines: of both sides, added by the one who is asked
for, and removed by them, which stay at their places. What others do to any of these changes both sides alike. Who only
brings bytes back that stood there before (git, an undo) brings back whose lines they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from quire_journal.history import History, is_author
from quire_journal.model import REGULAR, Record, pause
from quire_journal.storage.blobs import NotHeld
from quire_journal.text import BOM, Text, changes
from quire_journal.views import Version

MOST_STEPS: Final = 2000
"""Versions of one file that are gone through."""

MOST_BYTES: Final = 4 << 20
"""Of a version that is gone through line by line."""


class OwnSide(NamedTuple):
    """The file without what somebody changed: its text, None where it would not be there; and its name and mode."""

    text: Text | None
    path: str
    mode: int


class _Line(NamedTuple):
    content: bytes
    ending: bytes
    before: bool = True  # is it on the side without what they changed?
    after: bool = True  # and on the other?


def without_own(
    path: str, end: Version, is_start: Callable[[Version], bool], own: Callable[[Record], bool | None], history: History
) -> OwnSide | None:
    """The file at `end` without what the writer of `own` records changed since the start.

    None where its lines cannot be told: it is no text, too large, too old, or its bytes are not held.
    """
    steps = _steps(path, end, is_start, history)
    if steps is None:
        return None
    try:
        return _Walk(own, history).side(*steps)
    except NotHeld:
        return None


_Step = tuple[str, Version]


def _steps(
    path: str, end: Version, is_start: Callable[[Version], bool], history: History
) -> tuple[_Step | None, list[_Step]] | None:
    """(the start, the versions after it, the oldest first), each with its path; None where they are too many."""
    found: list[_Step] = []
    at: _Step | None = (path, end)
    while at is not None and not is_start(at[1]):
        if len(found) == MOST_STEPS:
            return None
        found.append(at)
        name = at[1].moved_from or at[0]
        earlier = history.version_at(name, at[1].seq - 1)
        at = None if earlier is None else (name, earlier)
    return at, found[::-1]


class _Walk:
    """One file, step by step."""

    def __init__(self, own: Callable[[Record], bool | None], history: History) -> None:
        self._own, self._history = own, history
        self._lines: list[_Line] = []
        self._seen: dict[bytes, list[_Line]] = {}

    def side(self, start: _Step | None, steps: Sequence[_Step]) -> OwnSide | None:
        """The side without what they changed."""
        path, mode, last = "", 0, Text.of(b"")
        if start is not None and not start[1].gone:
            path, mode, last = start[0], start[1].mode, self._text(start[1])
            self._lines = _split(last)
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
            return OwnSide(None, "", 0)
        return OwnSide(_joined(before, bom, final), path or name, mode or 0o644)

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
        """One step. The lines of `a` are those that are there `after`."""
        there = [at for at, line in enumerate(self._lines) if line.after]
        lines, taken = list[_Line](), 0
        for splice in changes(a, b):
            start = there[splice.start] if splice.start < len(there) else len(self._lines)
            stop = there[splice.stop - 1] + 1 if splice.stop > splice.start else start
            lines += self._lines[taken:start]
            for line in self._lines[start:stop]:
                if own and line.before:
                    lines.append(line._replace(after=False))
                elif not own and not line.after:
                    lines.append(line)
            endings = splice.breaks or (b"\n",) * len(splice.lines)
            lines += [_Line(text, end, not own) for text, end in zip(splice.lines, endings, strict=True)]
            taken = stop
        self._lines = lines + self._lines[taken:]


def _split(text: Text) -> list[_Line]:
    return [_Line(line, ending) for line, ending in zip(text.lines, text.breaks, strict=True)]


def _joined(lines: Sequence[_Line], bom: bool, final: bool) -> Text:
    """The text of these lines. Only the last may be without a break, where the file's last line has none."""
    usual = next((line.ending for line in lines if line.ending), b"\n")
    endings = [line.ending or usual for line in lines]
    if endings and not final:
        endings[-1] = b""
    body = b"".join(part for line, ending in zip(lines, endings, strict=True) for part in (line.content, ending))
    return Text.of((BOM if bom else b"") + body)
