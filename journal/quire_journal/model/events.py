"""Events: the closed list of facts that the journal records.

An event says what happened, in the past tense; its record has the writer, time and batch. Anything computable is a
view. To change the format without breaking old journals:
* A kind is an explicit tag, never a class name, and never reused.
* Fields are only appended, always with a default.
* `tests/vectors/events.json` has golden bytes of every kind; changing one requires an upcaster.
"""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from quire_journal.model.line_ranges import LineRange, Ranges

REGULAR: Final = 0
LINK: Final = 1  # the blob is the link's target
FOLDER: Final = 2  # no blob; recorded so that an undo restores empty folders


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all events. `kind` is the tag on disk, on the wire and in `quire log`."""

    kind: ClassVar[str] = ""


# ── the workspace ────────────────────────────────────────────────────────────


class WorkspaceOpened(Event, frozen=True):
    """A run of the daemon opened the workspace."""

    kind: ClassVar[str] = "workspace_opened"
    root: str
    epoch: str  # names one run of the daemon
    version: str  # of the daemon


class WorkspaceScanned(Event, frozen=True):
    """The whole tree was compared with the journal; the records before this one have the differences."""

    kind: ClassVar[str] = "workspace_scanned"
    reason: str  # "start", "overflow", "periodic", "rules" (ignore rules changed), "mounts" (mounts changed), "asked"
    files: int
    changed: int
    skipped: int = 0  # files that were not captured, each with a CaptureFailed of its own
    head: str = ""  # branch and commit of git's HEAD at that time


class WriterIntroduced(Event, frozen=True, weakref=True, gc=True):  # the recorder has weak references
    """A writer that is new to the journal.

    The journal assigns `id`. The kernel attests `uid` and `pid`, and `pid_start` is from /proc; but a writer from git's
    trace folder has its `pid` from a file name, not attested. The writer claims the other fields.
    """

    kind: ClassVar[str] = "writer_introduced"
    id: int
    uid: int = -1
    pid: int = 0
    pid_start: int = 0  # clock ticks after boot, as pids are reused; 0: unknown
    agent: str = ""
    agent_session: str = ""
    turn: str = ""
    tool_call: str = ""
    model: str = ""
    parent: str = ""  # for a subagent: the agent session of its parent


# ── files, by a tool ─────────────────────────────────────────────────────────


class FileWritten(Event, frozen=True):
    """A tool wrote a version of `path`. The log has the record before the disk has the bytes; `WritesAbandoned` reverts
    it.
    """

    kind: ClassVar[str] = "file_written"
    path: str
    blob: bytes  # sha256 of the bytes
    size: int
    mode: int  # permission bits
    base: int = 0  # seq of the version before; 0: the path did not exist
    by: str = "edit"  # writer type: "edit", "write_file", "undo"
    inode: int = 0  # inode of the base: shows recovery whether the base was restored or never replaced
    entry: int = REGULAR
    dialect: str = ""
    uncaptured: str = ""  # why the journal does not have the bytes (`quire_journal.model.uncaptured`)


class FileDeleted(Event, frozen=True):
    """A tool removed `path`."""

    kind: ClassVar[str] = "file_deleted"
    path: str
    base: int
    by: str = "edit"
    inode: int = 0


class FileMoved(Event, frozen=True):
    """A tool renamed `path` to `to`: a version at the new path, and the end of the old path. `blob` differs from that
    of `base` if one call edited and renamed the file.
    """

    kind: ClassVar[str] = "file_moved"
    path: str
    to: str
    blob: bytes
    size: int
    mode: int
    base: int
    by: str = "edit"
    inode: int = 0
    entry: int = REGULAR


class ModeChanged(Event, frozen=True):
    """A tool changed the permission bits of `path`."""

    kind: ClassVar[str] = "mode_changed"
    path: str
    blob: bytes
    size: int
    mode: int
    base: int
    by: str = "undo"


class WritesSettled(Event, frozen=True):
    """Every tool write up to seq `through` is on disk, except those abandoned by earlier records."""

    kind: ClassVar[str] = "writes_settled"
    through: int


class WritesAbandoned(Event, frozen=True):
    """The tool writes of these records did not happen: they lost a race, or the disk refused them. Views revert the
    writes.
    """

    kind: ClassVar[str] = "writes_abandoned"
    seqs: tuple[int, ...]
    why: str


# ── files, from outside ──────────────────────────────────────────────────────


class OutsideWritten(Event, frozen=True):
    """A version of `path` that no tool wrote was found on disk."""

    kind: ClassVar[str] = "outside_written"
    path: str
    blob: bytes
    size: int
    mode: int
    evidence: str  # how it was found, in the words of `quire_journal.model.evidence`
    base: int = 0
    entry: int = REGULAR
    unfinished: bool = False  # a program still had the file open for writing
    coalesced: bool = False  # inferred: it existed for a moment before the next version
    hint: str = ""  # a process that was running, such as a git command; never a guess at the writer
    unlocked: bool = False  # it came while git's index was watched and not locked


class OutsideDeleted(Event, frozen=True):
    """`path` was missing on disk, and no tool removed it."""

    kind: ClassVar[str] = "outside_deleted"
    path: str
    evidence: str
    base: int = 0
    hint: str = ""


class OutsideMoved(Event, frozen=True):
    """`path` was found under the name `to` (a hint of the watcher, confirmed by equal bytes)."""

    kind: ClassVar[str] = "outside_moved"
    path: str
    to: str
    blob: bytes
    size: int
    mode: int
    evidence: str
    base: int = 0
    entry: int = REGULAR
    hint: str = ""


class OutsideModeChanged(Event, frozen=True):
    """The permission bits of `path` changed, its bytes did not."""

    kind: ClassVar[str] = "outside_mode_changed"
    path: str
    blob: bytes
    size: int
    mode: int
    evidence: str
    base: int = 0
    hint: str = ""


class BytesDisplaced(Event, frozen=True):
    """Bytes that were at `path` for a moment, or were written to a file after Quire replaced it; never the newest
    version.
    """

    kind: ClassVar[str] = "bytes_displaced"
    path: str
    blob: bytes
    size: int
    why: str  # "swap" (came out of a swap that was put back), "late" (written to the replaced file)
    uncaptured: str = ""  # why the journal does not have the bytes (`quire_journal.model.uncaptured`)
    kept: str = ""  # file in the checkout with these bytes, if uncaptured


class CaptureFailed(Event, frozen=True):
    """`path` exists but its bytes are not in the journal. Quire overwrites it only if asked to."""

    kind: ClassVar[str] = "capture_failed"
    path: str
    why: str  # in the words of `quire_journal.model.uncaptured`
    size: int = 0
    blob: bytes = b""  # the hash, where it could be computed
    mode: int = 0
    evidence: str = ""  # as of OutsideWritten


class GitRan(Event, frozen=True):
    """A git command that changes trees ran. The kernel attests only the uid of the record's writer in every case, no
    other field.
    """

    kind: ClassVar[str] = "git_ran"
    command: str  # "checkout -q main"; for a moved HEAD, the text of the reflog
    worktree: str = ""
    agent: str = ""  # from the environment of the command
    agent_session: str = ""
    exit_code: int | None = None  # None: unknown
    started_ns: int = 0  # with the evidence "head": the earliest time at which it may have written
    ended_ns: int = 0
    evidence: str = "trace2"  # or "head": no event came, but HEAD had moved
    head_before: str = ""  # branch and commit
    head_after: str = ""
    parents: tuple[str, ...] = ()  # names of the ancestor processes, the nearest first, as git reports them
    merged: str = ""  # commit whose lines it brought without moving HEAD: a conflict, `--no-commit`, `--squash`


# ── requests ─────────────────────────────────────────────────────────────────


class ReadServed(Event, frozen=True):
    """A caller was shown lines of a version. `shown` has all lines of that version shown so far."""

    kind: ClassVar[str] = "read_served"
    path: str
    version: int
    shown: Ranges
    anchors: bool = False  # with line hashes: the path is indexed from now on
    moved: Ranges = ()  # the lines of `shown` that other writers moved after their numbers were shown


class EditRefused(Event, frozen=True):
    """A writing call was refused; nothing changed."""

    kind: ClassVar[str] = "edit_refused"
    tool: str
    path: str
    code: str
    why: str = ""


class ReplyKept(Event, frozen=True):
    """The reply to a call with an idempotency key, with which a repeated call is answered."""

    kind: ClassVar[str] = "reply_kept"
    key: str
    arguments: bytes  # sha256 of the arguments
    reply: bytes  # msgpack


# ── checkpoints ──────────────────────────────────────────────────────────────


class CheckpointSaved(Event, frozen=True):
    """The version of `path` before an edit was saved (seeds 000/002). For an accepted edit, `FileWritten.base` is that
    version.
    """

    kind: ClassVar[str] = "checkpoint_saved"
    path: str
    version: int


class CheckpointCommitted(Event, frozen=True):
    """The edit passed its checks; its checkpoint is no longer needed."""

    kind: ClassVar[str] = "checkpoint_committed"
    path: str
    version: int


class CheckpointRolledBack(Event, frozen=True):
    """The result of an edit was suspicious; `path` was left at the checkpoint."""

    kind: ClassVar[str] = "checkpoint_rolled_back"
    path: str
    version: int
    why: str


class CheckpointNamed(Event, frozen=True):
    """A cursor got a name."""

    kind: ClassVar[str] = "checkpoint_named"
    name: str
    cursor: int
    note: str = ""
    uncaptured: int = 0  # number of files whose bytes the journal did not hold
    blind: str = ""  # why the journal may have missed changes at that time


class CheckpointDropped(Event, frozen=True):
    """A named checkpoint was deleted."""

    kind: ClassVar[str] = "checkpoint_dropped"
    name: str


class BatchUndone(Event, frozen=True):
    """Record that this batch is an undo, redo, rollback or restore (`how`). `undone` lists the affected batches; it is
    empty if only single lines were undone.
    """

    kind: ClassVar[str] = "batch_undone"
    undone: tuple[int, ...]
    how: str = "undo"  # "undo", "redo", "rollback", "restore"
    paths: tuple[str, ...] = ()  # only in these files, folders and globs; empty: everywhere
    left: tuple[int, ...] = ()  # seqs of undone records whose files stayed unchanged, for example because of a conflict
    at: int = 0  # record whose state a restore or rollback restored; 0: unknown


# ── leases ───────────────────────────────────────────────────────────────────


class LeaseGranted(Event, frozen=True):
    """The writer got a lease. Its number, also its fencing token, is the seq of this record."""

    kind: ClassVar[str] = "lease_granted"
    path: str  # of a file or a folder, or a glob
    form: str  # "file", "folder" (and everything in it), "glob"
    strength: str  # "intent", "shared", "exclusive"
    expires_ns: int
    reason: str = ""
    lines: LineRange | None = None  # of `version`; None: the whole file
    version: int = 0  # the version to which `lines` refer
    bind: str = "session"  # or "connection": the lease also ends with its holder's connection


class LeaseRenewed(Event, frozen=True):
    """The holder changed the time at which the lease expires."""

    kind: ClassVar[str] = "lease_renewed"
    lease: int
    path: str  # of the lease, so that a log of the path has the event
    expires_ns: int
    reason: str = ""


class LeaseReleased(Event, frozen=True):
    """The lease ended before it expired."""

    kind: ClassVar[str] = "lease_released"
    lease: int
    path: str
    why: str = ""  # "" (released by its holder), "connection_ended"


class LeaseExpired(Event, frozen=True):
    """The lease expired. It restricted nobody after `expires_ns`, however late this record was made."""

    kind: ClassVar[str] = "lease_expired"
    lease: int
    path: str


class LeaseBroken(Event, frozen=True):
    """The writer ended another caller's lease."""

    kind: ClassVar[str] = "lease_broken"
    lease: int
    path: str
    why: str = ""


# ── bursts ───────────────────────────────────────────────────────────────────


class BurstBegun(Event, frozen=True):
    """The writer began a burst: writes that belong together. Its number is the seq of this record. Writes of its caller
    belong to it until it ends or expires (`views.bursts`).
    """

    kind: ClassVar[str] = "burst_begun"
    label: str
    form: str  # "tool_call", "formatter", "git", or another word
    expires_ns: int
    outside: bool = False  # writes of other programs during the burst may belong to it, too
    bind: str = "session"  # or "connection", "process": the burst also ends with that of its writer
    paths: tuple[str, ...] = ()  # files whose outside writes belong to the burst; empty: all
    command: str = ""  # command line of a shell call, capped and without secrets
    apart: tuple[int, ...] = ()  # of a run: its caller's open runs that did not start it


class BurstEnded(Event, frozen=True):
    """The burst ended."""

    kind: ClassVar[str] = "burst_ended"
    burst: int
    why: str = "owner"  # or "failed" (the owner says so), "ttl", "connection", "process", "daemon" (which ended),
    # "unreported" (a turn ended without a report of the call: it was denied, interrupted, or left running)


class CommandRan(Event, frozen=True):
    """A command that `quire run` started has ended. Its burst has its command line."""

    kind: ClassVar[str] = "command_ran"
    burst: int
    status: int  # exit status as shells count: 128 + N after signal N
    by_others: int = 0  # files that other writers changed, or may have changed, during the command
    at: int = 0  # record of the exported state in which the command ran; 0: it ran in the checkout


# ── who wrote it ─────────────────────────────────────────────────────────────


class TurnBegan(Event, frozen=True):
    """A person gave an agent session its next task. The record's writer has session, turn and model."""

    kind: ClassVar[str] = "turn_began"
    prompt: str = ""  # beginning of the prompt, without secrets; "" if the settings exclude it
    prompt_hash: bytes = b""  # sha256 of the whole prompt, if the settings ask for that instead
    transcript: str = ""  # the agent's file of the conversation


class WriteAttributed(Event, frozen=True):
    """Evidence about the writer of outside writes arrived. Their records stay; the views name the writer."""

    kind: ClassVar[str] = "write_attributed"
    seqs: tuple[int, ...]
    writer: int  # the writer; 0: unknown (`overlap`)
    evidence: str  # in the words of `quire_journal.model.evidence`
    burst: int = 0  # the burst of the call that wrote
    candidates: tuple[int, ...] = ()  # of `overlap`: the bursts of the calls that could have written


# ── lost and removed bytes ────────────────────────────────────────────────


class BytesGone(Event, frozen=True):
    """The journal no longer holds the bytes of these blobs. The versions that name them stay."""

    kind: ClassVar[str] = "bytes_gone"
    blobs: tuple[bytes, ...]
    why: str  # "lost" (damage), "purged" (asked for), "dropped" (retention)
    paths: tuple[str, ...] = ()  # paths of the versions that name the blobs; empty: unknown


class RetentionApplied(Event, frozen=True):
    """A garbage collection began to drop bytes. `BytesGone` of this batch list the dropped blobs."""

    kind: ClassVar[str] = "retention_applied"
    policy: str  # such as "keep-last 20, keep-within 90d"
    blobs: int  # number of blobs to be dropped, except those that a later record names
    size: int  # bytes of these blobs in the journal
    by: str = "asked"  # or "automatic"


class RecordLost(Event, frozen=True):
    """Damage destroyed the record that had this seq. No other record gets the seq."""

    kind: ClassVar[str] = "record_lost"


class JournalSalvaged(Event, frozen=True):
    """The journal was damaged and set aside; this journal holds the readable rest."""

    kind: ClassVar[str] = "journal_salvaged"
    why: str  # the first damage found
    set_aside: str  # folder with the damaged journal, in the state folder
    records: int  # number of readable records
    lost: tuple[tuple[int, int], ...]  # (first, last) seq of lost records; last 0: unknown
    blobs: int = 0  # number of lost blobs that readable records name
    replaced: tuple[tuple[int, bytes], ...] = ()  # (seq of a lost record, its hash as stored in the next record)
    by: str = ""  # "" (at a start), "repair"
    versions: int = 0  # number of versions with lost blobs
    standing: tuple[bytes, ...] = ()  # as in `Purged`


class Purged(Event, frozen=True):
    """Bytes were removed from everywhere in the journal on request. `BytesGone` of this batch name the blobs. The
    request is not stored, as a pattern can be the secret itself.
    """

    kind: ClassVar[str] = "purged"
    how: str  # "path", "blob", "matching"
    paths: tuple[str, ...]  # paths of the versions that lost their bytes
    blobs: int
    replaced: tuple[tuple[int, bytes], ...] = ()  # (seq of a changed record, its hash before)
    note: str = ""
    standing: tuple[
        bytes, ...
    ] = ()  # links (`records.link`) of the replacements, in the order of `replaced`; empty: unknown


# ── signed heads ─────────────────────────────────────────────────────────────


class HeadSigned(Event, frozen=True):
    """The head of the Merkle tree over the records up to `size` was signed (`quire_journal.transparency`)."""

    kind: ClassVar[str] = "head_signed"
    origin: str  # the name of the tree
    size: int
    root: bytes
    key: bytes  # public key of the journal, Ed25519
    broken: str = ""  # how the journal differed from the last signed head; this head begins another tree


class JournalForked(Event, frozen=True):
    """The remote store has other records after segment `number` of `parent`: those of a clone, or of a past before an
    old copy of the journal was restored. From there on this journal is shipped under another name.
    """

    kind: ClassVar[str] = "journal_forked"
    journal: str  # name in the remote store from now on
    parent: str
    number: int
    seq: int  # last common record


# ── health ───────────────────────────────────────────────────────────────────


class WatchLost(Event, frozen=True):
    """The watcher missed events for a time; a scan follows."""

    kind: ClassVar[str] = "watch_lost"
    why: str  # "overflow", "limit", "root_replaced"


# ── review ───────────────────────────────────────────────────────────────────


class WorkAccepted(Event, frozen=True):
    """A reviewer accepted lines of a file. The acceptance follows the lines to later versions, as blame does."""

    kind: ClassVar[str] = "work_accepted"
    path: str
    version: int  # the version in which the lines have these numbers
    lines: Ranges = ()  # accepted lines, from 0, half-open
    removals: tuple[bytes, ...] = ()  # the first 8 bytes of sha256 of lines removed in one place
    whole: bool = False  # True: the whole version, of a file without lines


class WorkRejected(Event, frozen=True):
    """Somebody rejected changes in a file: Quire undoes them when the turn of their writer has ended."""

    kind: ClassVar[str] = "work_rejected"
    path: str
    version: int  # the version in which the places have these lines
    places: Ranges  # from 0, half-open; an empty one: lines were removed in front of it; none: the whole file
    batches: tuple[int, ...]  # whose work in these places is undone


class RejectionEnded(Event, frozen=True):
    """Rejections were performed, or cannot be."""

    kind: ClassVar[str] = "rejection_ended"
    rejections: tuple[int, ...]  # seqs of `WorkRejected`
    why: str = ""  # "": carried out; else the code of the refusal


class WrittenApart(Event, frozen=True):
    """The writes of this batch belong to none of these bursts of `quire run`, although their writer began them: no
    command of the bursts had started the writing process.
    """

    kind: ClassVar[str] = "written_apart"
    runs: tuple[int, ...]  # seqs of `BurstBegun`


EVENTS: Final[tuple[type[Event], ...]] = (*Event.__subclasses__(),)
"""All events. A new event needs a struct above, a fold and a golden vector."""

BY_KIND: Final[dict[str, type[Event]]] = {event.kind: event for event in EVENTS}


def paths_of(event: Event | None) -> tuple[str, ...]:
    """Return the paths that an event names; for a move, the old path first."""
    found = getattr(event, "path", None), getattr(event, "to", None)
    return tuple(path for path in found if path is not None)


def path_after(event: Event | None) -> str | None:
    """Return the path that an event names, for a move the new path; None if the event names no path."""
    return next(reversed(paths_of(event)), None)
