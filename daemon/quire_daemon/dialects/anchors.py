"""Resolution of the anchors of the `edit` tool: finds the line that a hash names, or refuses (seeds 000 and 002).

A hash is looked up in the version of the file that the caller has read. If several lines have the hash, the lines shown
to the caller, `occurrence` or a line number select one; otherwise the request is refused.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from quire_daemon.config import EditDialect
from quire_daemon.dialects.base import Sight
from quire_journal.model import cached_property, counted
from quire_journal.text import FULL_DIGITS, SHOWN_DIGITS, LineHashes, is_poor, shown

NEIGHBOURS: Final = 3

PREVIEW_CHARS: Final = 80
MOST_CANDIDATES: Final = 100
MOST_CONTENT: Final = 1_000

MOST_IN_FULL: Final = 20
"""Maximum number of failed operations reported with details; further ones have only code and message."""

FEW_ANCHORS: Final = 64
"""Number of anchors searched one by one; for more, an index is built."""

_ANCHOR: Final = re.compile(r"(?:([1-9][0-9]{0,8})#)?([0-9a-fA-F]{4,8})", re.ASCII)


# ── how operations name lines ────────────────────────────────────────────────


class Operation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op"):
    """Base of the operations in an `edit` request."""


class AtLine(Operation, frozen=True, kw_only=True):
    """Base of operations on one line, named by its hash."""

    hash: str
    occurrence: int | None = None  # 1-based, among the lines of the base that match
    line: int | None = None  # 1-based, advisory: chooses among lines that match


class OverRange(Operation, frozen=True, kw_only=True):
    """Base of operations on a range, named by the hashes of its first and last line."""

    start_hash: str
    end_hash: str
    start_line: int | None = None
    end_line: int | None = None


# ── one line ─────────────────────────────────────────────────────────────────


class Fails(Exception):
    """Failure of one operation of an `edit` request: a refusal code, a message, and fields that help to correct the
    operation.
    """

    def __init__(self, code: str, message: str, action: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.action, self.details = code, message, action, details


class Candidates(list[int]):
    """The lines (from 0, sorted) that match an anchor."""

    def __init__(self, lines: Iterable[int], sight: Sight, hashes: LineHashes) -> None:
        super().__init__(lines)
        self._sight, self._hashes = sight, hashes

    @property
    def in_sight(self) -> Candidates:
        """The candidate lines that the caller was shown; all candidate lines if none of them was shown."""
        return self._shown or self

    @cached_property
    def _shown(self) -> Candidates:
        seen: list[int] = []
        for start, stop in self._sight.shown or ():
            seen += self[bisect_left(self, start) : bisect_left(self, stop)]
        return Candidates(seen, self._sight, self._hashes)

    @cached_property
    def poor(self) -> bool:
        """True if every candidate line is blank or little more than a bracket, too common for an anchor."""
        return all(map(is_poor, map(self._hashes.lines.__getitem__, self)))

    @cached_property
    def apart(self) -> bool:
        """True if a longer hash, or one that includes the neighbouring lines, would tell all candidate lines apart."""
        hashes, few = self._hashes, len(self) < FEW_ANCHORS
        return _all_differ(hashes.digits(line) for line in self) or _all_differ(
            hashes.contexts_of(self) if few else (hashes.contexts[line] for line in self)
        )


class Snapshot(msgspec.Struct, frozen=True):
    """Version of a file in which a request's anchors are resolved, with the hashes of its lines."""

    sight: Sight
    hashes: LineHashes
    settings: EditDialect
    _found: dict[str, Candidates] = msgspec.field(default_factory=dict)  # by anchor digits
    _listed: list[str] = msgspec.field(default_factory=list)  # codes of failures reported so far
    by_hint: set[int] = msgspec.field(
        default_factory=set
    )  # lines selected by a line number among lines of equal hash, and those line numbers

    def candidates(self, digits: str) -> Candidates:
        """Return the lines whose hash begins with `digits`. If there is none and `digits` has 8 digits, return the
        lines whose hash together with their neighbours is `digits`.
        """
        found = self._found.get(digits)
        if found is None:
            if len(self._found) == FEW_ANCHORS:
                self.hashes.expect_many()
            lines = self.hashes.matching(digits)
            if not lines and len(digits) == FULL_DIGITS:
                lines = self.hashes.matching_context(digits)
            found = self._found[digits] = Candidates(lines, self.sight, self.hashes)
        return found

    def lists(self, code: str) -> bool:
        """Count a failure with this refusal code; return True if its reply should list candidate lines, as for the
        first `MOST_IN_FULL`.
        """
        self._listed.append(code)
        return len(self._listed) <= MOST_IN_FULL


def _all_differ(names: Iterable[str]) -> bool:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return False
        seen.add(name)
    return True


def _matching(at: Snapshot, anchor: str, name: str) -> tuple[Candidates, int | None]:
    """Return the lines that `anchor` matches, and the line number (from 0) in the anchor or None. Raises `Fails` if no
    line matches or the anchor is malformed.
    """
    parsed = _ANCHOR.fullmatch(anchor)
    found = at.candidates(parsed[2].lower()) if parsed else None
    if not parsed or not found:
        hint = "" if parsed else " An anchor is 4 to 8 hex digits, or a line number with them: 119#c812f1."
        message = f"No line has the hash {anchor[:PREVIEW_CHARS]!r}.{hint}"
        raise Fails("anchor_stale", message, "re-read_file", anchor=name, reason="missing", missing=[anchor])
    return found, int(parsed[1]) - 1 if parsed[1] else None


def _nearest(candidates: list[int], hint: int) -> list[int]:
    least = min(abs(i - hint) for i in candidates)
    return [i for i in candidates if abs(i - hint) == least]


def _by_occurrence(at: Snapshot, found: list[int], occurrence: int, hint: int | None, anchor: str) -> int:
    if not 1 <= occurrence <= len(found):
        message = f"{anchor} matches {counted(len(found), 'line')}; there is no occurrence {occurrence}."
        raise _ambiguous(at, "anchor_ambiguous", message, found, found)
    chosen = found[occurrence - 1]
    if hint is not None and chosen not in _nearest(found, hint):
        message = f"Occurrence {occurrence} of {anchor} is line {chosen + 1}; line {hint + 1} asks for another one."
        raise _ambiguous(at, "anchor_context_ambiguous", message, found, found)
    return chosen


def _by_hint(at: Snapshot, pool: list[int], found: list[int], hint: int, anchor: str) -> int:
    near = [hint] if hint in pool else _nearest(pool, hint)
    if len(near) > 1:
        message = f"{anchor} matches lines {_numbers(near)}, equally near to line {hint + 1}."
        raise _ambiguous(at, "anchor_context_ambiguous", message, pool, found)
    if len(pool) > 1:
        at.by_hint.update((near[0], hint))
    return near[0]


def _hint(stated: int | None, carried: int | None) -> int | None:
    return carried if stated is None else stated - 1


def resolve_line(at: Snapshot, op: AtLine) -> int:
    """Return the line (from 0) of a single-line operation. Raises `Fails` if its hash matches no line, several lines,
    or only lines too common for an anchor.
    """
    found, carried = _matching(at, op.hash, "hash")
    hint = _hint(op.line, carried)
    pool = found.in_sight
    if op.occurrence is not None:
        return _by_occurrence(at, found, op.occurrence, hint, op.hash)
    if pool.poor:
        unique = at.settings.low_entropy == "allow_unique" and len(found) == 1
        if not unique:
            raise _poor(at, pool if hint is None else _nearest(found, hint), found)
    if hint is not None:
        return _by_hint(at, pool, found, hint, op.hash)
    if len(pool) > 1:
        code = "anchor_ambiguous" if pool.apart else "anchor_context_ambiguous"
        message = f"{op.hash} matches lines {_numbers(pool)}; {_ADVICE[code]}."
        raise _ambiguous(at, code, message, pool, found)
    return pool[0]


_ADVICE: Final = {
    "anchor_ambiguous": "use the `anchor` of the one you mean, or `occurrence`",
    "anchor_context_ambiguous": "nothing but `occurrence` or `line` tells them apart",
}


def _ambiguous(at: Snapshot, code: str, message: str, pool: list[int], found: list[int], **more: Any) -> Fails:
    if not at.lists(code):
        return Fails(code, message, "use_candidate_anchor", candidates=[], more_candidates=len(pool), **more)
    listed = pool[:MOST_CANDIDATES]
    anchors = _telling_anchors(at, listed)
    rows = [
        {
            "line": line + 1,
            "preview": shown(at.hashes.lines[line][: 4 * PREVIEW_CHARS])[:PREVIEW_CHARS],
            "anchor": anchor,
            "occurrence": bisect_left(found, line) + 1,
        }
        for line, anchor in zip(listed, anchors, strict=True)
    ]
    unlisted = {"more_candidates": len(pool) - len(rows)} if len(pool) > len(rows) else {}
    return Fails(code, message, "use_candidate_anchor", candidates=rows, **unlisted, **more)


def _telling_anchors(at: Snapshot, lines: list[int]) -> list[str]:
    full = [at.hashes.digits(line) for line in lines]
    context = at.hashes.contexts_of(lines)
    fulls, contexts = Counter(full), Counter(context)
    return [
        f"{line + 1}#{a if fulls[a] == 1 else b if contexts[b] == 1 else a[:SHOWN_DIGITS]}"
        for line, a, b in zip(lines, full, context, strict=True)
    ]


def _poor(at: Snapshot, pool: list[int], found: list[int]) -> Fails:
    line = pool[0]
    content = shown(at.hashes.lines[line])
    what = "blank" if not content.strip() else f"only {content.strip()[:PREVIEW_CHARS]!r}"
    message = f"Line {line + 1} is {what}: too little to anchor on. Use a neighbour, or `occurrence`."
    more = _ambiguous(at, "", "", found, found).details if len(found) > 1 else {}
    return Fails(
        "anchor_low_entropy",
        message,
        "use_neighbor_anchor",
        line=line + 1,
        content=content if len(content) <= MOST_CONTENT else f"{content[:MOST_CONTENT]}…",
        neighbor_anchors=_neighbour_anchors(at.hashes, line),
        **more,
    )


def _neighbour_anchors(hashes: LineHashes, line: int) -> list[str]:
    around = range(max(line - NEIGHBOURS, 0), min(line + NEIGHBOURS + 1, len(hashes.lines)))
    return [
        hashes.anchor(i)
        for i in around
        if i != line and hashes.counts[hashes.digits(i)] == 1 and hashes.quality(i) == "high"
    ]


# ── ranges ───────────────────────────────────────────────────────────────────


def _end_candidates(at: Snapshot, anchor: str, stated: int | None, name: str) -> tuple[list[int], list[int], list[int]]:
    found, carried = _matching(at, anchor, name)
    hint = _hint(stated, carried)
    pool = found.in_sight
    if hint is None:
        return pool, pool, found
    near = [hint] if hint in pool else _nearest(pool, hint)
    if len(pool) > 1:
        at.by_hint.update((*near, hint))
    return near, pool, found


def resolve_range(at: Snapshot, op: OverRange) -> tuple[int, int]:
    """Return first and last line (from 0) of a range operation; the caller checks that they are in order. Raises
    `Fails` if an end matches no line or several lines.
    """
    starts, *all_starts = _end_candidates(at, op.start_hash, op.start_line, "start_hash")
    ends, *all_ends = _end_candidates(at, op.end_hash, op.end_line, "end_hash")
    if at.settings.range_ends == "nearest":
        if len(starts) == 1 and len(ends) > 1:
            ends = [_drawn(ends, starts[0], after=True)]
        elif len(ends) == 1 and len(starts) > 1:
            starts = [_drawn(starts, ends[0], after=False)]
    for name, anchor, meant, (pool, found) in (
        ("start_hash", op.start_hash, starts, all_starts),
        ("end_hash", op.end_hash, ends, all_ends),
    ):
        if len(meant) > 1:
            message = f"{name} {anchor} matches lines {_numbers(meant)}; the end of a range must be one line."
            raise _ambiguous(at, "anchor_context_ambiguous", message, pool, found, anchor=name)
    return starts[0], ends[0]


def _drawn(candidates: list[int], settled: int, after: bool) -> int:
    right = [i for i in candidates if (i > settled if after else i < settled)]
    return min(right or candidates, key=lambda i: abs(i - settled))


def _numbers(lines: list[int]) -> str:
    named = ", ".join(str(i + 1) for i in lines[:8])
    return named if len(lines) <= 8 else f"{named}, … ({len(lines)} in all)"
