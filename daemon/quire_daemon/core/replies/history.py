"""Replies about the past: records, versions, differences, origins of lines, trees."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from quire_daemon.core.replies.base import LostRecords, Maybe, Reply, Shape, Span, Writer


class Stat(Shape, frozen=True, kw_only=True):
    """Numbers of added and removed lines; both are missing if the journal lacks bytes."""

    added: int | UnsetType = UNSET
    removed: int | UnsetType = UNSET
    binary: bool | UnsetType = UNSET


class Hunk(Shape, frozen=True, kw_only=True):
    """Lines prefixed with ` `, `-` or `+`. Starts are 1-based; for an empty side, the start is the line before."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]
    heading: str | UnsetType = UNSET  # first line of the enclosing function


class Side(Shape, frozen=True, kw_only=True):
    """One of two compared contents, with the mode that git gives such a file."""

    path: str
    path_encoding: str | UnsetType = UNSET
    mode: str  # 100644, 100755, 120000
    sha256: str


class LinesOfOthers(Span, frozen=True, kw_only=True):
    """Lines of other writers that the patch with one writer's changes alone lacks."""

    writer: Maybe[Writer] = UNSET  # who wrote them, if that is known


class Difference(Shape, frozen=True, kw_only=True):
    path: str | UnsetType = UNSET
    path_encoding: str | UnsetType = UNSET  # "percent" for a name that is not UTF-8
    status: str  # added, removed, changed, mode, replaced (binary or bytes not held), same, record_lost
    from_: str | None = msgspec.field(name="from")
    to: str | None
    mode: list[str] | UnsetType = UNSET  # old and new mode, octal
    entry: str | UnsetType = UNSET  # link or folder
    hunks: list[Hunk] | UnsetType = UNSET
    moved_from: str | UnsetType = UNSET  # old path
    moved_to: str | UnsetType = UNSET  # path now, if the file was renamed after the later point
    others: list[str] | UnsetType = UNSET  # other writers, if a writer was named
    probable: bool | UnsetType = UNSET  # a part is only probably the named writer's
    resting: list[Span] | UnsetType = UNSET  # with `alone`: lines of the file now that rest on lines of others
    left_out: list[LinesOfOthers] | UnsetType = UNSET  # with `alone`: lines of others now between those of the patch
    replaced: list[LinesOfOthers] | UnsetType = UNSET  # with `alone`: lines that replaced lines of the writer
    inseparable: bool | UnsetType = UNSET  # with `alone`: the writer's changes cannot be told from those of others
    patch: str | UnsetType = UNSET  # as git writes it
    patch_base64: str | UnsetType = UNSET  # the patch, if it is not UTF-8
    binary: bool | UnsetType = UNSET
    uncaptured: str | UnsetType = UNSET  # why bytes of it are not held; for people in `uncaptured_told`
    uncaptured_told: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET  # the patch does not fit into the reply
    sides: list[Side | None] | UnsetType = UNSET  # for a truncated patch: the contents to make it from
    partial: bool | UnsetType = UNSET  # only the surroundings of the requested line


class CallOfWrite(Shape, frozen=True, kw_only=True):
    """The call of an agent's own tool that made, or may have made, an outside write."""

    burst: int
    label: str
    command: Maybe[str | None] = UNSET  # command line of a shell call
    writer: Maybe[str] = UNSET  # of a candidate: the caller


class Record(Shape, frozen=True, kw_only=True):
    """A record of the log; fields of its kind keep their own names."""

    seq: int
    at: str  # RFC 3339, UTC
    kind: str
    path: str | None
    version: str | None  # the version made by the record
    sha256: str | None
    base: str | None  # base version
    batch: int
    writer: Writer
    evidence: str | None  # of an outside version: how its writer is known, or how it was found
    call: Maybe[CallOfWrite] = UNSET  # the call that made an outside version
    candidates: Maybe[list[CallOfWrite]] = UNSET  # possible calls of an overlap
    unclaimed: Maybe[bool] = UNSET  # as far as is known no agent's call and no git command wrote it: a person may have
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
    kept: str | UnsetType = UNSET  # file with displaced bytes that the journal must not hold
    undone: list[int] | UnsetType = UNSET
    undone_more: int | UnsetType = UNSET  # number of further batches
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
    prompt: str | UnsetType = UNSET  # beginning of a turn's prompt
    transcript: str | UnsetType = UNSET
    worktree: str | UnsetType = UNSET
    exit_code: int | UnsetType | None = UNSET
    parents: list[str] | UnsetType = UNSET  # of git: names of its ancestor processes
    head_before: str | UnsetType = UNSET
    head_after: str | UnsetType = UNSET
    origin: str | UnsetType = UNSET  # of a signed head: the name of its tree
    broken: str | UnsetType = UNSET  # how the journal differed from the previous head
    status: int | UnsetType = UNSET  # exit status of a command that was run
    by_others: int | UnsetType = UNSET  # files that others changed, or may have, while it ran
    ran_at: str | UnsetType | None = UNSET  # the point whose exported tree it ran in; None: the checkout
    started_at: str | UnsetType = UNSET
    ended_at: str | UnsetType = UNSET
    occurrences: list[int] | UnsetType = UNSET  # of `text_changed`: counts before and after
    stat: Stat | UnsetType = UNSET
    diff: Difference | UnsetType = UNSET


class LogReply(Reply, frozen=True, kw_only=True):
    """`log`: a page of records, or of stories."""

    records: Maybe[list[Record]] = UNSET
    stories: Maybe[list[Story]] = UNSET  # if requested
    next: str | None  # the `cursor` of the next page; None at the end
    left_out: Maybe[int] = UNSET  # records that may be of the requested writer
    capturing: Maybe[bool] = UNSET  # the first scan of the tree is not over: there may be more


class SinceReply(Reply, frozen=True, kw_only=True):
    """`since`: the records after a cursor, in order."""

    records: list[Record]
    cursor: str  # cursor of the next call
    more: bool
    fresh: bool  # unusable cursor: the list starts at the oldest record


class StoryFile(Shape, frozen=True, kw_only=True):
    """A file that a story changed. `added` and `removed` are missing if the lines were not counted."""

    path: str
    path_encoding: Maybe[str] = UNSET
    status: str  # added, removed, changed, mode, moved
    moved_from: Maybe[str] = UNSET
    version: str  # newest version of the story
    before: Maybe[str] = UNSET  # version before the story
    added: Maybe[int] = UNSET  # lines
    removed: Maybe[int] = UNSET
    binary: Maybe[bool] = UNSET
    uncaptured: Maybe[str] = UNSET  # why the journal lacks the bytes of `version`
    symbols: Maybe[list[str]] = UNSET  # functions, classes and headings with lines that changed
    probable: Maybe[bool] = UNSET  # True: only probably of the story's writer, unlike others of its files


class StoryCall(Shape, frozen=True, kw_only=True):
    """A call within a turn."""

    at: str
    label: str
    command: Maybe[str] = UNSET  # of a shell call
    burst: Maybe[int] = UNSET  # set for an agent's own tool
    batch: Maybe[int] = UNSET  # set for a tool of Quire
    status: Maybe[int] = UNSET  # exit status, of `quire run`
    end: Maybe[str] = UNSET  # "open": asked or running; "unreported": denied, interrupted or left running
    writes: int
    paths: list[str]  # at most three


class StoryProgram(Shape, frozen=True, kw_only=True):
    """A program, by its kind and the name that people use."""

    kind: str  # build, formatter, generator, packages, archive
    called: str  # its name, with the subcommand or target


class StoryRefusal(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    code: str


class Story(Shape, frozen=True, kw_only=True):
    """One entry of `stories`: an agent's turn, a command's run, a git operation, saves, a burst of files, or an
    undo.
    """

    form: str  # turn, run, git, saves, crowd, person, undo, checkpoint, capture
    seq: int  # of its newest record
    first: int  # of its oldest
    at: str  # when it began: RFC 3339, UTC
    ended_at: str
    writer: Writer
    probable: Maybe[bool] = UNSET  # authorship is only probable
    unclaimed: Maybe[bool] = UNSET  # as far as is known no agent's call and no git command wrote it: a person may have
    whole: bool  # complete; otherwise a later page may add to it
    prompt: Maybe[str] = UNSET
    calls: Maybe[list[StoryCall]] = UNSET  # writing calls; with `all`, every call
    calls_count: Maybe[int] = UNSET
    files: list[StoryFile]
    files_more: Maybe[int] = UNSET  # number of unlisted files
    files_count: int  # number of changed files, as far as examined
    writes: int
    unread: Maybe[int] = UNSET  # number of unexamined writes; `files_count` then counts writes
    folders: Maybe[list[str]] = UNSET  # of many files: folders with most of them
    gone_count: Maybe[int] = UNSET  # of a burst: files that were removed
    refused: Maybe[list[StoryRefusal]] = UNSET
    refused_count: Maybe[int] = UNSET
    commands: Maybe[list[str]] = UNSET  # of git, newest first; of a run, its own command
    burst: Maybe[int] = UNSET  # of a run
    status: Maybe[int] = UNSET  # exit status of a run; missing: it was killed, or goes on
    by_others: Maybe[int] = UNSET  # files that others changed, or may have, during a run
    by_git: Maybe[int] = UNSET  # files that git wrote, which a run ran, beside `files`
    failed: Maybe[bool] = UNSET  # the newest command failed
    head_before: Maybe[str] = UNSET  # branch and commit
    head_after: Maybe[str] = UNSET
    hint: Maybe[str] = UNSET  # events at the time, such as a git command
    program: Maybe[StoryProgram] = UNSET  # program that wrote, by the command line of a call
    candidates: Maybe[list[CallOfWrite]] = UNSET  # calls that may have made the writes
    how: Maybe[str] = UNSET  # undo, redo, rollback or restore
    undone: Maybe[list[int]] = UNSET  # batches, at most twenty
    name: Maybe[str] = UNSET  # of a checkpoint
    note: Maybe[str] = UNSET


class StoriesReply(Reply, frozen=True, kw_only=True):
    stories: list[Story]
    next: str | None  # the `cursor` of the next page; None at the end
    capturing: Maybe[bool] = UNSET  # the first scan of the tree is not over: there may be more


class Lane(Shape, frozen=True, kw_only=True):
    """One writer's activity: (number of the interval, from 0; number of records) of each non-empty interval."""

    writer: Writer
    writes: list[tuple[int, int]]
    refused: list[tuple[int, int]]


class LanesReply(Reply, frozen=True, kw_only=True):
    """`lanes`: activity of each writer over time."""

    by: str  # log or time: the measure that intervals divide evenly
    bounds: list[int]  # seqs; interval i holds records after bounds[i], up to bounds[i + 1]
    times_ms: list[int]  # per bound: time of the next record (of the last bound: its own record), ms since 1970
    lanes: list[Lane]  # latest caller first, other programs last
    others: list[tuple[int, int]]  # writes of all unlisted writers


class ShowReply(Reply, frozen=True, kw_only=True):
    """`show`: a record; for a version also its content and the difference to its base."""

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
    content: str | UnsetType = UNSET  # whole lines, joined with LF
    lineCount: int | UnsetType = UNSET
    newlineStyle: str | UnsetType = UNSET
    lossy: bool | UnsetType = UNSET
    binary: bool | UnsetType = UNSET
    content_base64: str | UnsetType = UNSET  # of a binary version
    uncaptured: str | UnsetType = UNSET  # why the bytes are missing
    uncaptured_told: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    next_line: int | UnsetType = UNSET
    against: str | UnsetType | None = UNSET  # the version that `diff` compares with
    diff: Difference | UnsetType = UNSET


class LeftOutFile(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET


class DiffReply(Reply, frozen=True, kw_only=True):
    """`diff`: the files that differ between two points."""

    from_: str = msgspec.field(name="from")
    to: str
    files: list[Difference]
    patch: Maybe[str] = UNSET  # all patches joined
    patch_base64: Maybe[str] = UNSET  # `patch`, if a text is not UTF-8
    left_out: Maybe[list[LeftOutFile]] = UNSET  # with `alone`: files with changes that are only probably the writer's
    gaps: Maybe[list[LostRecords]] = UNSET  # records that are lost
    truncated: bool | UnsetType = UNSET
    next: str | UnsetType = UNSET  # `cursor` of the next page


class CommitAuthor(Shape, frozen=True, kw_only=True):
    """The git commit of a line that is older than the journal."""

    id: str  # of the commit
    author: str
    at: str  # RFC 3339, in the author's zone; "" if unknown


class Brought(Shape, frozen=True, kw_only=True):
    """The newest version that brought a line back, or moved it here from another path."""

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
    unclaimed: Maybe[bool] = UNSET  # as in a record
    how: Maybe[str] = UNSET  # undo, redo, rollback or restore, if one made the line
    commit: Maybe[CommitAuthor] = UNSET  # of a line older than the journal
    commit_pending: Maybe[bool] = UNSET  # git's answer about the line is pending
    brought: Maybe[Brought] = UNSET


class BlameLine(Origin, frozen=True, kw_only=True):
    line: int
    text: str


class BlameRun(Origin, frozen=True, kw_only=True):
    """Neighbouring lines with the same origin."""

    start: int
    end: int


class BlameGap(Shape, frozen=True, kw_only=True):
    """A version whose bytes the journal lacks; older lines are attributed to `attributed_to`."""

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
    names: list[str]  # names of the file
    gaps: list[BlameGap]  # versions beyond which nothing is known
    lossy: Maybe[bool] = UNSET
    truncated: bool
    next_line: Maybe[int] = UNSET


class Brief(Shape, frozen=True, kw_only=True):
    version: str
    at: str
    kind: str
    writer: Writer
    evidence: Maybe[str] = UNSET  # as in a record


class Wrote(Span, frozen=True, kw_only=True):
    """Lines that a change wrote, or lines that it replaced."""

    lines: list[str]
    by: Maybe[list[Brief]] = UNSET


class Beside(Shape, frozen=True, kw_only=True):
    """Another file that the same call changed."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    kind: str


class WhyReply(Reply, frozen=True, kw_only=True):
    """`why`: the change that made a file, or one line of it."""

    path: str
    path_encoding: Maybe[str] = UNSET
    version: str
    record: Record
    operation: str  # the dialect or command that made the change
    line: Maybe[int] = UNSET
    text: Maybe[str] = UNSET
    line_then: Maybe[int] = UNSET  # number of the line in that version
    commit: Maybe[CommitAuthor] = UNSET  # these three as in a line of `blame`
    commit_pending: Maybe[bool] = UNSET
    brought: Maybe[Brought] = UNSET
    wrote: Maybe[Wrote] = UNSET  # the lines that the change wrote
    replaced: Maybe[Wrote | None] = UNSET  # the old lines and the versions that wrote them
    diff: Difference | None  # for a line: its surroundings; None: the file is older than the journal
    previous: Brief | None
    next: Brief | None
    batch_files: list[Beside]  # other changes of the call
    batch_files_more: Maybe[int] = UNSET
    undone_by: int | None


class Entry(Shape, frozen=True, kw_only=True):
    path: str
    renamed_to: Maybe[str] = UNSET  # in a commit: the requested path, which this file has later
    path_encoding: Maybe[str] = UNSET
    kind: str  # file, link, folder (only folders once found empty)
    version: str | None  # None if its record is lost
    sha256: str | None
    sizeBytes: int
    mode: str  # octal digits
    target: Maybe[str] = UNSET  # of a link
    uncaptured: Maybe[str] = UNSET


class TreeReply(Reply, frozen=True, kw_only=True):
    at: str
    time: str | None
    entries: list[Entry]
    next: int | None
    complete: bool  # the tree was fully scanned by then, and no earlier record is lost
    gaps: Maybe[list[LostRecords]] = UNSET  # the lost records


class Blob(Shape, frozen=True, kw_only=True):
    """A blob's bytes, or the reason why they are missing."""

    sha256: str
    content_base64: Maybe[str] = UNSET
    sizeBytes: int
    offset: int
    next_offset: Maybe[int] = UNSET  # `offset` of the next part
    uncaptured: Maybe[str] = UNSET


class BlobsReply(Reply, frozen=True, kw_only=True):
    blobs: list[Blob]


class WriterShare(Shape, frozen=True, kw_only=True):
    """A writer's part in the changes of a file."""

    writer: Writer
    you: bool
    lines: int | None  # added and still there, or removed; 0: only renamed; None: they cannot be counted
    version: str  # the writer's newest version in the difference
    evidence: str | None  # of that version


class WrittenLines(Shape, frozen=True, kw_only=True):
    """New lines with one origin, 1-based and inclusive."""

    start: int
    end: int
    writer: Writer
    version: str
    at: str  # RFC 3339, UTC
    evidence: str | None
    commit: Maybe[CommitAuthor] = UNSET  # of lines that the journal did not see written


class ContributedFile(Shape, frozen=True, kw_only=True):
    """A file that differs between the two compared states."""

    path: str
    path_encoding: Maybe[str] = UNSET
    status: str  # added, changed, removed; unknown: the journal never saw it
    moved_from: Maybe[str] = UNSET  # path in the earlier state
    held: bool  # the journal has the bytes of the later state
    writers: list[WriterShare]
    runs: Maybe[list[WrittenLines]] = UNSET


class ContributionsReply(Reply, frozen=True, kw_only=True):
    """`contributions`: who made the difference between two states."""

    files: list[ContributedFile]
    more: int  # number of further files


class BrokenVersion(Shape, frozen=True, kw_only=True):
    """A version that does not parse, and its first fault."""

    version: str
    path: str
    path_encoding: Maybe[str] = UNSET
    line: int
    message: str


class SyntaxReply(Reply, frozen=True, kw_only=True):
    """`syntax`: the versions that do not parse."""

    broken: list[BrokenVersion]


class PendingWriter(Writer, frozen=True, kw_only=True):
    """A writer of lines that nobody has accepted."""

    probable: Maybe[bool] = UNSET  # authorship is only probable
    unclaimed: Maybe[bool] = UNSET  # as in a record


class PendingPlace(Shape, frozen=True, kw_only=True):
    """A changed place that nobody has accepted, in lines of the current file, from 1, inclusive; [5, 4]: a removal
    above line 5.
    """

    start: int
    end: int
    lines: int  # pending lines, or removed ones
    writers: list[PendingWriter]
    rows: list[str]  # "-" removed, "+" pending, " " accepted
    rows_more: int
    whole: bool  # the file as a whole: no text, or only its mode or path differs
    rejected: bool  # taken back when the turn of its writer has ended


class PendingFile(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    status: str  # added, changed, removed
    moved_from: Maybe[str] = UNSET  # path in the earlier state
    version: str  # version that the lines belong to
    hunks: list[PendingPlace]


class PendingTurn(Shape, frozen=True, kw_only=True):
    """Lines of one turn of a writer that nobody has accepted."""

    writer: PendingWriter
    turn: str
    lines: int
    prompt: Maybe[str] = UNSET
    at: Maybe[str] = UNSET  # RFC 3339, UTC


class ReviewReply(Reply, frozen=True, kw_only=True):
    """Reply of `review`: changes that nobody has accepted yet."""

    files: list[PendingFile]
    by: list[PendingTurn]
    seq: int  # the newest record: `upto` of an `accept` of what is shown
    more: int  # number of further files


class AcceptedFile(Shape, frozen=True, kw_only=True):
    path: str
    path_encoding: Maybe[str] = UNSET
    places: int


class AcceptReply(Reply, frozen=True, kw_only=True):
    """Reply of `accept`: the accepted places."""

    files: list[AcceptedFile]
    lines: int
    more: int


class RejectReply(Reply, frozen=True, kw_only=True):
    """Reply of `reject`: the rejected places, taken back now or when the turns of their writers end."""

    files: list[AcceptedFile]
    rejections: list[int]  # the marks; `undo` with them as `rejected` takes the work back at once
    waits_for: list[str]  # writers whose turn has to end first
    more: int
