"""Events: the closed list of facts that the journal records.

An event says what happened, in the past tense; its record holds who, when and in which batch. Anything computable is a
view. To change the format without breaking old journals:

* a kind is an explicit tag, never a class name, and never reused;
* fields are only appended, always with a default;
* `tests/vectors/events.json` has golden bytes of every kind; changing one asks for an upcaster.
"""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from quire_journal.model.line_ranges import LineRange, Ranges

REGULAR: Final = 0
LINK: Final = 1  # the blob is the link's target
FOLDER: Final = 2  # no blob; recorded so that empty folders come back


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
    """The whole tree was compared with the files view. The differences are in the records before this one."""

    kind: ClassVar[str] = "workspace_scanned"
    reason: str  # "start", "overflow", "periodic", "rules" (what is ignored changed), "mounts" (some did), "asked"
    files: int
    changed: int
    skipped: int = 0  # files that were not captured, each with a CaptureFailed of its own
    head: str = ""  # branch and commit at which git's HEAD was then


class WriterIntroduced(Event, frozen=True, weakref=True, gc=True):  # the recorder holds some weakly
    """A writer that is new to the journal. The kernel attests uid and pid; the writer claims the other fields."""

    kind: ClassVar[str] = "writer_introduced"
    id: int
    uid: int = -1
    pid: int = 0
    pid_start: int = 0  # clock ticks after boot: tells a recycled pid apart
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
    inode: int = 0  # of the file with the base: tells recovery whether the base was put back or never replaced
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
    """A tool renamed `path` to `to`. One record: the version under the new name, the end of the old one.

    `blob` differs from that of `base` where one call edited and renamed the file.
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
    """Every tool write up to seq `through` is on disk, except those abandoned by records in between."""

    kind: ClassVar[str] = "writes_settled"
    through: int


class WritesAbandoned(Event, frozen=True):
    """The writes of these records did not happen: they lost a race, or the disk refused them. Views revert them."""

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
    unfinished: bool = False  # someone still held it open for writing
    coalesced: bool = False  # the calls show that it existed for a moment before the next version
    hint: str = ""  # what was running then, such as a git command; never a guess at the writer


class OutsideDeleted(Event, frozen=True):
    """`path` was gone from the disk, and no tool removed it."""

    kind: ClassVar[str] = "outside_deleted"
    path: str
    evidence: str
    base: int = 0
    hint: str = ""


class OutsideMoved(Event, frozen=True):
    """`path` was seen under the name `to` (a hint of the watcher, confirmed by equal bytes)."""

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
    """Bytes that were at `path` for a moment, or were written to a file after Quire replaced it. Kept, but never the
    head.
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
    """A git command that changes trees ran. Only the uid and pid of the record's writer are attested."""

    kind: ClassVar[str] = "git_ran"
    command: str  # "checkout -q main"; for a moved HEAD, the text of the reflog
    worktree: str = ""
    agent: str = ""  # from the environment of the command
    agent_session: str = ""
    exit_code: int | None = None  # None: unknown
    started_ns: int = 0
    ended_ns: int = 0
    evidence: str = "trace2"  # or "head": no event came, but HEAD was found moved
    head_before: str = ""  # branch and commit
    head_after: str = ""
    parents: tuple[str, ...] = ()  # names of the processes above, the nearest first, as git tells them


# ── requests ─────────────────────────────────────────────────────────────────


class ReadServed(Event, frozen=True):
    """A caller was shown lines of a version. `shown` is all that it has seen of that version by now."""

    kind: ClassVar[str] = "read_served"
    path: str
    version: int
    shown: Ranges
    anchors: bool = False  # with hashes: the path joins the hash index
    moved: Ranges = ()  # the lines of `shown` that others moved after their numbers were shown


class EditRefused(Event, frozen=True):
    """A writing call was refused; nothing changed."""

    kind: ClassVar[str] = "edit_refused"
    tool: str
    path: str
    code: str
    why: str = ""


class ReplyKept(Event, frozen=True):
    """The reply to a call with an idempotency key: a repeated call is answered from here."""

    kind: ClassVar[str] = "reply_kept"
    key: str
    arguments: bytes  # sha256 of the arguments
    reply: bytes  # msgpack


# ── checkpoints ──────────────────────────────────────────────────────────────


class CheckpointSaved(Event, frozen=True):
    """The state of `path` before an edit (seeds 000/002). For a sound edit `FileWritten.base` says the same."""

    kind: ClassVar[str] = "checkpoint_saved"
    path: str
    version: int


class CheckpointCommitted(Event, frozen=True):
    """The edit was sound; its checkpoint is not needed any more."""

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
    """A cursor got a name that a caller can return to."""

    kind: ClassVar[str] = "checkpoint_named"
    name: str
    cursor: int
    note: str = ""
    uncaptured: int = 0  # files whose bytes the journal did not hold then
    blind: str = ""  # why the journal may not have known everything then


class CheckpointDropped(Event, frozen=True):
    """A named checkpoint was given up."""

    kind: ClassVar[str] = "checkpoint_dropped"
    name: str


class BatchUndone(Event, frozen=True):
    """This batch undid or redid the batches in `undone`. The file records of the batch say how."""

    kind: ClassVar[str] = "batch_undone"
    undone: tuple[int, ...]
    how: str = "undo"  # "undo", "redo", "rollback", "restore"
    paths: tuple[str, ...] = ()  # only in these files, folders and globs; empty: everywhere
    left: tuple[int, ...] = ()  # seqs of undone records whose files it left alone, for example because of a conflict
    at: int = 0  # of a restore or a rollback: the record whose state was restored; 0: unknown


# ── leases ───────────────────────────────────────────────────────────────────


class LeaseGranted(Event, frozen=True):
    """The writer got a lease. Its number, also its fencing number, is the seq of this record."""

    kind: ClassVar[str] = "lease_granted"
    path: str  # of a file or a folder, or a glob
    form: str  # "file", "folder" (and everything in it), "glob"
    strength: str  # "intent", "shared", "exclusive"
    expires_ns: int
    reason: str = ""
    lines: LineRange | None = None  # of `version`; None: the whole file
    version: int = 0  # in which `lines` are stated
    bind: str = "session"  # or "connection": it ends with that, too


class LeaseRenewed(Event, frozen=True):
    """The holder set another time at which the lease expires."""

    kind: ClassVar[str] = "lease_renewed"
    lease: int
    path: str  # of the lease, so that a log of the path has the event
    expires_ns: int
    reason: str = ""


class LeaseReleased(Event, frozen=True):
    """The lease ended before its time."""

    kind: ClassVar[str] = "lease_released"
    lease: int
    path: str
    why: str = ""  # "" (its holder gave it up), "connection_ended"


class LeaseExpired(Event, frozen=True):
    """The lease expired. It bound nobody after `expires_ns`, however late this record was made."""

    kind: ClassVar[str] = "lease_expired"
    lease: int
    path: str


class LeaseBroken(Event, frozen=True):
    """The writer ended the lease of another."""

    kind: ClassVar[str] = "lease_broken"
    lease: int
    path: str
    why: str = ""


# ── bursts ───────────────────────────────────────────────────────────────────


class BurstBegun(Event, frozen=True):
    """The writer began a burst: writes that belong together. Its number is the seq of this record.

    Writes of its caller belong to it until it ends or `expires_ns` has come (see `views.bursts`).
    """

    kind: ClassVar[str] = "burst_begun"
    label: str
    form: str  # "tool_call", "formatter", "git", or another word
    expires_ns: int
    outside: bool = False  # what other programs write meanwhile belongs to it, too
    bind: str = "session"  # or "connection", or "process": it ends with that of its writer, too
    paths: tuple[str, ...] = ()  # the outside writes that belong to it are to these files; empty: all
    command: str = ""  # of a shell call: its command line, capped and without secrets


class BurstEnded(Event, frozen=True):
    """The burst ended."""

    kind: ClassVar[str] = "burst_ended"
    burst: int
    why: str = "owner"  # or "failed" (says its owner), "ttl", "connection", "process", "daemon" (it ended)


class CommandRan(Event, frozen=True):
    """A command that `quire run` started has ended. Its command line is that of its burst."""

    kind: ClassVar[str] = "command_ran"
    burst: int
    status: int  # exit status as shells count: 128 + N after signal N
    by_others: int = 0  # files that others changed meanwhile, or may have changed
    at: int = 0  # the record up to which the exported tree was that it ran in; 0: it ran in the checkout


# ── who wrote it ─────────────────────────────────────────────────────────────


class TurnBegan(Event, frozen=True):
    """A person gave an agent session its next task. The record's writer has the session, the turn and the model."""

    kind: ClassVar[str] = "turn_began"
    prompt: str = ""  # its beginning, without secrets; "" if the settings keep no text
    prompt_hash: bytes = b""  # sha256 of the whole prompt, if the settings keep that instead
    transcript: str = ""  # where the agent keeps the conversation


class WriteAttributed(Event, frozen=True):
    """Evidence arrived about who made outside writes. Their records stay; the views name the writer."""

    kind: ClassVar[str] = "write_attributed"
    seqs: tuple[int, ...]
    writer: int  # who wrote; 0: nobody knows (`overlap`)
    evidence: str  # in the words of `quire_journal.model.evidence`
    burst: int = 0  # the burst of the call that wrote it
    candidates: tuple[int, ...] = ()  # of `overlap`: the bursts of the calls that could have written it


# ── what is not here any more ────────────────────────────────────────────────


class BytesGone(Event, frozen=True):
    """The journal no longer holds the bytes of these blobs. The versions that name them stay."""

    kind: ClassVar[str] = "bytes_gone"
    blobs: tuple[bytes, ...]
    why: str  # "lost" (damage), "purged" (asked for), "dropped" (retention)
    paths: tuple[str, ...] = ()  # of the versions that name them; none: nobody knows


class RetentionApplied(Event, frozen=True):
    """A garbage collection began to drop bytes that no rule keeps. `BytesGone` of this batch name them as they go."""

    kind: ClassVar[str] = "retention_applied"
    policy: str  # in words: "keep-last 20, keep-within 90d"
    blobs: int  # to be dropped, except those that a later record names
    size: int  # their bytes in the journal
    by: str = "asked"  # or "automatic"


class RecordLost(Event, frozen=True):
    """Damage destroyed the record here. Its number stays taken."""

    kind: ClassVar[str] = "record_lost"


class JournalSalvaged(Event, frozen=True):
    """The journal was damaged and set aside; this journal holds what could be read of it."""

    kind: ClassVar[str] = "journal_salvaged"
    why: str  # the first thing that was found
    set_aside: str  # folder beside the journal that keeps the damaged one
    records: int  # that were kept
    lost: tuple[tuple[int, int], ...]  # first..last seq of the records that were lost; last 0: nobody knows
    blobs: int = 0  # lost blobs that kept records name
    replaced: tuple[tuple[int, bytes], ...] = ()  # seq of a lost record → its hash, which the next one holds
    by: str = ""  # "" (at a start), "repair"
    versions: int = 0  # versions with these blobs
    standing: tuple[bytes, ...] = ()  # as `Purged` has it


class Purged(Event, frozen=True):
    """Bytes were removed from everywhere in the journal on request. `BytesGone` of this batch name the blobs.

    The request is not kept: a pattern can be the secret itself.
    """

    kind: ClassVar[str] = "purged"
    how: str  # "path", "blob", "matching"
    paths: tuple[str, ...]  # of which versions lost their bytes
    blobs: int
    replaced: tuple[tuple[int, bytes], ...] = ()  # seq of a record that was changed → the hash that it had
    note: str = ""
    standing: tuple[bytes, ...] = ()  # links (`records.link`) of the replacements, in that order; none: unknown


# ── signed heads ─────────────────────────────────────────────────────────────


class HeadSigned(Event, frozen=True):
    """The head of the tree over the records up to `size` was signed (`quire_journal.transparency`)."""

    kind: ClassVar[str] = "head_signed"
    origin: str  # the name of the tree
    size: int
    root: bytes
    key: bytes  # public key of the journal, Ed25519
    broken: str = ""  # how the journal differed from the head signed before; this head begins another tree


class JournalForked(Event, frozen=True):
    """The far side has other records after segment `number` of `parent`: those of a clone, or of a past before the
    journal was put back from an old copy. From there on this journal is shipped under a name of its own.
    """

    kind: ClassVar[str] = "journal_forked"
    journal: str  # its name at the far side from now on
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
    """Somebody has reviewed lines of a file, and accepts them. The mark moves with the lines, as blame follows them."""

    kind: ClassVar[str] = "work_accepted"
    path: str
    version: int  # the version in which the lines have these numbers
    lines: Ranges = ()  # accepted lines, from 0, half-open
    removals: tuple[bytes, ...] = ()  # the first 8 bytes of sha256 of lines that were removed in one place
    whole: bool = False  # the version as a whole: a file without lines


EVENTS: Final[tuple[type[Event], ...]] = (*Event.__subclasses__(),)
"""The closed list, in the order above. A new event needs a struct there, a fold and a golden vector."""

BY_KIND: Final[dict[str, type[Event]]] = {event.kind: event for event in EVENTS}


def paths_of(event: Event | None) -> tuple[str, ...]:
    """The paths that an event names; for a move, the old path first."""
    found = getattr(event, "path", None), getattr(event, "to", None)
    return tuple(path for path in found if path is not None)


def path_after(event: Event | None) -> str | None:
    """The path of the version that the event made; for a move, the new path."""
    return next(reversed(paths_of(event)), None)
