"""The `edit_file` tool: replaces exact texts in a file whose sha256 the caller states (seed 004). All texts are
searched in the file before the request, and overlapping edits are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import msgspec

from quire_daemon.config import Settings
from quire_daemon.core import WriteArguments, checked_sha256
from quire_daemon.core.replies import EditFileReply
from quire_daemon.dialects.base import Dialect, Plan, Sight
from quire_daemon.dialects.text import (
    LineIndex,
    count_of,
    normalised,
    not_in,
    occurrences,
    replaced,
    require_few,
    require_searchable,
)
from quire_journal.model import Refusal
from quire_journal.text import Text

MOST_RANGES: Final = 100

# ── arguments ────────────────────────────────────────────────────────────────


class TextEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One edit of an `edit_file` request: replace `oldText` by `newText`."""

    oldText: Annotated[str, msgspec.Meta(min_length=1)]
    newText: str
    replaceAll: bool = False
    expectedOccurrences: Annotated[int, msgspec.Meta(ge=1)] | None = None  # default: one

    def __post_init__(self) -> None:
        if self.replaceAll and self.expectedOccurrences is not None:
            raise ValueError("`replaceAll` and `expectedOccurrences` exclude each other")


class FileParams(WriteArguments, frozen=True, kw_only=True):
    """Arguments of the `edit_file` tool: a file, its sha256, and the text edits. A request without `expectedSha256`, as
    clients of MCP's filesystem server send it, is refused.
    """

    NEEDED: ClassVar[tuple[str, ...]] = ("expectedSha256",)
    FOREIGN: ClassVar[tuple[str, ...]] = ("dryRun",)

    edits: Annotated[tuple[TextEdit, ...], msgspec.Meta(min_length=1)]
    expectedSha256: str | None = None
    dryRun: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_sha256(self.expectedSha256, "expectedSha256")

    @property
    def stated_sha256(self) -> str:
        return self.expectedSha256 or ""


# ── matches ──────────────────────────────────────────────────────────────────


class Match(NamedTuple):
    """A match of edit number `edit`: bytes [start, stop) of the text with LF line ends."""

    start: int
    stop: int
    edit: int  # index of the edit


def matches(edits: Sequence[TextEdit], text: Text) -> list[Match]:
    """Return all matches of all edits, in file order. Raises `Refusal` if a text is not found, has another number of
    matches than expected, or overlaps another match, or for too many edits or matches.
    """
    require_searchable(text, len(edits))
    counts = [_count(edit, index, text) for index, edit in enumerate(edits)]
    require_few(sum(counts))
    found = sorted(
        Match(start, stop, index)
        for index, edit in enumerate(edits)
        for start, stop in occurrences(text, edit.oldText, counts[index])
    )
    for before, after in pairwise(found):
        if after.start < before.stop:
            pair = sorted((before.edit, after.edit))
            line = LineIndex(text).at(after.start) + 1
            message = f"Edits {pair[0]} and {pair[1]} overlap in line {line}."
            raise Refusal("overlapping_edits", message, "separate_edits", conflictingEditIndices=pair, line=line)
    return found


def _count(edit: TextEdit, index: int, text: Text) -> int:
    """Return the number of matches of an edit. Raises `Refusal` if there is none, or not the expected number. Where one
    match is expected, overlapping matches are counted, too.
    """
    count = count_of(text, edit.oldText)
    if not count:
        raise not_in(text, edit.oldText, f"`oldText` of edit {index} is not in the file.", editIndex=index)
    if edit.replaceAll or count == edit.expectedOccurrences:
        return count
    found = occurrences(text, edit.oldText, MOST_RANGES)
    if edit.expectedOccurrences is None and count == 1:
        found += _within(text, found)
        count = len(found)
        if count == 1:
            return count
    expected = edit.expectedOccurrences or 1
    times = f"matches {count} times, {expected} expected"
    raise Refusal(
        "multiple_matches",
        f"`oldText` of edit {index} {times}; add lines around it, or say `replaceAll` or `expectedOccurrences`.",
        "add_context",
        editIndex=index,
        matchCount=count,
        expectedOccurrences=expected,
        matchRanges=_ranges(LineIndex(text), found),
    )


def _within(text: Text, found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    start, stop = found[0]
    again = text.normalised.find(text.normalised[start:stop], start + 1, 2 * stop - start)
    return [(again, again + stop - start)] if again >= 0 else []


def applied_edits(edits: Sequence[TextEdit], found: Sequence[Match], text: Text) -> list[dict[str, Any]]:
    """Build the reply field `appliedEdits`: how often and where in `text` each edit applies."""
    lines = LineIndex(text)
    by_edit: list[list[tuple[int, int]]] = [[] for _ in edits]
    for match in found:
        by_edit[match.edit].append((match.start, match.stop))
    return [
        {"editIndex": index, "occurrences": len(places), "matchRanges": _ranges(lines, places)}
        for index, places in enumerate(by_edit)
    ]


def _ranges(lines: LineIndex, found: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    return [
        {
            "startLine": lines.at(start) + 1,
            "endLine": lines.at(stop - 1) + 1,
            "startOffset": lines.on_disk(start),
            "endOffset": lines.on_disk(stop),
        }
        for start, stop in found[:MOST_RANGES]
    ]


def plan(params: FileParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices of all edits. Raises `Refusal` if one cannot be applied."""
    found = matches(params.edits, sight.text)
    new = [normalised(edit.newText) for edit in params.edits]
    splices, final_break = replaced(sight.text, [(m.start, m.stop, new[m.edit]) for m in found])
    fields = {
        "beforeSha256": sight.text.blob.hex(),
        "appliedEdits": applied_edits(params.edits, found, sight.text),
    }
    return Plan(splices, len(params.edits), final_break, fields=fields)


EDIT_FILE: Final = Dialect("edit_file", FileParams, plan, stale="stale_file", reply=EditFileReply)
