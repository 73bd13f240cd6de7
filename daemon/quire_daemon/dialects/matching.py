"""Texts that a call names by themselves: where they stand in a file, and what replacing them does to its lines.

Everything is matched against `Text.normalised`: LF at the end of each line, no byte order mark. Positions in it are
byte offsets. What no edit names keeps its bytes, so replacements become splices of lines, never a new file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, count
from operator import add
from typing import Any, Final

from rapidfuzz import fuzz, process

from quire_journal.diff import diff
from quire_journal.refusals import Refused
from quire_journal.splice import Splice
from quire_journal.text import BOM, Text, shown

Edit = tuple[int, int, bytes]
"""Replace bytes [start, stop) of the normalised text by these, whose line ends are LF."""

COMPARED_LINES: Final = 20_000
"""Lines that are looked through for one that is similar; in a longer file only those with the longest word."""

LEAST_SIMILAR: Final = 60.0
SHOWN_LINES: Final = 5
SHOWN_CHARS: Final = 400

_UNREADABLE: Final = "\ufffd"
_WORD: Final = re.compile(rb"\w+")


def normalised(sent: str) -> bytes:
    """A text that a caller sent, with LF at its line ends."""
    return sent.replace("\r\n", "\n").replace("\r", "\n").encode()


class Lines:
    """The lines of a text and the bytes of its normalised form: which line holds which byte.

    Lines are 0-based. Behind a final break begins a line that the text does not have; it is numbered all the same.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._starts: list[int] = [*map(add, accumulate(map(len, text.lines), initial=0), count())]

    def start(self, line: int) -> int:
        """Where `line` begins in the normalised text."""
        return self._starts[line]

    def end(self, line: int) -> int:
        """Where `line` ends in the normalised text, its break not counted."""
        return self._starts[line] if line == len(self.text) else self._starts[line + 1] - 1

    def at(self, offset: int) -> int:
        """The line that holds the byte at `offset`, or that ends there."""
        return bisect_right(self._starts, offset) - 1

    def on_disk(self, offset: int) -> int:
        """Where the byte at `offset` stands in the file as it is: with its BOM, and CRLF as two bytes."""
        line = self.at(offset)
        return offset - line + self._breaks[line]

    @cached_property
    def _breaks(self) -> list[int]:
        """Per line, the bytes of the BOM and of all breaks before it."""
        return [*accumulate(map(len, self.text.breaks), initial=len(BOM) if self.text.bom else 0)]


# ── finding ──────────────────────────────────────────────────────────────────


def occurrences(text: Text, old: str, most: int | None = None) -> list[tuple[int, int]]:
    """Where `old` stands in the normalised text, from left to right and without overlap; at most `most` of them.

    A text with U+FFFD stands nowhere: it is what bytes are shown as that are not UTF-8.
    """
    wanted, within = normalised(old), text.normalised
    found: list[tuple[int, int]] = []
    at = within.find(wanted) if wanted and _UNREADABLE not in old else -1
    while at >= 0 and (most is None or len(found) < most):
        found.append((at, at + len(wanted)))
        at = within.find(wanted, at + len(wanted))
    return found


def not_in(text: Text, old: str, message: str, **details: Any) -> Refused:
    """The refusal of a text that stands nowhere in the file, with the place that comes nearest to it."""
    near = nearest(text, old)
    if _UNREADABLE in old:
        message += " U+FFFD is shown for bytes that are not UTF-8; it never matches."
    if near is not None:
        how = "but for blanks" if near["differs"] == "whitespace" else "nearly"
        message += f" Line {near['line']} is {how} like it: {near['text']!r}."
        details["near_miss"] = near
    return Refused("old_text_not_found", message, "re-read_file", **details)


def nearest(text: Text, old: str) -> dict[str, Any] | None:
    """The place that is like `old`, for a person or an agent to look at; nothing is ever done on its word.

    `differs` says how: `whitespace` where only blanks and line ends do, else `similar`.
    """
    wanted = normalised(old)
    found = _but_for_blanks(text, wanted) or _similar(text, wanted)
    if found is None:
        return None
    (start, stop), differs = found
    return {
        "line": start + 1,
        "end_line": stop,
        "text": shown(b"\n".join(text.lines[start : min(stop, start + SHOWN_LINES)]))[:SHOWN_CHARS],
        "differs": differs,
    }


def _but_for_blanks(text: Text, wanted: bytes) -> tuple[tuple[int, int], str] | None:
    """The lines that hold `wanted` when blanks and line ends do not count."""
    solid = b"".join(wanted.split())
    lines = [b"".join(line.split()) for line in text.lines]
    at = b"".join(lines).find(solid) if solid else -1
    if at < 0:
        return None
    starts = [*accumulate(map(len, lines), initial=0)]
    return (bisect_right(starts, at) - 1, bisect_right(starts, at + len(solid) - 1)), "whitespace"


def _similar(text: Text, wanted: bytes) -> tuple[tuple[int, int], str] | None:
    """The line most like the longest line of `wanted`."""
    probe = max((line.strip() for line in wanted.split(b"\n")), key=len)[:SHOWN_CHARS]
    if not probe:
        return None
    rows: Sequence[int] = range(len(text))
    if len(rows) > COMPARED_LINES:
        word = max(_WORD.findall(probe), key=len, default=probe)
        rows = [i for i, line in enumerate(text.lines) if word in line][:COMPARED_LINES]
    best = process.extractOne(
        probe, [text.lines[i].strip()[:SHOWN_CHARS] for i in rows], scorer=fuzz.ratio, score_cutoff=LEAST_SIMILAR
    )
    if best is None:
        return None
    line = rows[best[2]]
    return (line, line + 1), "similar"


# ── replacing ────────────────────────────────────────────────────────────────


class Draft:
    """A text under edits of which each sees what the ones before it made."""

    def __init__(self, text: Text) -> None:
        self.now = text.normalised
        self.edits: list[Edit] = []  # of the text as it was

    def replace(self, start: int, stop: int, new: bytes) -> None:
        """Replace bytes [start, stop) of the text as it is now."""
        before: list[Edit] = []
        after: list[Edit] = []
        head = tail = b""
        moved = 0  # by how much the bytes behind the edits looked at so far have moved
        was_start: int | None = None
        was_stop: int | None = None
        for edit in self.edits:
            was, until, made = edit
            begins, ends = was + moved, was + moved + len(made)
            if ends <= start:
                before.append(edit)
            elif begins >= stop:
                after.append(edit)
                continue
            else:  # the new edit reaches into what this one made
                if was_start is None:
                    was_start = min(was, start - moved)
                if begins < start:
                    head = made[: start - begins]
                if ends > stop:
                    tail, was_stop = made[stop - begins :], until
            moved += len(made) - (until - was)
        was_start = start - moved if was_start is None else was_start
        was_stop = stop - moved if was_stop is None else was_stop
        self.edits = [*before, (was_start, was_stop, head + new + tail), *after]
        self.now = self.now[:start] + new + self.now[stop:]


def replaced(text: Text, edits: Sequence[Edit]) -> tuple[tuple[Splice, ...], bool | None]:
    """The splices that make these edits of `text.normalised`, and whether the last line has a break afterwards.

    The edits are sorted and do not overlap. Lines that stay what they are inside a replaced text are left alone and
    keep their breaks. The second value is None where the end of the text stays as it is.
    """
    if not edits:
        return (), None
    lines, whole = Lines(text), text.normalised
    splices: list[Splice] = []
    final_break: bool | None = None
    for first, last, group in _by_lines(lines, edits):
        made, at = bytearray(), lines.start(first)
        for start, stop, new in group:
            made += whole[at:start]
            made += new
            at = stop
        made += whole[at : lines.end(last)]
        new_lines = bytes(made).split(b"\n")
        if last == lines.at(len(whole)):
            ends = not new_lines[-1]
            final_break = ends if ends != text.final_break and (first or made) else None
            if ends:
                new_lines.pop()
        splices += _spliced(text, first, min(last + 1, len(text)), new_lines)
    return tuple(_joined(splices)), final_break


def _by_lines(lines: Lines, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """The edits in groups that have a line in common, each with the first and the last line that it touches."""
    groups: list[tuple[int, int, list[Edit]]] = []
    reach = 0
    for edit in edits:
        start, stop, _ = edit
        if not reach <= start <= stop <= len(lines.text.normalised):
            raise ValueError(f"edit {start}..{stop} overlaps the one before or leaves the text")
        reach = stop
        first, last = lines.at(start), lines.at(stop)
        if groups and first <= groups[-1][1]:
            before = groups[-1]
            before[2].append(edit)
            groups[-1] = (before[0], last, before[2])
        else:
            groups.append((first, last, [edit]))
    return groups


def _spliced(text: Text, start: int, stop: int, new: list[bytes]) -> list[Splice]:
    """Lines start..stop become `new`: what differs, so that a line that stays keeps its break."""
    old = text.lines[start:stop]
    if old == new:
        return []
    if len(old) < 2 or len(new) < 2:
        return [Splice(start, stop, tuple(new))]
    found = diff(_plain(old), _plain(new))
    return [Splice(s.start + start, s.stop + start, s.lines) for s in found]


def _plain(lines: Sequence[bytes]) -> Text:
    """These lines, all with the same break: only their contents are to be compared."""
    return Text(False, lines, [b"\n"] * len(lines))


def _joined(splices: Sequence[Splice]) -> Iterator[Splice]:
    """The same splices, as one where they touch and every line takes the same break either way."""
    at = 0
    while at < len(splices):
        stop = at + 1
        while stop < len(splices) and splices[stop].start == splices[stop - 1].stop and _even(splices[stop - 1]):
            stop += 1
        new = chain.from_iterable(s.lines for s in splices[at:stop])
        yield Splice(splices[at].start, splices[stop - 1].stop, tuple(new))
        at = stop


def _even(s: Splice) -> bool:
    """Does each line replace one? Then what follows takes its breaks from the same lines as before."""
    return not s.shift and s.stop > s.start
