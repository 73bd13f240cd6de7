"""The `edit` tool: a batch of operations on lines named by hashes (seeds 000 and 002). All apply to one version of the
file, and all or none are carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, TypeAlias

import msgspec
from msgspec.structs import force_setattr, replace

from quire_daemon.config import Settings
from quire_daemon.core import OfVersion
from quire_daemon.dialects.anchors import (
    MOST_IN_FULL,
    NEIGHBOURS,
    AtLine,
    Fails,
    OverRange,
    Snapshot,
    resolve_line,
    resolve_range,
)
from quire_daemon.dialects.base import Dialect, Plan, Sight
from quire_journal.model import Refusal, counted
from quire_journal.text import LineHashes, Splice, content_lines

# ── arguments ────────────────────────────────────────────────────────────────


class ReplaceLine(AtLine, frozen=True, kw_only=True, tag="replace_line"):
    """Operation that replaces one line by `content`."""

    content: str


class InsertAfter(AtLine, frozen=True, kw_only=True, tag="insert_after"):
    """Operation that inserts `content` after a line."""

    content: str


class InsertBefore(AtLine, frozen=True, kw_only=True, tag="insert_before"):
    """Operation that inserts `content` before a line."""

    content: str


class DeleteLine(AtLine, frozen=True, kw_only=True, tag="delete_line"):
    """Operation that deletes one line."""


class ReplaceRange(OverRange, frozen=True, kw_only=True, tag="replace_range"):
    """Operation that replaces a range of lines by `content`."""

    content: str


class DeleteRange(OverRange, frozen=True, kw_only=True, tag="delete_range"):
    """Operation that deletes a range of lines."""


LineOperation: TypeAlias = ReplaceLine | InsertAfter | InsertBefore | DeleteLine
RangeOperation: TypeAlias = ReplaceRange | DeleteRange


class EditParams(OfVersion, frozen=True, kw_only=True):
    """Arguments of the `edit` tool: a file and the operations on its lines."""

    operations: tuple[LineOperation | RangeOperation, ...]
    file_path: str | None = None  # deprecated: `path`

    def __post_init__(self) -> None:
        force_setattr(self, "path", self.path or self.file_path or "")
        super().__post_init__()

    def plainly(self) -> Self:
        """Return the arguments with the values of aliases (such as `file_path`) moved into `path` and `base`."""
        return replace(super().plainly(), file_path=None)


# ── the batch ────────────────────────────────────────────────────────────────


class _Batch(msgspec.Struct):
    splices: list[tuple[Splice, int]] = msgspec.field(default_factory=list)  # with the index of the operation
    failures: list[tuple[int, Fails]] = msgspec.field(default_factory=list)
    corrections: list[dict[str, str]] = msgspec.field(default_factory=list)
    named: set[int] = msgspec.field(default_factory=set)  # lines named by the operations


def plan(params: EditParams, sight: Sight, settings: Settings) -> Plan:
    """Return the splices of all operations. Raises a `Refusal` that lists all failed operations, or one for a request
    without operations or with two that overlap.
    """
    if not params.operations:
        message = "There is no operation; give at least one."
        raise Refusal("empty_operations", message, "provide_at_least_one_operation")
    at = Snapshot(sight, LineHashes.of(sight.text), settings.dialects.edit)
    batch = _Batch()
    for index, op in enumerate(params.operations):
        try:
            splice = _splice(at, op, batch)
            batch.splices.append((splice, index))
            batch.named.update(_named(op, splice))
        except Fails as failure:
            batch.failures.append(
                (index, failure.with_traceback(None))
            )  # the traceback would keep this frame and the batch alive
    if batch.failures:
        raise _refusal(batch.failures, empty=not len(sight.text))
    fields = {"auto_corrections": batch.corrections} if batch.corrections else {}
    named = tuple(sorted(batch.named))
    by_hint = tuple(line for line in sorted(at.by_hint) if 0 <= line < len(sight.text))
    return Plan(_in_order(batch.splices), len(params.operations), fields=fields, anchors=named, by_hint=by_hint)


def _splice(at: Snapshot, op: LineOperation | RangeOperation, batch: _Batch) -> Splice:
    match op:
        case ReplaceLine():
            line = resolve_line(at, op)
            return Splice(line, line + 1, tuple(content_lines(op.content)))
        case InsertAfter():
            gap = resolve_line(at, op) + 1
            return Splice(gap, gap, tuple(content_lines(op.content)))
        case InsertBefore():
            gap = resolve_line(at, op)
            return Splice(gap, gap, tuple(content_lines(op.content)))
        case DeleteLine():
            line = resolve_line(at, op)
            return Splice(line, line + 1)
        case ReplaceRange():
            first, last = _ordered(at, op, batch)
            return Splice(first, last + 1, tuple(content_lines(op.content)))
        case DeleteRange():
            first, last = _ordered(at, op, batch)
            return Splice(first, last + 1)


def _named(op: LineOperation | RangeOperation, splice: Splice) -> range:
    if splice.start < splice.stop:
        return range(splice.start, splice.stop)
    line = splice.start - isinstance(op, InsertAfter)
    return range(line, line + 1)


def _ordered(at: Snapshot, op: RangeOperation, batch: _Batch) -> tuple[int, int]:
    first, last = resolve_range(at, op)
    if first == last:
        message = f"start_hash and end_hash are both line {first + 1}: a no-op range, start equals end."
        raise Fails("invalid_range_order", message, "use_single_line_operation", line=first + 1)
    if first < last:
        return first, last
    if at.settings.range_order == "strict":
        message = f"The range is invalid: start_line ({first + 1}) is after end_line ({last + 1})."
        raise Fails("invalid_range_order", message, "swap_range_ends", start_line=first + 1, end_line=last + 1)
    detail = f"start_line ({first + 1}) was after end_line ({last + 1}). Swapped automatically."
    batch.corrections.append({"type": "range_order_swapped", "detail": detail})
    return last, first


_KINDS: Final = {
    "anchor_stale": 0,
    "anchor_ambiguous": 1,
    "anchor_context_ambiguous": 1,
    "anchor_low_entropy": 2,
    "invalid_range_order": 3,
}


def _refusal(failures: Sequence[tuple[int, Fails]], empty: bool) -> Refusal:
    kind = min(_KINDS[f.code] for _, f in failures)
    leading = [f for _, f in failures if _KINDS[f.code] == kind]
    first = leading[0]
    details = dict(first.details)
    if first.code == "anchor_stale":
        details["missing"] = [hash for f in leading for hash in f.details["missing"]]
    message = " ".join(dict.fromkeys(f.message for f in leading[:NEIGHBOURS]))
    if len(leading) > NEIGHBOURS:
        message += f" {counted(len(leading) - NEIGHBOURS, 'more operation')} of this kind: see `failures`."
    if empty:
        message = f"The file is empty and has no anchors; use write_file. {message}"
    rows = [
        {
            "operation_index": i,
            "error": f.code,
            "message": f.message,
            "suggested_action": f.action,
            **(f.details if n < MOST_IN_FULL else {}),
        }
        for n, (i, f) in enumerate(failures)
    ]
    return Refusal(first.code, message, "write_file" if empty else first.action, **details, failures=rows)


def _in_order(splices: list[tuple[Splice, int]]) -> tuple[Splice, ...]:
    """Return the splices sorted by line; insertions before the same line stay in the order of the request. Raises
    `Refusal` if two operations overlap.
    """
    ordered = sorted(splices, key=lambda pair: (pair[0].start, pair[0].stop > pair[0].start))
    reach, by = 0, -1
    for s, index in ordered:
        if s.start < reach:
            lines = f"line {s.start + 1}" if s.stop > s.start else f"the gap before line {s.start + 1}"
            raise Refusal(
                "overlapping_operations",
                f"Operations {min(by, index)} and {max(by, index)} overlap at {lines}.",
                "separate_operations",
                operation_indices=sorted((by, index)),
                line=s.start + 1,
            )
        if s.stop > reach:
            reach, by = s.stop, index
    return tuple(s for s, _ in ordered)


EDIT: Final = Dialect("edit", EditParams, plan, stale="anchor_stale", safety="strict")
