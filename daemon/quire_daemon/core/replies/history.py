"""Replies about the past: records, versions, differences, who wrote what, trees."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from quire_daemon.core.replies.base import LostRecords, Maybe, Reply, Shape, Span, Writer


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
    heading: str | UnsetType = UNSET  # the line of the function that it begins in


class Side(Shape, frozen=True, kw_only=True):
    """One of two contents that are compared, as git holds it."""

    path: str
    path_encoding: str | UnsetType = UNSET
    mode: str  # 100644, 100755, 120000
    sha256: str


class Difference(Shape, frozen=True, kw_only=True):
    """How two versions differ."""

    path: str | UnsetType = UNSET
    path_encoding: str | UnsetType = UNSET  # "percent" for a name that is not UTF-8
    status: str  # added, removed, changed, mode, replaced, same, record_lost
    from_: str | None = msgspec.field(name="from")
    to: str | None
    mode: list[str] | UnsetType = UNSET  # of both, in octal digits
    entry: str | UnsetType = UNSET  # link or folder
    hunks: list[Hunk] | UnsetType = UNSET
    moved_from: str | UnsetType = UNSET  # its path before
    others: list[str] | UnsetType = UNSET  # who else changed it, where a writer was asked for
    patch: str | UnsetType = UNSET  # as git writes it
    patch_base64: str | UnsetType = UNSET  # of a text that is not UTF-8
    binary: bool | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET  # it does not fit into the reply
    sides: list[Side | None] | UnsetType = UNSET  # then: what to make it from
    partial: bool | UnsetType = UNSET  # only what is around the line that was asked about


class CallOfWrite(Shape, frozen=True, kw_only=True):
    """The call of an agent's own tool in which another program's write was made, or may have been."""

    burst: int
    label: str
    command: Maybe[str | None] = UNSET  # of a shell call: its command line
    writer: Maybe[str] = UNSET  # of a candidate: whose call it is


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
    evidence: str | None  # of an outside version: how its writer is known, else how it was found
    call: Maybe[CallOfWrite] = UNSET  # in which its writer made an outside version
    candidates: Maybe[list[CallOfWrite]] = UNSET  # of an overlap
    unclaimed: Maybe[bool] = UNSET  # nobody's call was open then, and git was not at work: a person may have saved it
    path_encoding: str | UnsetType = UNSET
    entry: str | UnsetType = UNSET  # link or folder
    hint: str | UnsetType = UNSET
    abandoned: bool | UnsetType = UNSET  # the write did not happen
    to: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    cursor: int | UnsetType = UNSET
    note: str | UnsetType = UNSET
    tool: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    kept: str | UnsetType = UNSET  # the file that has displaced bytes which the journal must not have
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
    prompt: str | UnsetType = UNSET  # how a turn began
    transcript: str | UnsetType = UNSET
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
    """`log`: a page of records, or of stories."""

    records: Maybe[list[Record]] = UNSET
    stories: Maybe[list[Story]] = UNSET  # where these were asked for
    next: str | None  # the `cursor` of the next page; None at the end
    left_out: Maybe[int] = UNSET  # records that may be of the writer who is asked for
    capturing: Maybe[bool] = UNSET  # the first capture of the tree is not over: there may be more


class SinceReply(Reply, frozen=True, kw_only=True):
    """`since`: what was recorded after a cursor, in order."""

    records: list[Record]
    cursor: str  # to ask with next
    more: bool
    fresh: bool  # the cursor was of no use: this is the listing from the beginning


class StoryFile(Shape, frozen=True, kw_only=True):
    """What a story did to a file. `added` and `removed` are missing where nobody counted them."""

    path: str
    path_encoding: Maybe[str] = UNSET
    status: str  # added, removed, changed, mode, moved
    moved_from: Maybe[str] = UNSET
    version: str  # the newest of the story
    before: Maybe[str] = UNSET  # the version from which the story began
    added: Maybe[int] = UNSET  # lines
    removed: Maybe[int] = UNSET
    binary: Maybe[bool] = UNSET
    symbols: Maybe[list[str]] = UNSET  # functions, classes and headings with lines that changed


class StoryCall(Shape, frozen=True, kw_only=True):
    """A call within a turn."""

    at: str
    label: str
    command: Maybe[str] = UNSET  # of a shell call
    burst: Maybe[int] = UNSET  # of an agent's own tool
    batch: Maybe[int] = UNSET  # of a tool of Quire's
    writes: int
    paths: list[str]  # at most three


class StoryProgram(Shape, frozen=True, kw_only=True):
    """A program as people know it."""

    kind: str  # build, formatter, generator, packages, archive
    called: str  # its name, with the subcommand or target


class StoryRefusal(Shape, frozen=True, kw_only=True):
    """A write that was refused."""

    path: str
    path_encoding: Maybe[str] = UNSET
    code: str


class Story(Shape, frozen=True, kw_only=True):
    """Something that somebody did: a turn of an agent, a git operation, saves, a burst of files, an undo."""

    form: str  # turn, git, saves, crowd, person, undo, checkpoint, capture
    seq: int  # of its newest record
    first: int  # of its oldest
    at: str  # when it began: RFC 3339, UTC
    ended_at: str
    writer: Writer
    probable: Maybe[bool] = UNSET  # all that it wrote is its writer's probably, not provably
    unclaimed: Maybe[bool] = UNSET  # nobody's call was open then, and git was not at work: a person may have saved it
    whole: bool  # its beginning is known; else a later page may tell more of it
    prompt: Maybe[str] = UNSET
    calls: Maybe[list[StoryCall]] = UNSET  # that wrote; with `all`, every one
    calls_count: Maybe[int] = UNSET
    files: list[StoryFile]
    files_more: Maybe[int] = UNSET  # that are not listed
    files_count: int  # of which the story left something changed, as far as each was looked at
    writes: int
    unread: Maybe[int] = UNSET  # writes that were counted and not looked at: `files_count` counts writes then
    folders: Maybe[list[str]] = UNSET  # of many files: where most of them are
    refused: Maybe[list[StoryRefusal]] = UNSET
    refused_count: Maybe[int] = UNSET
    commands: Maybe[list[str]] = UNSET  # of git, the newest first
    failed: Maybe[bool] = UNSET  # the newest of them said so
    head_before: Maybe[str] = UNSET  # branch and commit
    head_after: Maybe[str] = UNSET
    hint: Maybe[str] = UNSET  # what went on then
    program: Maybe[StoryProgram] = UNSET  # that wrote, as the command line of a call tells
    candidates: Maybe[list[CallOfWrite]] = UNSET  # calls that may have written it
    how: Maybe[str] = UNSET  # undo, redo, rollback or restore
    undone: Maybe[list[int]] = UNSET  # batches, at most twenty
    name: Maybe[str] = UNSET  # of a checkpoint
    note: Maybe[str] = UNSET


class StoriesReply(Reply, frozen=True, kw_only=True):
    """`stories`: a page of what happened."""

    stories: list[Story]
    next: str | None  # the `cursor` of the next page; None at the end
    capturing: Maybe[bool] = UNSET  # the first capture of the tree is not over: there may be more


class Lane(Shape, frozen=True, kw_only=True):
    """What one writer did: (stretch, number of records) of each stretch, from 0, in which there are any."""

    writer: Writer
    writes: list[tuple[int, int]]
    refused: list[tuple[int, int]]


class LanesReply(Reply, frozen=True, kw_only=True):
    """`lanes`: how much each writer did, and when."""

    by: str  # log or time: what the stretches share out evenly
    bounds: list[int]  # seqs; the stretch i holds the records behind bounds[i], up to bounds[i + 1]
    times_ms: list[int]  # of each bound: when the next record was made, in ms since 1970; of the last, when its own was
    lanes: list[Lane]  # those who came last first, at the end other programs
    others: list[tuple[int, int]]  # writes of all whose lanes are not listed


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
    patch: Maybe[str] = UNSET  # all of them
    patch_base64: Maybe[str] = UNSET  # the same, where a text is not UTF-8
    gaps: Maybe[list[LostRecords]] = UNSET  # records that are lost
    truncated: bool | UnsetType = UNSET
    next: str | UnsetType = UNSET  # the `cursor` of the files that are not listed


class CommitAuthor(Shape, frozen=True, kw_only=True):
    """The commit that a line comes from, which the journal never saw being written."""

    id: str  # of the commit
    author: str
    at: str  # RFC 3339, in the author's zone; "" where the commit does not tell


class Brought(Shape, frozen=True, kw_only=True):
    """What brought a line back, or here from another path, last."""

    version: str
    at: str
    by: str  # "git checkout", undo, redo, rollback, restore, a writer's name, or "another program"
    writer: str  # as the log shows it: ada/s1, or outside


class Origin(Shape, frozen=True, kw_only=True):
    """The record that lines come from."""

    seq: int
    version: str
    writer: Writer
    turn: str
    at: str
    evidence: Maybe[str] = UNSET
    unclaimed: Maybe[bool] = UNSET  # as of a record
    how: Maybe[str] = UNSET  # undo, redo, rollback or restore, which made it
    commit: Maybe[CommitAuthor] = UNSET
    commit_pending: Maybe[bool] = UNSET  # git has not told yet whether a commit has the line
    brought: Maybe[Brought] = UNSET


class BlameLine(Origin, frozen=True, kw_only=True):
    """A line, and where it comes from."""

    line: int
    text: str


class BlameRun(Origin, frozen=True, kw_only=True):
    """Neighbouring lines of one origin."""

    start: int
    end: int


class BlameGap(Shape, frozen=True, kw_only=True):
    """A version whose bytes are not held: what came before it counts as its."""

    version: str
    why: str
    attributed_to: str


class BlameReply(Reply, frozen=True, kw_only=True):
    """`blame`: who wrote each line."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    sha256: str
    lineCount: int
    startLine: int
    endLine: int
    lines: list[BlameLine]
    runs: list[BlameRun]
    names: list[str]  # that the file had
    gaps: list[BlameGap]
    lossy: Maybe[bool] = UNSET
    truncated: bool
    next_line: Maybe[int] = UNSET


class Brief(Shape, frozen=True, kw_only=True):
    """A version in short."""

    version: str
    at: str
    kind: str
    writer: Writer


class Wrote(Span, frozen=True, kw_only=True):
    """Lines that a change wrote, or that it replaced."""

    lines: list[str]
    by: Maybe[list[Brief]] = UNSET


class Beside(Shape, frozen=True, kw_only=True):
    """Another file that the same call changed."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    kind: str


class WhyReply(Reply, frozen=True, kw_only=True):
    """`why`: what made a file, or one line of it, what it is."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    record: Record
    operation: str
    line: Maybe[int] = UNSET
    text: Maybe[str] = UNSET
    line_then: Maybe[int] = UNSET
    commit: Maybe[CommitAuthor] = UNSET  # these three as of a line in `blame`
    commit_pending: Maybe[bool] = UNSET
    brought: Maybe[Brought] = UNSET
    wrote: Maybe[Wrote] = UNSET
    replaced: Maybe[Wrote | None] = UNSET
    diff: Difference | None
    previous: Brief | None
    next: Brief | None
    batch_files: list[Beside]
    batch_files_more: Maybe[int] = UNSET
    undone_by: int | None


class Entry(Shape, frozen=True, kw_only=True):
    """What stood at a path."""

    path: str
    path_encoding: Maybe[str] = UNSET
    kind: str  # file, link, folder
    version: str | None  # None where the record of it is lost
    sha256: str | None
    sizeBytes: int
    mode: str  # octal digits
    target: Maybe[str] = UNSET
    uncaptured: Maybe[str] = UNSET


class TreeReply(Reply, frozen=True, kw_only=True):
    """`tree`: a page of what there was."""

    at: str
    time: str | None
    entries: list[Entry]
    next: int | None
    complete: bool  # the whole tree had been looked at by then, and no record of before is lost
    gaps: Maybe[list[LostRecords]] = UNSET  # those that are


class Blob(Shape, frozen=True, kw_only=True):
    """Bytes by their address, or why they cannot be had."""

    sha256: str
    content_base64: Maybe[str] = UNSET
    sizeBytes: int
    offset: int
    next_offset: Maybe[int] = UNSET
    uncaptured: Maybe[str] = UNSET


class BlobsReply(Reply, frozen=True, kw_only=True):
    """`blobs`."""

    blobs: list[Blob]
