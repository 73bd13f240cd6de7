"""Replies about the daemon, its callers, its tools, and the journal as a whole."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from quire_daemon.core.replies.base import Maybe, Reply, Shape, Writer
from quire_daemon.core.replies.leases import Lease
from quire_daemon.core.replies.undo import Burst


class LastChange(Shape, frozen=True, kw_only=True):
    """The newest file change of a caller."""

    batch: int
    at: str | None


class StatusWriter(Writer, frozen=True, kw_only=True):
    """A caller: its newest writer, how many writers it was, and what it changed last."""

    turns: int
    ids: list[str]  # of these writers, the newest first
    last_change: LastChange | None


class Coverage(Shape, frozen=True, kw_only=True):
    """Does the journal see everything? Where it does not, why."""

    state: str  # full or degraded
    reasons: list[str]
    since: str | UnsetType | None = UNSET


class Capture(Shape, frozen=True, kw_only=True):
    """How far the scan under way is."""

    finished: bool
    captured: bool  # the whole tree was looked at once
    total: int
    done: int
    waits_for: str  # why the last one came to nothing, and is tried again; "": it did not


class JournalSize(Shape, frozen=True, kw_only=True):
    """What the journal holds."""

    bytes: int | None
    versions: int | None
    records: int
    uncaptured: int  # files as they are now whose bytes it does not hold


class StatusReply(msgspec.Struct, frozen=True, kw_only=True):
    """`status`. What the daemon tells of its health besides may be added at any time."""

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
    """A file that a caller named or wrote, and when."""

    path: str
    path_encoding: Maybe[str] = UNSET
    at: str


class On(Shape, frozen=True, kw_only=True):
    """What a caller is on."""

    files: list[OnFile]
    leases: list[Lease]
    bursts: list[Burst]
    writing: list[OnFile]  # files that it changed lately


class CollidingWriter(Shape, frozen=True, kw_only=True):
    """Where one of several is in a file."""

    writer: Writer
    lines: list[list[int]]  # ranges that it wrote lately
    symbols: list[str]  # definitions that these are in


class Collision(Shape, frozen=True, kw_only=True):
    """A file that several write."""

    path: str
    path_encoding: Maybe[str] = UNSET
    writers: list[CollidingWriter]
    symbols: list[str]  # definitions in which all of them are


class WhoWriter(StatusWriter, frozen=True, kw_only=True):
    """A caller, and whether it is there."""

    you: bool
    present: bool
    connections: int
    alive: bool | None
    hooks: bool
    last_seen: str | None
    on: On


class WhoReply(Reply, frozen=True, kw_only=True):
    """`who`: callers, those that are present first."""

    writers: list[WhoWriter]
    collisions: list[Collision]
    present: int
    total: int


class Successor(Shape, frozen=True, kw_only=True):
    """What a file of the operation became since."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    writer: Writer


class OpStatusReply(Reply, frozen=True, kw_only=True):
    """`op_status`."""

    op: str
    outcome: str  # applied, superseded, not_applied, unknown
    known: bool
    batch: Maybe[int] = UNSET
    superseded_by: Maybe[list[Successor] | None] = UNSET
    taken_back: Maybe[list[str]] = UNSET  # where it does not stand, of one that stands elsewhere


class ManualName(Shape, frozen=True, kw_only=True):
    """A manual that there is."""

    name: str
    about: str


class ManualReply(Reply, frozen=True, kw_only=True):
    """`manual`."""

    manual: str  # Markdown
    dialect: str | None
    dialects: list[ManualName]


class Annotations(Shape, frozen=True, kw_only=True):
    """The hints of MCP."""

    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class ToolDescription(Shape, frozen=True, kw_only=True):
    """A tool."""

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
    """`describe`."""

    tools: list[ToolDescription]


class ExportReply(Reply, frozen=True, kw_only=True):
    """`export`: a page."""

    export: str  # the next page is asked for with it
    page: int
    content_base64: str
    done: bool
    records: int
    of: int


class VerifyReply(Reply, frozen=True, kw_only=True):
    """`verify`, of a sound journal."""

    findings: list[str]
    read_data: str


class Check(Shape, frozen=True, kw_only=True):
    """One of the checks of `doctor`."""

    name: str
    ok: bool
    detail: str


class DoctorReply(Reply, frozen=True, kw_only=True):
    """`doctor`."""

    healthy: bool
    checks: list[Check]


class ShutdownReply(Reply, frozen=True, kw_only=True):
    """`shutdown`: who is about to end."""

    pid: int


class RepairReply(Reply, frozen=True, kw_only=True):
    """`repair`."""

    findings: list[str]
    plan: str
    executed: bool


class PathVersion(Shape, frozen=True, kw_only=True):
    """A version of a path."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str


class PurgeReply(Reply, frozen=True, kw_only=True):
    """`purge`: what goes, and where it may be besides."""

    plan: bool
    blobs: int
    versions: list[PathVersion]
    versions_total: int
    records: int
    on_disk: list[str]
    set_aside: list[str]
    remain: list[str]


class GcReply(msgspec.Struct, frozen=True, kw_only=True):
    """`gc`. More figures may be added."""

    ok: bool
    message: str
    policy: str
    kept: dict[str, int]  # blobs, bytes
    droppable: dict[str, int]
    reasons: dict[str, int]  # why blobs stay or go: how many
    blobs: list[dict[str, Any]]  # of a dry run
    next: int | None
