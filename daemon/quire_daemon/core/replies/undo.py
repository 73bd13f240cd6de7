"""Replies of undo, redo, rollback and restore, of checkpoints and of bursts."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from quire_daemon.core.replies.base import Change, LostRecords, Maybe, MissingFile, Reply, Shape, Span, Writer
from quire_daemon.core.replies.edits import LastWriter, WriteReply, WrittenFile
from quire_daemon.core.replies.history import Difference


class Made(Shape, frozen=True, kw_only=True):
    """The author and time of a version."""

    version: str
    at: Maybe[str] = UNSET
    batch: Maybe[int] = UNSET
    writer: Maybe[Writer] = UNSET
    evidence: Maybe[str] = UNSET  # of an outside write: how its writer is known


class Kept(Made, frozen=True, kw_only=True):
    """A version of another writer whose changes an undo keeps, or a version whose changes a restore gives up."""

    by_git: Maybe[bool] = UNSET  # git restored existing content


class LeftOut(Made, frozen=True, kw_only=True):
    path: str
    why: str  # "probable": authorship is not proved; "setup": written by Quire


class Conflict(Kept, frozen=True, kw_only=True):
    """A change of another writer that builds on a change to be undone; `lines` are of the current file."""

    seq: int
    why: str
    lines: list[Span]
    run: Maybe[int] = UNSET  # burst of the `quire run` that made the change; undone first, it is in nobody's way


class FirstSeen(Made, frozen=True, kw_only=True):
    """The first known version of a file, to which an undo brings the file back."""

    why: str


class UnwoundFile(WrittenFile, frozen=True, kw_only=True):
    action: str  # write, create, make, delete, move, mode, none
    entry: Maybe[str] = UNSET  # of make: link or folder
    to: Maybe[str] = UNSET
    was: Maybe[str] = UNSET  # its path when the undone changes were made, if it was moved since
    kept: Maybe[list[Kept]] = UNSET  # others' changes that are kept
    kept_more: Maybe[int] = UNSET
    takes_back: Maybe[list[Kept]] = UNSET  # of `restore`: versions that are undone
    takes_back_more: Maybe[int] = UNSET
    conflicts: list[Conflict]
    first_seen: Maybe[FirstSeen] = UNSET  # first known version of the file
    marked: Maybe[int] = UNSET  # places that get conflict markers
    skipped: str | None
    why: Maybe[str] = UNSET


class WriterOfBatches(Shape, frozen=True, kw_only=True):
    """A writer whose work a plan undoes."""

    writer: Writer
    batches: int


class UnwoundReply(WriteReply, frozen=True, kw_only=True):
    """Reply of `undo`, `redo`, `rollback`, `restore`; the fields of a single file are repeated at the top level."""

    batch: Maybe[int | None] = UNSET  # batch of the undo; None if nothing changed
    batches: list[int]  # undone batches
    stayed: Maybe[list[int]] = UNSET  # batches that remain in force
    of: Maybe[list[int]] = UNSET  # batches of which only some lines are undone
    files: list[UnwoundFile]
    left_out: Maybe[list[LeftOut]] = UNSET
    left_out_more: Maybe[int] = UNSET
    left_out_by_git: Maybe[int] = UNSET  # writes of git, which an undo of `outside` leaves out
    git: Maybe[str] = UNSET  # of git's last command: the command whose writes are undone
    git_later: Maybe[str] = UNSET  # a later command of git, of which no written file is recorded
    action: Maybe[str] = UNSET
    plan: Maybe[bool] = UNSET
    writers: Maybe[list[WriterOfBatches]] = UNSET  # of a plan: writers whose work is undone
    token: Maybe[str] = UNSET  # token for carrying out the plan
    gaps: Maybe[list[LostRecords]] = UNSET  # lost records, left out


class TextEditorReply(WriteReply, frozen=True, kw_only=True):
    """`text_editor`: `view` replies as `read_file`, `undo_edit` as `undo`, other commands as edits."""

    newlineStyle: Maybe[str] = UNSET
    hasBom: Maybe[bool] = UNSET
    lineCount: Maybe[int] = UNSET
    startLine: Maybe[int] = UNSET
    endLine: Maybe[int] = UNSET
    last_writer: Maybe[LastWriter | None] = UNSET
    uncaptured: Maybe[str] = UNSET
    truncated: Maybe[bool] = UNSET
    next_line: Maybe[int] = UNSET
    lines: Maybe[list[str] | str] = UNSET  # of a folder: paths of its entries
    lossy: Maybe[bool] = UNSET
    batch: Maybe[int] = UNSET
    batches: Maybe[list[int]] = UNSET
    stayed: Maybe[list[int]] = UNSET
    of: Maybe[list[int]] = UNSET
    files: Maybe[list[UnwoundFile]] = UNSET
    left_out: Maybe[list[LeftOut]] = UNSET
    left_out_more: Maybe[int] = UNSET
    left_out_by_git: Maybe[int] = UNSET  # writes of git, which an undo of `outside` leaves out
    action: Maybe[str] = UNSET
    plan: Maybe[bool] = UNSET
    writers: Maybe[list[WriterOfBatches]] = UNSET
    token: Maybe[str] = UNSET
    gaps: Maybe[list[LostRecords]] = UNSET


class NotCaptured(Shape, frozen=True, kw_only=True):
    """Content that a checkpoint cannot restore."""

    count: int
    never: str
    blind: str | None  # why the journal may not know every change
    files: Maybe[list[MissingFile]] = UNSET  # of a single checkpoint
    more: Maybe[int] = UNSET


class CheckpointName(Shape, frozen=True, kw_only=True):
    name: str
    seq: int
    at: str | None
    named_at: str
    note: str
    writer: Writer
    not_captured: NotCaptured
    gaps: Maybe[list[LostRecords]] = UNSET  # lost records that leave the state uncertain


class CheckpointReply(Reply, frozen=True, kw_only=True):
    """`checkpoint`: one checkpoint, all of them (`list`), or a difference (`diff`)."""

    checkpoints: Maybe[list[CheckpointName]] = UNSET
    name: Maybe[str] = UNSET
    seq: Maybe[int] = UNSET
    at: Maybe[str | None] = UNSET
    named_at: Maybe[str] = UNSET
    note: Maybe[str] = UNSET
    writer: Maybe[Writer] = UNSET
    not_captured: Maybe[NotCaptured] = UNSET
    gaps: Maybe[list[LostRecords]] = UNSET
    from_: Maybe[str] = msgspec.field(name="from", default=UNSET)
    to: Maybe[str] = UNSET
    files: Maybe[list[Difference]] = UNSET
    patch: Maybe[str] = UNSET
    truncated: Maybe[bool] = UNSET
    next: Maybe[str] = UNSET


class Burst(Shape, frozen=True, kw_only=True):
    """Changes that belong together."""

    burst: int
    label: str
    kind: str
    state: str  # open, ended
    outside: bool
    bind: str
    paths: Maybe[list[str]] = UNSET
    owner: Writer
    yours: bool
    began_at: str
    expires_at: str
    ended_at: str | None
    why: str | None  # of the end: owner, failed, ttl, connection, process, daemon, unreported
    first: int
    last: int
    batches: int
    unclear: int  # batches that may belong to it


class BurstBatch(Shape, frozen=True, kw_only=True):
    batch: int
    at: str | None
    writer: Writer | None
    evidence: str
    belongs: bool
    in_force: bool
    paths: list[str]
    paths_more: int


class BurstReply(Reply, frozen=True, kw_only=True):
    """Reply of `burst`: one burst, or the `bursts` that `list` asks for."""

    bursts: Maybe[list[Burst]] = UNSET
    more: Maybe[bool | int] = UNSET
    within: Maybe[list[int]] = UNSET
    unchanged: Maybe[bool] = UNSET
    contents: Maybe[list[BurstBatch]] = UNSET
    burst: Maybe[int | None] = UNSET
    label: Maybe[str] = UNSET
    kind: Maybe[str] = UNSET
    state: Maybe[str] = UNSET
    outside: Maybe[bool] = UNSET
    bind: Maybe[str] = UNSET
    paths: Maybe[list[str]] = UNSET
    owner: Maybe[Writer] = UNSET
    yours: Maybe[bool] = UNSET
    began_at: Maybe[str] = UNSET
    expires_at: Maybe[str] = UNSET
    ended_at: Maybe[str | None] = UNSET
    why: Maybe[str | None] = UNSET
    first: Maybe[int] = UNSET
    last: Maybe[int] = UNSET
    batches: Maybe[int] = UNSET
    unclear: Maybe[int] = UNSET


class RunFile(Shape, frozen=True, kw_only=True):
    path: str
    at: str  # of the newest change
    writer: Writer
    hint: str
    probable: Maybe[bool] = UNSET  # authorship is only probable


class RunReply(BurstReply, frozen=True, kw_only=True):
    """Reply of `run`: the burst of a command, and at its end the changed files."""

    upto: Maybe[int] = UNSET  # of `begin` with `at`: the record of that point
    status: Maybe[int] = UNSET
    took_s: Maybe[float] = UNSET
    early: Maybe[bool] = UNSET  # it began before the first capture was over: not all of its writes are known as such
    changed: Maybe[list[RunFile]] = UNSET  # by the command
    changed_count: Maybe[int] = UNSET
    by_git: Maybe[list[RunFile]] = UNSET  # by git, which the command ran
    by_git_count: Maybe[int] = UNSET
    git: Maybe[str] = UNSET  # that command of git
    by_others: Maybe[list[RunFile]] = UNSET
    by_others_count: Maybe[int] = UNSET
    doubtful: Maybe[list[RunFile]] = UNSET  # by the command or by others
    doubtful_count: Maybe[int] = UNSET
    cut: Maybe[bool] = UNSET  # not all writes were examined


class LandedPath(Shape, frozen=True, kw_only=True):
    """Outcome of one file that an isolated run changed."""

    path: str
    outcome: str  # written, merged, removed, same, beside, stays
    why: Maybe[str] = UNSET  # why the file is unchanged
    beside: Maybe[str] = UNSET  # the file with the command's version


class LandReply(Reply, frozen=True, kw_only=True):
    """Reply of `land`: the outcome of each file that an isolated run changed. The journal does not record `ignored`
    files.
    """

    burst: int
    files: list[LandedPath]
    ignored: list[str]


class SavedReply(Reply, frozen=True, kw_only=True):
    """Reply of `saved`: the version attributed to the caller; None if no recent version has these bytes, or another
    writer made the version.
    """

    version: str | None


class LossShape(Shape, frozen=True, kw_only=True):
    """Loss in the working tree that one program of a command line would cause."""

    command: str
    folder: str  # absolute, or `:/…` from the top of the checkout
    paths: list[str]  # the same; perhaps with globs; empty: everything
    changed: bool
    added: bool  # files that only git's index has
    resets: bool  # git's index is reset: files that were staged before go, too
    untracked: bool
    ignored: bool
    inside: bool
    new_folders: bool
    globs_cross: bool


class GuardReply(Reply, frozen=True, kw_only=True):
    """Reply of `guard`: what a command line would discard."""

    mode: str  # ask, deny, off
    losses: list[LossShape]
    aliases: list[str]  # subcommands of git that may be aliases


class NativeReply(BurstReply, frozen=True, kw_only=True):
    """Reply of `native`: the agent's call may proceed; `news` has changes of other writers."""

    news: Maybe[list[Change]] = UNSET  # others' changes since the last report
    news_more: Maybe[int] = UNSET  # number of further files
    changed_by_command: Maybe[list[str]] = UNSET  # files read by the session and changed by its own command
