"""Finds the lines to which a patch's hunks apply. A hunk without exactly one position is refused.

Hunks are matched exactly, as whole lines, against the file before the request. Among several positions only these
decide, in this order:

* `@@ text`: the hunk is in the section that begins with this line (innermost, if headers are stacked). The section
  ends at the next line indented no deeper; a hunk indented no deeper than the header may be anywhere below it.
  `*** End of File`: the hunk is at the end.
* line numbers, if every hunk of the file matches exactly at its stated line
* order, if only one combination of positions has all hunks in order

A hunk that only adds lines adds them at the end of the file, before a blank last line, as Codex does; or at its line
number, if the caller has read this version. A blank last line of a hunk may also stand for the file's final line break.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NoReturn

import msgspec
from msgspec.structs import replace

from quire_daemon.dialects import Plan
from quire_daemon.dialects.patch.model import FilePatch, Line, PatchHunk
from quire_daemon.dialects.text import SHOWN_CHARS, near_miss, nearest_line, why_not
from quire_journal.model import Refusal, cached_property
from quire_journal.text import BOM, Splice, Text, apply, shown

NAME: Final = "apply_patch"

MOST_PLACES: Final = 20
MOST_LOOKED_AT: Final = 10_000
"""Maximum number of positions examined for one hunk."""

MOST_COUNTED: Final = 100_000
"""Maximum number of matching lines counted in the search for a position where most lines of a hunk match."""

TAB: Final = 8
TOO_DEEP: Final = 1 << 62
_UNREADABLE: Final = "\ufffd".encode()
_NO_SECTION: Final = (b"{", b"}", b"(", b")", b"[", b"]", b"#", b"//", b"/*", b"*")
"""Prefixes of lines that do not end a section although they are indented no deeper than its header."""

_FIRST_WORD: Final = re.compile(rb"[a-z]+\b")
_GOING_ON: Final = frozenset(b"else elif elsif elseif except finally catch rescue ensure".split())


def plan_file(patch: FilePatch, text: Text, known: bool) -> Plan:
    """Return the splices for the patch of an existing file; `known` is True if the caller has read this version. Raises
    `Refusal`: `patch_apply_error` with a `reason`, or `multiple_matches`.
    """
    work = _Work(patch, text, known)
    places = work.places()
    plan = work.plan(places)
    if patch.kind == "delete" and patch.hunks and len(apply(text, plan.splices, plan.final_break)):
        work.refuse(0, "lines_remain", f"{patch.path} has other lines than those that the patch removes.")
    if patch.kind == "delete" and patch.unified and not patch.hunks and text.data:
        _refuse(patch, patch.number, "lines_remain", f"{patch.path} has lines, and the patch removes none of them.")
    return plan


def _refuse(patch: FilePatch, number: int, reason: str, message: str, **details: Any) -> NoReturn:
    raise Refusal("patch_apply_error", message, "re-read_file", reason=reason, path=patch.path, line=number, **details)


class _Span(msgspec.Struct, frozen=True):
    length: int  # number of matched lines
    first: int  # first changed line
    stop: int  # end of the last changed line

    @classmethod
    def of(cls, hunk: PatchHunk) -> _Span:
        at = 0
        touched: list[tuple[int, int]] = []
        for line in hunk.lines:
            if line.mark != " ":
                touched.append((at, at + line.old))
            at += line.old
        if not touched:
            return cls(at, 0, at)
        return cls(at, touched[0][0], touched[-1][1])


class _Work:
    """Finds the positions (lines from 0) of the hunks of one file's patch. `known`: the caller has read this
    version.
    """

    def __init__(self, patch: FilePatch, text: Text, known: bool) -> None:
        self.text = text
        self.known = known
        self.patch = patch
        self.patch = replace(patch, hunks=tuple(map(self._without_last_break, patch.hunks)))
        self.spans = [_Span.of(hunk) for hunk in self.patch.hunks]
        self._ends: dict[int, tuple[int, int]] = {}  # depth → (begin of a run of deeper lines in the outline, its end)

    def refuse(self, index: int, reason: str, message: str, **details: Any) -> NoReturn:
        _refuse(self.patch, self.patch.hunks[index].number, reason, message, hunk=index + 1, **details)

    # ── finding ──

    def _without_last_break(self, hunk: PatchHunk) -> PatchHunk:
        last, old = hunk.lines[-1] if hunk.lines else None, hunk.old
        if last is None or last.mark != " " or last.text or len(old) < 2:
            return hunk
        if hunk.start is not None or not self.text.final_break:  # a numbered hunk counts its blank last line as a line
            return hunk
        stands_at_end = len(self.text) - len(old) + 1 in self._matching(old[:-1])
        return replace(hunk, lines=hunk.lines[:-1]) if stands_at_end and not self._matching(old) else hunk

    def places(self) -> list[int]:
        found = [self._possible(index) for index in range(len(self.patch.hunks))]
        return self._as_numbered(found) or self._only(found) or self._in_order(found)

    def _possible(self, index: int) -> list[int]:
        hunk, total = self.patch.hunks[index], len(self.text)
        old = hunk.old
        if not old:
            return [self._without_lines(index)]
        matching = self._matching(old)
        if not matching:
            self._refuse_missing(index, old)
        if len(matching) > MOST_LOOKED_AT:
            self._refuse_several(index, matching)
        under = self._under(index, matching)
        if not under:
            where = _named(matching)
            message = (
                f"{self._name(index)}: its lines do not stand under {_headers(hunk)}, but at {where}; "
                "name a line that they stand under, or none."
            )
            self.refuse(index, "context_not_found", message, matchRanges=self._ranges(matching, len(old)))
        if not (hunk.at_end or hunk.opens):
            return under
        ending = [at for at in under if at + len(old) == total]
        if not ending:
            message = f"{self._name(index)}: its lines stand at {_named(under)}, which is not the end of the file."
            self.refuse(index, "context_not_found", message, matchRanges=self._ranges(under, len(old)))
        if not old[-1].ends and self.text.final_break:
            message = f"{self._name(index)}: the patch says that the last line has no newline, but it has one."
            self.refuse(index, "context_not_found", message)
        return ending

    def _matching(self, old: Sequence[Line]) -> list[int]:
        wanted = [line.text for line in old]
        if any(_UNREADABLE in line for line in wanted):
            return []
        lines = self.text.lines
        if wanted[0].startswith(BOM) and self.text.bom:
            wanted[0] = wanted[0].removeprefix(BOM)
            return [0] if list(lines[: len(wanted)]) == wanted else []
        rare = min(range(len(wanted)), key=lambda i: len(self._lines_saying(wanted[i])))
        found: list[int] = []
        for at in self._lines_saying(wanted[rare]):
            first = at - rare
            if first >= 0 and list(lines[first : first + len(wanted)]) == wanted:
                found.append(first)
                if len(found) > MOST_LOOKED_AT:
                    break
        return found

    def _lines_saying(self, said: bytes) -> Sequence[int]:
        return self._standing.get(said, ())

    @cached_property
    def _standing(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {line.text: [] for hunk in self.patch.hunks for line in hunk.old}
        for at, line in enumerate(self.text.lines):
            if line in found:
                found[line].append(at)
        return found

    def _without_lines(self, index: int) -> int:
        hunk, total = self.patch.hunks[index], len(self.text)
        self._sections(index, TOO_DEEP)  # raises if a header is no line of the file
        if hunk.at_end or not total:
            return total
        if hunk.start is None:
            return total - 1 if not (self.text.lines[-1] or hunk.opens) else total
        last = total if hunk.opens else 0  # earliest possible gap
        if not self.known or not last <= hunk.start <= total:
            message = (
                f"{self._name(index)} only adds lines, and it is not known that line {hunk.start + 1} is where they "
                "belong; give a line of context, or no line number to add them at the end."
            )
            self.refuse(index, "no_context", message)
        return hunk.start

    def _under(self, index: int, matching: Sequence[int]) -> list[int]:
        hunk = self.patch.hunks[index]
        begins = next((_depth(line.text) for line in hunk.old if line.text.strip()), TOO_DEEP)
        tried = (_inside(self._sections(index, depth), matching) for depth in (TOO_DEEP, begins))
        return next((found for within in tried if (found := [at for at, _ in within])), [])

    def _sections(self, index: int, begins: int) -> list[tuple[int, int]]:
        """Return the line ranges in which hunk `index` may be: from each `@@` header to the end of its section, or of
        the enclosing range if `begins` (the hunk's indentation) is no deeper than the header's. Raises `Refusal`
        `context_not_found` if no line matches a header.
        """
        lines = self.text.lines
        sections = [(0, len(self.text))]
        for header in self.patch.hunks[index].headers:
            wanted = header.strip().encode()
            sections = [
                (at, self._section_end(at, stop) if begins > _depth(lines[at]) else stop)
                for at, stop in _inside(sections, self._lines_like(wanted))
            ]
            if not sections:
                near = nearest_line(self.text, header)
                message = f"{self._name(index)}: there is no line {header!r} for it to stand under."
                message += why_not(header, near)
                self.refuse(index, "context_not_found", message, header=header, **({"near_miss": near} if near else {}))
        return sections

    def _lines_like(self, wanted: bytes) -> Iterator[int]:
        if _UNREADABLE in wanted:
            return iter(())
        return (at for at, line in enumerate(self.text.lines) if wanted in line and line.strip() == wanted)

    def _section_end(self, at: int, stop: int) -> int:
        """Return the end of the section that begins with line `at`: the next line indented no deeper, or `stop`."""
        lines, depths = self._outline
        depth, first = _depth(self.text.lines[at]), bisect_right(lines, at)
        if first == len(lines) or depths[first] <= depth:
            return stop
        since, end = self._ends.get(depth, (0, 0))
        if not since <= first < end:
            end = next((n for n in range(first, len(lines)) if depths[n] <= depth), len(lines))
            self._ends[depth] = first, end
        return min(lines[end], stop) if end < len(lines) else stop

    @cached_property
    def _outline(self) -> tuple[list[int], list[int]]:
        ending = [at for at, line in enumerate(self.text.lines) if (said := line.strip()) and not _is_part(said)]
        return ending, [_depth(self.text.lines[at]) for at in ending]

    # ── choosing ──

    def _as_numbered(self, found: Sequence[Sequence[int]]) -> list[int]:
        places = [hunk.start for hunk in self.patch.hunks]
        told = [at for at in places if at is not None]
        exact = len(told) == len(places) and all(at in where for at, where in zip(told, found, strict=True))
        return told if exact and self._ordered(told) else []

    def _only(self, found: Sequence[Sequence[int]]) -> list[int]:
        return [where[0] for where in found] if all(len(where) == 1 for where in found) else []

    def _in_order(self, found: Sequence[Sequence[int]]) -> list[int]:
        first, last = self._earliest(found), self._latest(found)
        for index, where in enumerate(found):
            between = where if not first or not last else [at for at in where if first[index] <= at <= last[index]]
            if len(between) > 1:
                self._refuse_several(index, between)
        return first

    def _earliest(self, found: Sequence[Sequence[int]]) -> list[int]:
        places: list[int] = []
        reach = 0
        for where, span in zip(found, self.spans, strict=True):
            if not span.length:
                places.append(where[0])
                continue
            at = bisect_left(where, reach - span.first)
            if at == len(where):
                return []
            places.append(where[at])
            reach = where[at] + span.stop
        return places

    def _latest(self, found: Sequence[Sequence[int]]) -> list[int]:
        places: list[int] = []
        reach = len(self.text)
        for where, span in zip(reversed(found), reversed(self.spans), strict=True):
            if not span.length:
                places.append(where[0])
                continue
            at = bisect_right(where, reach - span.stop)
            if not at:
                return []
            places.append(where[at - 1])
            reach = where[at - 1] + span.first
        return places[::-1]

    def _ordered(self, places: Sequence[int]) -> bool:
        reach = 0
        for at, span in zip(places, self.spans, strict=True):
            if at + span.first < reach:
                return False
            reach = at + span.stop
        return True

    # ── planning ──

    def plan(self, places: Sequence[int]) -> Plan:
        self._require_apart(places)
        splices: list[Splice] = []
        warnings: list[dict[str, Any]] = []
        final_break: bool | None = None
        for index, (hunk, at) in enumerate(zip(self.patch.hunks, places, strict=True)):
            splices += self._splices(hunk, at)
            if hunk.opens:
                ends = not hunk.new or bool(hunk.new[-1].ends)
                final_break = None if ends == self.text.final_break else ends  # context lines change nothing
            warnings += self._remarks(index, at)
        splices.sort(key=lambda s: (s.start, s.stop))
        return Plan(tuple(splices), max(len(self.patch.hunks), 1), final_break, tuple(warnings))

    def _require_apart(self, places: Sequence[int]) -> None:
        """Raise `Refusal` if two hunks, placed at `places`, overlap in a removed line, or if the line after an
        insertion without context is removed.
        """
        rows = sorted((at, index) for index, at in enumerate(places))
        for n, (at, index) in enumerate(rows):
            span = self.spans[index]
            for m in range(n + 1, len(rows)):
                below, other = rows[m]
                if below >= at + span.length:
                    break
                shared = (below, min(at + span.length, below + self.spans[other].length))
                if self._removes(index, at, shared) or self._removes(other, below, shared):
                    message = f"{self._name(max(index, other))} and hunk {min(index, other) + 1} change the same lines."
                    hunks = sorted((index + 1, other + 1))
                    self.refuse(max(index, other), "overlapping_hunks", message, hunks=hunks)

    def _removes(self, index: int, at: int, shared: tuple[int, int]) -> bool:
        start, stop = shared
        for line in self.patch.hunks[index].lines:
            if line.mark == "-" and (start <= at < stop or start == stop == at):
                return True
            at += line.old
        return False

    def _splices(self, hunk: PatchHunk, at: int) -> Iterator[Splice]:
        exact = self.patch.unified and self._same_breaks(hunk, at)
        start, new = at, list[Line]()
        for line in (*hunk.lines, None):
            if line is not None and line.mark == "+":
                new.append(line)
            elif line is not None and line.mark == "-":
                at += 1
            else:
                if new or at > start:
                    yield self._splice(start, at, new, exact)
                at += 1
                start, new = at, []

    def _splice(self, start: int, stop: int, new: Sequence[Line], exact: bool) -> Splice:
        texts = [line.text for line in new]
        if texts and not start and self.text.bom:
            texts[0] = texts[0].removeprefix(BOM)
        return Splice(start, stop, tuple(texts), tuple(line.ends for line in new) if exact else None)

    def _same_breaks(self, hunk: PatchHunk, at: int) -> bool:
        old = hunk.old
        same = [line.ends for line in old] == list(self.text.breaks[at : at + len(old)])
        return same and (bool(old) or not len(self.text))

    # ── telling ──

    def _name(self, index: int) -> str:
        return f"Hunk {index + 1} of {self.patch.path}"

    def _ranges(self, places: Sequence[int], length: int) -> list[dict[str, int]]:
        text = self.text
        sizes = (len(line) + len(ends) for line, ends in zip(text.lines, text.breaks, strict=True))
        begins = [*accumulate(sizes, initial=len(BOM) if text.bom else 0)]
        return [
            {
                "startLine": at + 1,
                "endLine": at + length,
                "startOffset": begins[at],
                "endOffset": begins[at + length] - len(text.breaks[at + length - 1]),
            }
            for at in places[:MOST_PLACES]
        ]

    def _remarks(self, index: int, at: int) -> Iterator[dict[str, Any]]:
        hunk = self.patch.hunks[index]
        if hunk.headers and not hunk.old and len(self.text):
            message = f"{self._name(index)} only adds lines: they are at the end of the file, not under "
            message += f"{_headers(hunk)}. Lines of context say where else lines go."
            yield {"type": "added_at_end", "message": message, "line": at + 1}
        if hunk.old and hunk.start is not None and hunk.start != at:
            message = f"{self._name(index)} says line {hunk.start + 1}; its lines stand at line {at + 1}."
            yield {"type": "line_number_off", "message": message, "line": at + 1}
        marked = [bool(side) and side[0].text.startswith(BOM) for side in (hunk.old, hunk.new)]
        if not at and self.text.bom and marked == [True, False]:
            yield {"type": "bom_kept", "message": f"{self.patch.path} keeps its byte order mark.", "line": 1}

    def _refuse_missing(self, index: int, old: Sequence[Line]) -> NoReturn:
        message = f"{self._name(index)} (line {self.patch.hunks[index].number} of the patch) matches nowhere."
        absent = [line.text for line in old if _UNREADABLE in line.text or not self._lines_saying(line.text)]
        missing = next((line for line in absent if line.strip()), None)
        details: dict[str, Any] = {"missing_line": shown(missing or absent[0])} if absent else {}
        if missing is not None:
            said = shown(missing)
            near = nearest_line(self.text, said)
            message += f" The file has no line {said!r}.{why_not(said, near)}"
        else:
            said, near = self._nearly(old)
            message += said
        if near is not None:
            details["near_miss"] = near
        self.refuse(index, "context_not_found", message, **details)

    def _nearly(self, old: Sequence[Line]) -> tuple[str, dict[str, Any] | None]:
        each = max(MOST_COUNTED // len(old), 1)
        starts = Counter(at - n for n, line in enumerate(old) for at in self._lines_saying(line.text)[:each] if at >= n)
        best = max(starts.values(), default=0)
        if best * 3 < len(old):
            return " Its lines do not stand together in the file.", None
        first = min(at for at, count in starts.items() if count == best)
        stop = min(first + len(old), len(self.text))
        there = self.text.lines[first:stop]
        n = next((n for n, line in enumerate(there) if line != old[n].text), len(there))
        if n == len(old):  # only a byte order mark differs
            return "", None
        found = f"line {first + n + 1} is {_said(there[n])}" if n < len(there) else "the file ends there"
        said = f" It nearly fits at line {first + 1}, but {found}, where the patch has {_said(old[n].text)}."
        return said, near_miss(self.text, first, stop, "some_lines")

    def _refuse_several(self, index: int, where: Sequence[int]) -> NoReturn:
        hunk = self.patch.hunks[index]
        message = (
            f"{self._name(index)} (line {hunk.number} of the patch) matches at {_named(where)}; "
            "give more lines of context, or a line behind `@@` that it stands under."
        )
        raise Refusal(
            "multiple_matches",
            message,
            "add_context",
            path=self.patch.path,
            hunk=index + 1,
            line=hunk.number,
            matchCount=len(where),
            matchRanges=self._ranges(where, len(hunk.old)),
        )


def _said(line: bytes) -> str:
    return repr(shown(line)[:SHOWN_CHARS]) if line else "an empty line"


def _named(places: Sequence[int]) -> str:
    told = ", ".join(str(at + 1) for at in places[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return f"line{'' if len(places) == 1 else 's'} {told}{more}"


def _headers(hunk: PatchHunk) -> str:
    return " and ".join(f"`@@ {header}`" for header in hunk.headers)


# ── sections ─────────────────────────────────────────────────────────────────


def _inside(sections: Sequence[tuple[int, int]], places: Iterable[int]) -> Iterator[tuple[int, int]]:
    at_hand = stop = 0
    for at in places:
        while at_hand < len(sections) and sections[at_hand][0] <= at:
            stop = max(stop, sections[at_hand][1])
            at_hand += 1
        if at < stop:
            yield at, stop


def _depth(line: bytes) -> int:
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip())


def _is_part(said: bytes) -> bool:
    if said.startswith(_NO_SECTION) or (said.endswith(b":") and said[:-1].isalpha()):
        return True
    word = _FIRST_WORD.match(said)
    return word is not None and word[0] in _GOING_ON
