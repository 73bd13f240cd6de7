"""Texts that a call names by themselves: where they stand in a file, and what replacing them does to its lines.

Everything is matched against `Text.normalised`: LF at the end of each line, no byte order mark. Positions in it are
byte offsets. What no edit names keeps its bytes, so replacements become splices of lines, never a new file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
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
_BLANKS: Final = b" \t\n\r\v\f"
_WORD: Final = re.compile(rb"\w+")


def normalised(sent: str) -> bytes:
    """A text that a caller sent, with LF at its line ends."""
    return sent.replace("\r\n", "\n").replace("\r", "\n").encode()


class Lines:
    """Which line of a text holds which byte of its normalised form. Fast for offsets that are asked for in order.

    Lines are 0-based. Behind a final break begins a line that the text does not have; it is numbered all the same.
    """

    def __init__(self, text: Text) -> None:
        self.text = text
        self._whole = text.normalised
        self._offset = self._line = 0  # the last answer of `at`
        self._counted = self._crlf = 0  # lines looked at by `on_disk`, and how many end with CRLF
        self._has_crlf = b"\r\n" in text.data

    def at(self, offset: int) -> int:
        """The line that holds the byte at `offset`, or that ends there."""
        if offset < self._offset:
            self._offset = self._line = 0
        self._line += self._whole.count(b"\n", self._offset, offset)
        self._offset = offset
        return self._line

    def begin(self, offset: int) -> int:
        """Where the line at `offset` begins."""
        return self._whole.rfind(b"\n", 0, offset) + 1

    def end(self, offset: int) -> int:
        """Where the line at `offset` ends, its break not counted."""
        found = self._whole.find(b"\n", offset)
        return len(self._whole) if found < 0 else found

    def start(self, line: int) -> int:
        """Where `line` begins."""
        return sum(map(len, self.text.lines[:line])) + line

    def on_disk(self, offset: int) -> int:
        """Where the byte at `offset` stands in the file as it is: with its BOM, and CRLF as two bytes."""
        line = self.at(offset)
        if self._has_crlf:
            if line < self._counted:
                self._counted = self._crlf = 0
            self._crlf += self.text.breaks[self._counted : line].count(b"\r\n")
            self._counted = line
        return offset + self._crlf + (len(BOM) if self.text.bom else 0)


# ── finding ──────────────────────────────────────────────────────────────────


def occurrences(text: Text, old: str, most: int | None = None) -> list[tuple[int, int]]:
    """Where `old` stands in the normalised text, from left to right and without overlap; at most `most` of them."""
    return places(text.normalised, old, most)


def places(within: bytes, old: str, most: int | None = None) -> list[tuple[int, int]]:
    """Where `old` stands in bytes whose line ends are LF, from left to right and without overlap.

    A text with U+FFFD stands nowhere: it is what bytes are shown as that are not UTF-8.
    """
    wanted = normalised(old)
    found: list[tuple[int, int]] = []
    at = within.find(wanted) if wanted and _UNREADABLE not in old else -1
    while at >= 0 and (most is None or len(found) < most):
        found.append((at, at + len(wanted)))
        at = within.find(wanted, at + len(wanted))
    return found


def not_in(text: Text, old: str, message: str, **details: Any) -> Refused:
    """The refusal of a text that stands nowhere in the file, with the place that comes nearest to it."""
    near = nearest(text, old)
    if near is not None:
        details["near_miss"] = near
    return Refused("old_text_not_found", message + why_not(old, near), "re-read_file", **details)


def why_not(old: str, near: dict[str, Any] | None) -> str:
    """What a message says behind "not found": more sentences, or nothing."""
    said = " U+FFFD is shown for bytes that are not UTF-8; it never matches." if _UNREADABLE in old else ""
    if near is not None:
        how = "differs from it in blanks only" if near["differs"] == "whitespace" else "comes nearest to it"
        said += f" Line {near['line']} {how}: {near['text'][:SHOWN_CHARS]!r}."
    return said


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
    solid = wanted.translate(None, _BLANKS)
    at = text.normalised.translate(None, _BLANKS).find(solid) if solid else -1
    if at < 0:
        return None
    ends = [*accumulate(len(line.translate(None, _BLANKS)) for line in text.lines)]
    return (bisect_right(ends, at), bisect_right(ends, at + len(solid) - 1) + 1), "whitespace"


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
    for first, last, flat, group in _by_lines(lines, edits):
        at, end = lines.begin(group[0][0]), lines.end(group[-1][1])
        parts: list[bytes] = []
        for start, stop, new in group:
            parts += whole[at:start], new
            at = stop
        made = b"".join([*parts, whole[at:end]])
        new_lines = made.split(b"\n")
        if end == len(whole):
            ends = not new_lines[-1]
            final_break = ends if ends != text.final_break and (first or made) else None
            if ends:
                new_lines.pop()
        splices += _spliced(text, first, min(last + 1, len(text)), new_lines, flat)
    return tuple(_joined(splices)), final_break


def _by_lines(lines: Lines, edits: Sequence[Edit]) -> Iterator[tuple[int, int, bool, list[Edit]]]:
    """The edits in groups that have a line in common, each with the first and the last line that it touches.

    Edits inside of lines, one after another, are one group too; the third value says that it is such a one, in which
    each line takes the place of one.
    """
    group: list[Edit] = []
    begun = last = reach = 0
    newest = 0  # which of the group is the first one in line `last`
    flat = False
    for edit in edits:
        start, stop, new = edit
        if not reach <= start <= stop:
            raise ValueError(f"edit {start}..{stop} overlaps the one before")
        reach = stop
        first, until = lines.at(start), lines.at(stop)
        inside = first == until and b"\n" not in new
        if group and flat and not inside and first == last and newest:
            yield begun, last - 1, True, group[:newest]
            group, begun, newest = group[newest:], last, 0
        if group and first <= last:
            flat = flat and inside
        elif group and flat and inside and first == last + 1:
            newest = len(group)
        else:
            if group:
                yield begun, last, flat, group
            group, begun, newest, flat = [], first, 0, inside
        group.append(edit)
        last = until
    if group:
        yield begun, last, flat, group


def _spliced(text: Text, start: int, stop: int, new: list[bytes], flat: bool) -> list[Splice]:
    """Lines start..stop become `new`; what differs of it, so that a line that stays keeps its break.

    `flat`: line for line.
    """
    old = text.lines[start:stop]
    if old == new:
        return []
    if flat or len(old) < 2 or len(new) < 2:
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
