"""Decisions: pure functions from a request and its world to the consequences.

A handler reads no clock, disk or socket. The engine gathers a `World`, calls `decide`, and performs the `Decision`:
events into the log, then writes to the disk, then the reply. A lost race repeats gather and decide, so a decision must
have no side effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from quire_daemon.checks import Grammars, no_grammars
from quire_daemon.config import Settings
from quire_daemon.core.announcement import AnnouncedCall
from quire_daemon.core.replies import Reply
from quire_daemon.workers.regex import Answer, Search
from quire_journal.history import CommitAnswers, CommitBlobs, CommitFile, CommitTree, History
from quire_journal.model import Event, Refusal, WriterId, WriterIntroduced
from quire_journal.text import Text
from quire_journal.views import Lease, Version

P = TypeVar("P", bound=msgspec.Struct)


class Who(msgspec.Struct, frozen=True):
    """The caller of a tool: its writer in the journal, and the key of its reads."""

    writer: WriterId
    key: bytes  # 8 bytes from (uid, agent, agent session)
    agent: str = ""
    agent_session: str = ""
    introduction: WriterIntroduced | None = None  # identity of a writer new to the journal, for `introduce`
    outsider: bool = False  # a hook that claims the session of another process tree: its reports prove nothing
    process: tuple[int, int] | None = None  # of a hook: pid and start time of the agent's process
    apart: tuple[int, ...] = ()  # of a writing call: the caller's open runs that did not start the calling process


MOST_INSIDE: Final = 400
"""Maximum number of a folder's names in a reply (16 kB)."""


class FileNow(msgspec.Struct, frozen=True, gc=False):
    """State of one path on disk, reconciled with the journal.

    `kind` is "file", "missing", "folder" or "special". A file has its bytes in `text`, and its newest version in
    `version` if that has exactly these bytes; else `uncaptured` has the reason ("too_large", "secret").
    """

    path: str  # workspace-relative, "/" between names, as the disk spells it
    kind: str
    text: Text | None = None
    version: Version | None = None
    mode: int = 0o644
    inode: int = 0
    size: int = 0
    uncaptured: str = ""
    resolved_from: str = ""  # the link that the caller named, when `path` is its target
    proof: tuple[int, ...] = ()  # stat signature that proves `text` until it changes
    as_folder: bool = False  # the caller's path ends with "/"
    inside: tuple[str, ...] = ()  # names in a folder, to be shown (`crawl.names_in`) or removed (`all_in`)
    inside_cut: bool = False  # `inside` is incomplete

    @property
    def data(self) -> bytes | None:
        """Bytes of `text`; None without a text."""
        return None if self.text is None else self.text.data


class Present(msgspec.Struct, frozen=True):
    called_ns: int  # time of the last call
    connections: int  # number of open connections
    alive: bool | None = None  # state of the agent's process, or of the last calling one; None: unknown
    files: tuple[tuple[str, int], ...] = ()  # (path, time) of the files named last, newest first
    hooks: bool = False  # an agent that calls through hooks, whose processes end with each call
    gone: bool = False  # the agent session or the agent's process has ended
    in_turn: bool = False  # an agent's turn is under way, as its hooks tell


class ImpliedFiles(msgspec.Struct, frozen=True):
    """Files that a decision needs and that only the journal names, not the request."""

    paths: Sequence[str] = ()
    thought: object = None  # intermediate result that the decision may reuse
    still: Callable[[History, int, bool], ImpliedFiles | None] | None = None
    """Function of (history, record, flag): this value as of that record; None if it may differ. With the flag, only
    records about these files count.
    """


class NeedsCommits(Exception):
    """Raised by a decision that answers of git would improve. The decision is repeated with these, or without them
    after a while.
    """

    def __init__(self, files: Sequence[CommitFile | CommitTree | CommitBlobs]) -> None:
        super().__init__()
        self.files = files


class World(msgspec.Struct, frozen=True):
    """Everything that a decision may read."""

    now_ns: int
    who: Who
    settings: Settings
    files: Mapping[str, FileNow]  # by the caller's paths
    history: History  # read-only questions to the journal
    next_seq: int  # seq of the decision's first event
    first_event_ns: int  # begin of the journal, and of the deprecation window
    health: Mapping[str, Any] = msgspec.field(default_factory=dict)  # values for `status`
    grammars: Grammars = no_grammars
    found: Mapping[Search, Answer] = msgspec.field(default_factory=dict)  # results of the decision's searches
    commits: CommitAnswers | None = None  # git's answers about commits of lines; None: git is not asked
    git: Callable[[CommitTree | CommitBlobs], Any] | None = None  # git's answers about files of commits
    commits_awaited: bool = False  # the call's wait for git is over
    present: Mapping[bytes, Present] = msgspec.field(default_factory=dict)  # callers, by their keys; for `who`
    queue: Sequence[Lease] = ()  # leases wanted by earlier waiting claims
    kept_off: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # implied files that could not be observed: path → code
    implied: ImpliedFiles = ImpliedFiles()  # result of the tool's `implies`
    landed: int = 0  # writes up to this record are on disk, perhaps not yet recorded as complete
    being_written: tuple[int, ...] = ()  # batches up to `landed` that are still being written
    unsure: bool = False  # recovery may find a record that is not visible now
    announced: Mapping[int, AnnouncedCall] = msgspec.field(
        default_factory=dict
    )  # open calls of agents' own tools, by burst
    left: object = None  # `left` of the newest decision that left something, while the journal is as it was then

    def writer_json(self, writer: int) -> dict[str, Any]:
        found = self.history.writer_json(writer)
        if writer == self.who.writer:
            found |= {"agent": self.who.agent, "agent_session": self.who.agent_session}
        return found


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write of `data` to `path`, if it still has the inode and bytes that the decision saw."""

    seq: int
    path: str
    data: bytes
    mode: int
    over: FileNow  # kind "missing": create, must not exist
    text: Text | None = None  # `data` as text, if at hand: keeps its line hashes cached
    withheld: bool = False  # the journal must not keep `data`


class Remove(msgspec.Struct, frozen=True):
    """Removal of `path`, if it is as the decision saw it."""

    seq: int
    path: str
    over: FileNow


class Move(msgspec.Struct, frozen=True):
    """Rename of `path` to `to`, which must not exist, if `path` is as the decision saw it."""

    seq: int
    path: str
    to: str
    over: FileNow


class Make(msgspec.Struct, frozen=True):
    """Creation of a link or an empty folder at the unused `path`."""

    seq: int
    path: str
    entry: int  # events.LINK or FOLDER
    target: bytes  # target of the link
    mode: int
    over: FileNow  # of kind "missing"


class Clear(msgspec.Struct, frozen=True):
    """Removal of the empty folder at `path`, to make room for a file of that name."""

    seq: int  # of the folder's deletion record; for an unknown folder, of the file's record
    path: str
    over: FileNow  # of kind "folder"


Write = Put | Remove | Move | Make | Clear


def names(write: Write) -> tuple[str, ...]:
    return (write.path, write.to) if isinstance(write, Move) else (write.path,)


class Decision(msgspec.Struct, frozen=True):
    """Consequences of a request.

    `events` get the seqs `World.next_seq`, +1, … in order. The events are synced before the writes, and the writes
    before the reply. `blobs` are bytes that the events name and the journal may lack.
    """

    reply: dict[str, Any]
    events: Sequence[Event] = ()
    writes: Sequence[Write] = ()
    blobs: Sequence[bytes] = ()
    announced: AnnouncedCall | None = None  # a call of an agent's own tool that may proceed
    emptied: Sequence[str] = ()  # folders to remove if they are empty after the writes, deepest first
    left: object = None  # what a decision about the next page of a long answer can use


class Tool(msgspec.Struct, Generic[P], frozen=True):
    name: str
    params: type[P]
    paths: Callable[[P], Sequence[str]]  # paths as the caller wrote them; the engine puts each in `World.files`
    decide: Callable[[P, World], Decision]
    writes: bool = False  # a writing tool: refusals are journaled, protected paths refused, ops remembered
    of_past: bool = False  # asks about journaled files only: does not capture an ignored file
    shows_folders: bool = False  # needs the names in a folder
    catch_up: bool = False  # the watcher must have caught up with the disk first
    all_noted: bool = False  # earlier events are committed first, so that the reply includes them
    of_tree: bool = False  # answers from the journaled tree: the reply reports blind spots
    settle_s: float = 0.0  # extra seconds to wait until the watcher's paths are observed
    implies: Callable[[P, History, Who], ImpliedFiles] | None = None  # further paths, from the journal
    watched_only: bool = False  # leaves implied files out that are ignored and that the journal does not know
    asks: Sequence[str] = ()  # arguments with paths to look up in the journal, not on disk
    needs_health: bool = False  # fill in `World.health`
    needs_coverage: bool = False  # fill in its `coverage`
    needs_presence: bool = False  # fill in `World.present`
    long: bool = False  # the decision may take too long for a turn (`long_decisions`)
    journals: bool = False  # records events without writing files: the caller must be a journaled writer
    reply: type[msgspec.Struct] = Reply  # reply of a success; a refusal is a `RefusalReply`
    reads: Callable[[P], bool] | None = None  # True for arguments with which a writing tool only reads

    def called_with(self, params: P) -> Tool[P]:
        """Return this tool; for arguments with which it only reads, as a tool that does not write."""
        if self.reads is None or not self.reads(params):
            return self
        return msgspec.structs.replace(self, writes=False, journals=True)


def refused_reply(refused: Refusal, params: object) -> dict[str, Any]:
    """Return the reply to a refused call, marked if it was a dry run."""
    dry = {"dry_run": True, "valid": False} if getattr(params, "dry_run", False) else {}
    return refused.reply() | dry


def no_paths(params: object) -> Sequence[str]:
    return ()
