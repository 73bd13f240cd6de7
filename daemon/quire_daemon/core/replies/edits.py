"""Replies of reading and of writing tools."""

from __future__ import annotations

from msgspec import UNSET

from quire_daemon.core.replies.base import ChangedLines, Maybe, Reply, Shape, Writer


class LastWriter(Writer, frozen=True, kw_only=True):
    """The writer and time of the shown version."""

    at: str
    evidence: str | None


class ChangedPlace(Shape, frozen=True, kw_only=True):
    """A changed place: its current lines with context, in the requested format, and the removed lines."""

    startLine: int
    endLine: int
    lines: list[str]
    removed: list[str]


class ReadReply(Reply, frozen=True, kw_only=True):
    """`read_file`: plain text, or lines with anchors."""

    path: str
    path_encoding: Maybe[str] = UNSET
    resolved_from: Maybe[str] = UNSET
    version: str | None
    sha256: str
    newlineStyle: str  # lf, crlf, cr, mixed, none
    hasBom: bool
    sizeBytes: int
    lineCount: int
    startLine: int
    endLine: int
    last_writer: LastWriter | None
    uncaptured: Maybe[str] = UNSET  # why the bytes are not in the journal
    truncated: bool
    next_line: Maybe[int] = UNSET
    content: Maybe[str] = UNSET
    content_base64: Maybe[str] = UNSET
    lines: Maybe[list[str] | str] = UNSET  # with `numbered`, one text
    since: Maybe[str] = UNSET  # the version that `hunks` start from
    hunks: Maybe[list[ChangedPlace]] = UNSET
    lossy: Maybe[bool] = UNSET


class MatchRange(Shape, frozen=True, kw_only=True):
    """A matched place: 1-based lines, byte offsets in the file before the edit, exclusive ends."""

    startLine: int
    endLine: int
    startOffset: int
    endOffset: int


class AppliedEdit(Shape, frozen=True, kw_only=True):
    """The effect of one edit of `edit_file`."""

    editIndex: int
    occurrences: int
    matchRanges: list[MatchRange]


class AutoCorrection(Shape, frozen=True, kw_only=True):
    type: str
    detail: str


class WriteReply(Reply, frozen=True, kw_only=True):
    """Result of a writing tool for a file. With `dry_run` nothing was written."""

    path: Maybe[str] = UNSET  # missing if several `files` have it
    path_encoding: Maybe[str] = UNSET
    resolved_from: Maybe[str] = UNSET
    version: Maybe[str | None] = UNSET  # None: the file was removed
    sha256: Maybe[str | None] = UNSET
    sizeBytes: Maybe[int] = UNSET
    writer_type: Maybe[str] = UNSET
    baseline_continuity: Maybe[str] = UNSET  # clean, mixed
    operations_applied: Maybe[int] = UNSET
    lines_before: Maybe[int | None] = UNSET  # None, like the next two: too large or secret to be counted
    lines_after: Maybe[int | None] = UNSET
    net_lines: Maybe[int | None] = UNSET
    changed: Maybe[list[ChangedLines]] = UNSET
    anchors_valid_through: Maybe[int] = UNSET
    must_refresh_from_line: Maybe[int] = UNSET
    diff: Maybe[list[str]] = UNSET  # lines as read with hashes, behind ` `, `+`, `-`
    diff_truncated: Maybe[bool] = UNSET
    safety_status: Maybe[str] = UNSET  # clean, suspicious, off
    safety_warnings: Maybe[list[SafetyWarning]] = UNSET
    checkpoint: Maybe[str] = UNSET
    unchanged: Maybe[bool] = UNSET
    created: Maybe[bool] = UNSET
    deleted: Maybe[bool] = UNSET
    moved_from: Maybe[str] = UNSET
    binary: Maybe[bool] = UNSET
    cross_version: Maybe[bool] = UNSET
    rebased_over: Maybe[list[int]] = UNSET
    auto_corrections: Maybe[list[AutoCorrection]] = UNSET
    dry_run: Maybe[bool] = UNSET
    valid: Maybe[bool] = UNSET


class SafetyWarning(Shape, frozen=True, kw_only=True):
    type: str  # unbalanced, syntax, duplicate_line
    message: str
    line: Maybe[int] = UNSET


class ReplacedReply(WriteReply, frozen=True, kw_only=True):
    replacements_made: Maybe[int] = UNSET


class InsertedReply(WriteReply, frozen=True, kw_only=True):
    lines_inserted: Maybe[int] = UNSET


class ReplacedLinesReply(WriteReply, frozen=True, kw_only=True):
    lines_removed: Maybe[int] = UNSET
    lines_added: Maybe[int] = UNSET


class MultiEditReply(WriteReply, frozen=True, kw_only=True):
    applied: int
    failed: list[str]


class HashlineReply(WriteReply, frozen=True, kw_only=True):
    first_changed_line: int | None


class EditFileReply(WriteReply, frozen=True, kw_only=True):
    beforeSha256: str
    appliedEdits: list[AppliedEdit]


class WrittenFile(WriteReply, frozen=True, kw_only=True):
    """One of several files in a reply."""

    ok: Maybe[bool] = UNSET  # type: ignore[assignment]  # which a reply has, and a part of one need not have
    message: Maybe[str] = UNSET  # type: ignore[assignment]  # the same


class PatchedFile(WrittenFile, frozen=True, kw_only=True):
    operation: Maybe[str] = UNSET


class PatchReply(WriteReply, frozen=True, kw_only=True):
    """Reply of `apply_patch`; the fields of a single file are repeated at the top level."""

    files: list[PatchedFile]
    operation: Maybe[str] = UNSET
