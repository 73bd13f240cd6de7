"""Replies about leases."""

from __future__ import annotations

from msgspec import UNSET

from quire_daemon.core.replies.base import Change, Maybe, Reply, ReplyWarning, Shape, Span, Writer


class Holder(Shape, frozen=True, kw_only=True):
    id: str
    agent: str
    agent_session: str


class Lease(Shape, frozen=True, kw_only=True):
    """A lease, or a waiting claim, which has no number yet."""

    lease: int | None
    fencing: int | None
    kind: str  # intent, shared, exclusive
    path: str
    path_encoding: Maybe[str] = UNSET
    form: str  # file, folder, glob
    lines: Span | None
    reason: str
    holder: Holder
    yours: bool
    granted_at: str | None
    age_s: int | None
    expires_at: str | None
    expires_in_s: int | None
    bind: str  # session, connection
    broken_at: Maybe[str] = UNSET
    broken_by: Maybe[Writer] = UNSET
    broken_why: Maybe[str] = UNSET


class ClaimReply(Lease, frozen=True, kw_only=True):
    """Reply of `claim`: the lease, and leases of other callers on the same scope."""

    ok: bool
    message: str
    warnings: Maybe[list[ReplyWarning]] = UNSET
    changed_since_your_read: Maybe[list[Change]] = UNSET
    changed_since_your_read_more: Maybe[int] = UNSET
    conflicts: list[Lease]  # compatible leases of other callers on the scope
    conflicts_total: int
    queued: int  # claims that wait for this lease
    renewed: Maybe[bool] = UNSET  # the caller already had the lease
    dry_run: Maybe[bool] = UNSET
    valid: Maybe[bool] = UNSET
    outcome: Maybe[str] = UNSET
    op: Maybe[str] = UNSET


class ReleaseReply(Reply, frozen=True, kw_only=True):
    """Reply of `release`: released leases of the caller, and broken leases of other callers."""

    released: list[Lease]
    broken: list[Lease]


class ClaimsReply(Reply, frozen=True, kw_only=True):
    """Reply of `claims`: leases in force, waiting claims, and broken leases of the caller."""

    leases: list[Lease]
    waiting: list[Lease]
    broken: list[Lease]
