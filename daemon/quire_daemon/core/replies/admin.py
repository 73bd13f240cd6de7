"""Replies about the daemon, its callers, its tools, and the journal as a whole."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from quire_daemon.core.replies.base import Maybe, Reply, Shape, Writer
from quire_daemon.core.replies.leases import Lease
from quire_daemon.core.replies.undo import Burst


class LastChange(Shape, frozen=True, kw_only=True):
    batch: int
    at: str | None


class StatusWriter(Writer, frozen=True, kw_only=True):
    """A caller: its newest writer, its number of writers (`turns`), and its last change."""

    turns: int
    ids: list[str]  # of these writers, the newest first
    last_change: LastChange | None


class Coverage(Shape, frozen=True, kw_only=True):
    """Whether the journal sees every change, and if not, why."""

    state: str  # full or degraded
    reasons: list[str]
    since: str | UnsetType | None = UNSET


class Capture(Shape, frozen=True, kw_only=True):
    """Progress of the scan that records the tree."""

    finished: bool
    captured: bool  # the whole tree has been scanned once
    total: int
    done: int
    waits_for: str  # why the last scan failed and is retried, or ""


class JournalSize(Shape, frozen=True, kw_only=True):
    bytes: int | None
    versions: int | None
    records: int
    uncaptured: int  # current files whose bytes are not held


class StatusReply(msgspec.Struct, frozen=True, kw_only=True):
    """Reply of `status`; further health fields may be added at any time."""

    ok: bool
    message: str
    pid: int
    epoch: str
    seq: int
    at: str | None  # of the newest record
    workspace: str
    state_dir: str
    versions: dict[str, Any]
    writers: list[StatusWriter]
    writers_total: int
    coverage: Coverage
    capture: Capture
    protection: dict[str, bool]
    journal: JournalSize


class OnFile(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    at: str


class On(Shape, frozen=True, kw_only=True):
    """A caller's current work."""

    files: list[OnFile]
    leases: list[Lease]
    bursts: list[Burst]
    writing: list[OnFile]  # recently changed files


class CollidingWriter(Shape, frozen=True, kw_only=True):
    writer: Writer
    lines: list[list[int]]  # recently written line ranges
    symbols: list[str]  # definitions around `lines`


class Collision(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    writers: list[CollidingWriter]
    symbols: list[str]  # definitions common to all writers


class WhoWriter(StatusWriter, frozen=True, kw_only=True):
    you: bool
    present: bool
    connections: int
    alive: bool | None  # the agent's process, or the last calling one; None if unknown
    hooks: bool  # an agent that calls through hooks
    last_seen: str | None
    on: On


class WhoReply(Reply, frozen=True, kw_only=True):
    """Reply of `who`: callers, present ones first."""

    writers: list[WhoWriter]
    collisions: list[Collision]
    present: int
    total: int


class Successor(Shape, frozen=True, kw_only=True):
    """A later version of a file that the operation wrote."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    writer: Writer


class OpStatusReply(Reply, frozen=True, kw_only=True):
    op: str
    outcome: str  # applied, superseded (applied, changed since), not_applied, unknown (not known to be on disk)
    known: bool  # the journal has the operation
    batch: Maybe[int] = UNSET
    superseded_by: Maybe[list[Successor] | None] = UNSET
    taken_back: Maybe[list[str]] = UNSET  # paths at which a partly applied operation was taken back


class ManualName(Shape, frozen=True, kw_only=True):
    """Name and subject of a manual."""

    name: str
    about: str


class ManualReply(Reply, frozen=True, kw_only=True):
    manual: str  # Markdown
    dialect: str | None
    dialects: list[ManualName]


class Annotations(Shape, frozen=True, kw_only=True):
    """MCP's tool hints."""

    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class ToolDescription(Shape, frozen=True, kw_only=True):
    name: str
    title: str
    description: str
    writes: bool
    offered: bool
    annotations: Annotations
    schema: dict[str, Any]
    aliases: list[str]
    reply: Maybe[dict[str, Any]] = UNSET


class DescribeReply(Reply, frozen=True, kw_only=True):
    tools: list[ToolDescription]


class ExportReply(Reply, frozen=True, kw_only=True):
    """One page of an `export`."""

    export: str  # id for requesting the next page
    page: int
    content_base64: str
    done: bool
    records: int
    of: int


class HeadState(Shape, frozen=True, kw_only=True):
    """A signed head that was found, and whether the journal matches it."""

    source: str  # place where it was found, in words
    origin: str  # the name of its tree
    records: int
    root: str
    signed_at_s: int  # seconds since 1970; 0: unknown
    state: str  # held, cut (the journal has fewer records), differs
    vouched: bool  # the signature was verified
    said: str


class VerifyReply(Reply, frozen=True, kw_only=True):
    """Reply of `verify` for a sound journal."""

    findings: list[str]
    read_data: str
    heads: list[HeadState]  # in the state folder and in `against`


class ProveReply(Reply, frozen=True, kw_only=True):
    origin: str  # the name of the tree
    records: int
    root: str
    checkpoint: str  # the signed head (c2sp.org/tlog-checkpoint)
    keys: list[str]  # keys that verify the signatures
    proof: Maybe[str] = UNSET  # of a record (c2sp.org/tlog-proof), or of growth (c2sp.org/tlog-witness)
    seq: Maybe[int] = UNSET  # of the proved record
    masked: Maybe[bool] = UNSET  # the proof has only the hash of the record


class OutboxReply(Reply, frozen=True, kw_only=True):
    """Reply of `outbox`: what the store with the copy of this journal has, and the next segment (sealed records) for
    it.
    """

    to: str  # address in force
    journal: str  # name at the far side
    holder: str  # holder of the last segment there
    number: int  # of the last segment there; 0: none
    hash: str  # its sha256
    records: int  # last record there
    behind: int
    segment: Maybe[bytes] = UNSET
    contents: Maybe[dict[str, bytes]] = UNSET  # name at the far side → encrypted bytes
    changed: Maybe[bool] = UNSET  # what was shipped under this number once had other bytes
    gaps: Maybe[list[int]] = UNSET  # segments that are missing there, and cannot be made again


class HubReply(Reply, frozen=True, kw_only=True):
    """Reply of `hub`: data about this checkout for other machines, and data about their checkouts."""

    journal: str
    checkout: str
    note: dict[str, Any]  # branch, changed files, leases
    hosts: list[dict[str, Any]]  # each with host, checkout, journal, note, writers, silent_s
    leases: dict[str, dict[str, Any]]  # number of an exclusive lease → standing, for_s and token at the hub
    linked: bool  # `quire ship` receives their notes


class Check(Shape, frozen=True, kw_only=True):
    name: str
    ok: bool
    detail: str


class DoctorReply(Reply, frozen=True, kw_only=True):
    healthy: bool
    checks: list[Check]


class ShutdownReply(Reply, frozen=True, kw_only=True):
    """Reply of `shutdown`: the daemon that is about to end."""

    pid: int


class RepairReply(Reply, frozen=True, kw_only=True):
    findings: list[str]
    plan: str
    executed: bool


class PathVersion(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    version: str


class PurgeReply(Reply, frozen=True, kw_only=True):
    """Reply of `purge`: the purged versions, and other places that may hold the bytes."""

    plan: bool
    blobs: int
    versions: list[PathVersion]
    versions_total: int
    records: int
    on_disk: list[str]
    set_aside: list[str]
    remain: list[str]


class GcReply(msgspec.Struct, frozen=True, kw_only=True):
    """Reply of `gc`; further figures may be added."""

    ok: bool
    message: str
    policy: str
    kept: dict[str, int]  # blobs, bytes
    droppable: dict[str, int]
    reasons: dict[str, int]  # reason to keep or drop blobs → count
    blobs: list[dict[str, Any]]  # of a dry run
    next: int | None
