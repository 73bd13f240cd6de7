"""What replies share: their beginnings, the refusal, and the values that stand in many of them."""

from __future__ import annotations

from typing import TypeVar, Union

import msgspec
from msgspec import UNSET, UnsetType

T = TypeVar("T")

Maybe = Union[T, UnsetType]  # noqa: UP007  (an alias with a parameter)
"""A field that is not always there."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the shapes."""


class ReplyWarning(Shape, frozen=True, kw_only=True):
    """Something that the caller should look at."""

    type: str
    message: str
    line: Maybe[int] = UNSET
    path: Maybe[str] = UNSET
    path_encoding: Maybe[str] = UNSET
    lease: Maybe[int] = UNSET
    bursts: Maybe[list[int]] = UNSET


class Change(Shape, frozen=True, kw_only=True):
    """What somebody else did to a file that the caller had read."""

    path: Maybe[str] = UNSET
    path_encoding: Maybe[str] = UNSET  # "percent" for a name that is not UTF-8
    since: Maybe[str] = UNSET  # the version that the caller read
    writer: Writer
    evidence: str | None
    at: str  # RFC 3339, UTC
    version: Maybe[str] = UNSET
    lines: Maybe[list[list[int]] | None] = UNSET
    touches: Maybe[str | None] = UNSET  # `overlap`: none, touching, conflicting; None where nobody looked at the lines
    gone: Maybe[bool] = UNSET  # there is no file any more
    hint: Maybe[str] = UNSET


class Reply(Shape, frozen=True, kw_only=True):
    """What every reply has."""

    ok: bool
    message: str  # a sentence for people
    warnings: Maybe[list[ReplyWarning]] = UNSET
    changed_since_your_read: Maybe[list[Change]] = UNSET
    changed_since_your_read_more: Maybe[int] = UNSET
    outcome: Maybe[str] = UNSET  # of a tool that changes something: applied, not_applied, unknown
    op: Maybe[str] = UNSET  # what `op_status` is asked with


class RefusalReply(msgspec.Struct, frozen=True, kw_only=True):
    """An understood call that was declined; nothing has changed. Further fields help to repair the call."""

    ok: bool
    error: str  # a code of `CODES`
    message: str
    suggested_action: str  # a machine word; `CODES` has one for each code


class Writer(Shape, frozen=True, kw_only=True):
    """Who wrote. Agent names are what the caller said, uid and pid what the kernel says."""

    id: str  # w3, or outside
    type: str  # edit, write_file, outside, undo; "" where no file was written
    agent: str
    agent_session: str
    turn: str
    tool_call: str
    model: str
    uid: int | None
    pid: int | None
    parent: Maybe[str] = UNSET  # of a subagent: the agent session that it is a child of


class MissingFile(Shape, frozen=True, kw_only=True):
    """A file whose bytes the journal does not hold."""

    path: str
    path_encoding: Maybe[str] = UNSET
    why: str


class LostRecords(Shape, frozen=True, kw_only=True):
    """Records that are lost to damage of the journal."""

    first: int
    last: int


class Span(Shape, frozen=True, kw_only=True):
    """Lines, 1-based and inclusive."""

    start: int
    end: int


class ChangedLines(Span, frozen=True, kw_only=True):
    """Lines of now, those that they were, and by how much later lines moved."""

    was_start: int
    was_end: int
    shift: int
