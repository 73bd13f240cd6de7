"""The shapes of replies, as structs: what callers may rely on, and where its JSON Schema is made from.

Only successes; a refusal is `ok: false` with `error`, `message`, `suggested_action` and what its code brings. Handlers
build plain dicts; the tests hold what they really answer against these shapes, strictly, so that no field is told to
nobody. A tool without a line in `REPLIES` is described in its handler's docstring only, so far.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from quire_journal.refusals import CODES


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the shapes."""


class Reply(Shape, frozen=True, kw_only=True):
    """What every reply has."""

    ok: bool
    message: str  # a sentence for people
    changed_since_your_read: list[dict[str, Any]] | UnsetType = UNSET
    changed_since_your_read_more: int | UnsetType = UNSET


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """An understood call that was declined; nothing has changed. Further fields help to repair the call."""

    ok: bool
    error: str  # a code of `CODES`
    message: str
    suggested_action: str = ""


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


class Stat(Shape, frozen=True, kw_only=True):
    """How many lines came and went; nothing where bytes are not held."""

    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET
    binary: bool | UnsetType = UNSET


class Hunk(Shape, frozen=True, kw_only=True):
    """Lines behind ` `, `-` or `+`; starts are 1-based, of a side without lines the line before."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]


class Difference(Shape, frozen=True, kw_only=True):
    """How two versions differ."""

    path: str | UnsetType = UNSET
    path_encoding: str | UnsetType = UNSET  # "percent" for a name that is not UTF-8
    status: str  # added, removed, changed, mode, replaced, same
    from_: str | None = msgspec.field(name="from")
    to: str | None
    mode: list[str] | UnsetType = UNSET  # of both, in octal digits
    entry: str | UnsetType = UNSET  # link or folder
    hunks: list[Hunk] | UnsetType = UNSET
    patch: str | UnsetType = UNSET  # a unified diff
    binary: bool | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET  # it does not fit into the reply


class Record(Shape, frozen=True, kw_only=True):
    """A record. What a kind has besides stands under its own name."""

    seq: int
    at: str  # RFC 3339, UTC
    kind: str
    path: str | None
    version: str | None  # of the version that it made
    sha256: str | None
    base: str | None  # the version that it was made from
    batch: int
    writer: Writer
    evidence: str | None  # how an outside version was found
    path_encoding: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    abandoned: bool | UnsetType = UNSET  # the write did not happen
    to: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    cursor: int | UnsetType = UNSET
    note: str | UnsetType = UNSET
    tool: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    undone: list[int] | UnsetType = UNSET
    undone_more: int | UnsetType = UNSET
    how: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    seqs: list[int] | UnsetType = UNSET
    lease: int | UnsetType = UNSET
    strength: str | UnsetType = UNSET
    burst: int | UnsetType = UNSET
    label: str | UnsetType = UNSET
    form: str | UnsetType = UNSET
    outside: bool | UnsetType = UNSET
    command: str | UnsetType = UNSET
    worktree: str | UnsetType = UNSET
    exit_code: int | UnsetType | None = UNSET
    head_before: str | UnsetType = UNSET
    head_after: str | UnsetType = UNSET
    started_at: str | UnsetType = UNSET
    ended_at: str | UnsetType = UNSET
    occurrences: list[int] | UnsetType = UNSET  # of `text_changed`, before and after
    stat: Stat | UnsetType = UNSET
    diff: Difference | UnsetType = UNSET


class LogReply(Reply, frozen=True, kw_only=True):
    """`log`: a page of records."""

    records: list[Record]
    next: str | None  # the `cursor` of the next page; None at the end


class SinceReply(Reply, frozen=True, kw_only=True):
    """`since`: what was recorded after a cursor, in order."""

    records: list[Record]
    cursor: str  # to ask with next
    more: bool
    fresh: bool  # the cursor was of no use: this is the listing from the beginning


class ShowReply(Reply, frozen=True, kw_only=True):
    """`show`: a record; of one that made a version also what it made, and how that differs from its base."""

    record: Record
    path: str | UnsetType = UNSET
    path_encoding: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    sha256: str | UnsetType | None = UNSET
    sizeBytes: int | UnsetType = UNSET
    mode: str | UnsetType = UNSET  # octal digits
    entry: str | UnsetType = UNSET  # file, link or folder
    gone: bool | UnsetType = UNSET
    moved_from: str | UnsetType | None = UNSET
    moved_to: str | UnsetType | None = UNSET
    writer: Writer | UnsetType = UNSET
    content: str | UnsetType = UNSET  # of whole lines, LF between them
    lineCount: int | UnsetType = UNSET
    newlineStyle: str | UnsetType = UNSET
    lossy: bool | UnsetType = UNSET
    binary: bool | UnsetType = UNSET
    content_base64: str | UnsetType = UNSET
    uncaptured: str | UnsetType = UNSET  # why the bytes cannot be had
    uncaptured_told: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    next_line: int | UnsetType = UNSET
    against: str | UnsetType | None = UNSET  # the version that `diff` compares with
    diff: Difference | UnsetType = UNSET


class DiffReply(Reply, frozen=True, kw_only=True):
    """`diff`: the files that differ between two points."""

    from_: str = msgspec.field(name="from")
    to: str
    files: list[Difference]
    patch: str
    truncated: bool | UnsetType = UNSET


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


class JournalSize(Shape, frozen=True, kw_only=True):
    """What the journal holds."""

    bytes: int | None
    versions: int | None
    records: int


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


class ExportReply(Reply, frozen=True, kw_only=True):
    """`export`: a page."""

    export: str  # the next page is asked for with it
    page: int
    content_base64: str
    done: bool
    records: int
    of: int


REPLIES: Final[dict[str, type[msgspec.Struct]]] = {
    "log": LogReply,
    "since": SinceReply,
    "show": ShowReply,
    "diff": DiffReply,
    "status": StatusReply,
    "export": ExportReply,
}
"""The shape of each tool's reply."""


def reply_schema(tool: str) -> dict[str, Any] | None:
    """The JSON Schema of what a tool answers, refusals included; None where no shape is stated."""
    shape = REPLIES.get(tool)
    if shape is None:
        return None
    (success, refusal), definitions = msgspec.json.schema_components([shape, Refusal], ref_template="#/$defs/{name}")
    definitions[shape.__name__]["properties"]["ok"] = {"const": True}
    definitions["Refusal"]["properties"]["ok"] = {"const": False}
    definitions["Refusal"]["properties"]["error"] = {"enum": sorted(CODES)}
    return {"anyOf": [success, refusal], "$defs": dict(definitions)}
