"""Common parts of replies: base shapes, the refusal, and shared values."""

from __future__ import annotations

from typing import TypeVar, Union

import msgspec
from msgspec import UNSET, UnsetType

T = TypeVar("T")

Maybe = Union[T, UnsetType]  # noqa: UP007  (an alias with a parameter)
"""Type of an optional field."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of all reply structs."""


class OtherCheckout(Shape, frozen=True, kw_only=True):
    """Changes to a file in another checkout of the same repository."""

    checkout: str
    root: str
    branch: str
    agent: str  # last writer there; "": a person or another program
    agent_session: str
    at: str  # RFC 3339, UTC
    lines: list[list[int]]  # lines of the file here, from 1, inclusive; [5, 4]: an addition before line 5
    merge: str  # merge of both files by git's merge base: clean, conflicts, unknown
    conflicts: int | None  # hunks
    gone: bool


class ReplyWarning(Shape, frozen=True, kw_only=True):
    type: str
    message: str
    line: Maybe[int] = UNSET
    path: Maybe[str] = UNSET
    path_encoding: Maybe[str] = UNSET
    lease: Maybe[int] = UNSET
    bursts: Maybe[list[int]] = UNSET
    elsewhere: Maybe[OtherCheckout] = UNSET


class Change(Shape, frozen=True, kw_only=True):
    """Another writer's change to a file that the caller had read."""

    path: Maybe[str] = UNSET
    path_encoding: Maybe[str] = UNSET  # "percent" for a name that is not UTF-8
    since: Maybe[str] = UNSET  # the version that the caller read
    writer: Writer
    evidence: str | None
    at: str  # RFC 3339, UTC
    version: Maybe[str] = UNSET
    lines: Maybe[list[list[int]] | None] = UNSET
    touches: Maybe[str | None] = UNSET  # `overlap`: none, touching, conflicting; None if not computed
    gone: Maybe[bool] = UNSET  # the file has been removed, or renamed
    moved_to: Maybe[str] = UNSET  # its name now
    hint: Maybe[str] = UNSET


class Reply(Shape, frozen=True, kw_only=True):
    ok: bool
    message: str  # a sentence for people
    warnings: Maybe[list[ReplyWarning]] = UNSET
    changed_since_your_read: Maybe[list[Change]] = UNSET
    changed_since_your_read_more: Maybe[int] = UNSET
    outcome: Maybe[str] = UNSET  # of a changing tool: applied, not_applied, unknown
    op: Maybe[str] = UNSET  # operation id for `op_status`


class RefusalReply(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to a call that was declined; nothing has changed. Further fields help to repair the call."""

    ok: bool
    error: str  # a code of `CODES`
    message: str
    suggested_action: str  # a machine-readable word; `CODES` has one per code


class Writer(Shape, frozen=True, kw_only=True):
    """A writer. Agent names are claims of the caller. The kernel attests uid and pid, but the pid of a git command is a
    claim if git's trace file states it.
    """

    id: str  # w3, or outside
    type: str  # edit, write_file, outside, undo; "" where no file was written
    agent: str
    agent_session: str
    turn: str
    tool_call: str
    model: str
    uid: int | None
    pid: int | None
    parent: Maybe[str] = UNSET  # of a subagent: agent session of its parent


class MissingFile(Shape, frozen=True, kw_only=True):
    """A file whose bytes the journal does not hold."""

    path: str
    path_encoding: Maybe[str] = UNSET
    why: str


class LostRecords(Shape, frozen=True, kw_only=True):
    first: int
    last: int


class Span(Shape, frozen=True, kw_only=True):
    """Lines, 1-based and inclusive."""

    start: int
    end: int


class ChangedLines(Span, frozen=True, kw_only=True):
    """A range of changed lines, now and before, and by how many lines those below moved (`shift`)."""

    was_start: int
    was_end: int
    shift: int
