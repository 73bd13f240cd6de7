"""Decisions: from a request and its world to the consequences. Values in, values out.

A handler reads no clock, disk or socket. The app gathers a `World` (the named files on disk and in the journal, and the
time), calls `decide`, and performs the `Decision`: first the events go into the log, then the writes to the disk, then
the reply to the caller. A lost race repeats gather and decide, so a decision must have no side effects.
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
    """The caller: its writer in the journal, and the key of its reads."""

    writer: WriterId
    key: bytes  # 8 bytes from (uid, agent, agent session)
    agent: str = ""
    agent_session: str = ""
    introduction: WriterIntroduced | None = None  # of a writer that the journal did not know; held here for `introduce`
    outsider: bool = False  # a hook that claims an agent session at work in another process tree: it proves nothing
    process: tuple[int, int] | None = None  # of a hook: pid and start of the process in which the agent is at work


MOST_INSIDE: Final = 400
"""Most names of a folder in a reply: some 16 kB, as much as agents' own editors show."""


class FileNow(msgspec.Struct, frozen=True, gc=False):
    """One path as it is on disk now, reconciled with the journal.

    `kind` is "file", "missing", "folder" or "special". A file has its bytes in `text`, and in `version` its head in the
    journal with exactly those bytes. Without captured bytes `version` is None, and `uncaptured` has the reason
    ("too_large", "secret").
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
    proof: tuple[int, ...] = ()  # the inode's signature, where `text` is proved and any later change would move it
    as_folder: bool = False  # the caller's name for it ends with a "/"
    inside: tuple[str, ...] = ()  # of a folder, for who shows it (`crawl.names_in`), or needs its place (`all_in`)
    inside_cut: bool = False  # and that is not all

    @property
    def data(self) -> bytes | None:
        """The bytes of `text`."""
        return None if self.text is None else self.text.data


class Present(msgspec.Struct, frozen=True):
    """A caller in this run of the daemon."""

    called_ns: int  # its last call
    connections: int  # that are open
    alive: bool | None = None  # the agent's process, or the one that called last; None: it cannot be known
    files: tuple[tuple[str, int], ...] = ()  # (path, when) that it named last, the newest first
    hooks: bool = False  # it is an agent that calls by its hooks, whose processes end with each call
    gone: bool = False  # its agent session has ended, or the agent's process


class ImpliedFiles(msgspec.Struct, frozen=True):
    """Files that a decision needs from the journal although the call does not name them."""

    paths: Sequence[str] = ()
    thought: object = None  # what was found out on the way; the decision may go on from there
    still: Callable[[History, int, bool], ImpliedFiles | None] | None = None
    """This value at a later record; None if it may differ. With `True` only the files' own records count: more files
    may match by now."""


class NeedsCommits(Exception):
    """Git's answers to these questions would improve a decision. It is repeated with them, or after a while."""

    def __init__(self, files: Sequence[CommitFile | CommitTree | CommitBlobs]) -> None:
        super().__init__()
        self.files = files


class World(msgspec.Struct, frozen=True):
    """Everything that a decision may look at."""

    now_ns: int
    who: Who
    settings: Settings
    files: Mapping[str, FileNow]  # by the path as the caller wrote it
    history: History  # read-only questions to the journal
    next_seq: int  # the seq that the first event of this decision will get
    first_event_ns: int  # when the journal began: the deprecation window counts from there
    health: Mapping[str, Any] = msgspec.field(default_factory=dict)  # what `status` tells
    grammars: Grammars = no_grammars
    found: Mapping[Search, Answer] = msgspec.field(
        default_factory=dict
    )  # what came of searches that this decision asked for
    commits: CommitAnswers | None = None  # what git has told of the commits of lines; None: it is not asked
    git: Callable[[CommitTree | CommitBlobs], Any] | None = None  # the same of the files of commits
    commits_awaited: bool = False  # and the call does not wait for more of that
    present: Mapping[bytes, Present] = msgspec.field(default_factory=dict)  # callers, by their keys; for `who`
    queue: Sequence[Lease] = ()  # claims that came before this one and wait for their leases
    kept_off: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # implied files that were not looked at: path → code
    implied: ImpliedFiles = ImpliedFiles()  # what the tool's `implies` said of this call
    landed: int = 0  # writes up to this record are on disk, though the log does not call them settled yet
    being_written: tuple[int, ...] = ()  # but not those of these batches
    unsure: bool = False  # the next start may find a record that nobody sees now
    announced: Mapping[int, AnnouncedCall] = msgspec.field(
        default_factory=dict
    )  # the calls of agents' own tools that are under way, as far as they are known, by their bursts

    def writer_json(self, writer: int) -> dict[str, Any]:
        """A writer as replies show it. A new caller's writer enters the journal with this request's events."""
        found = self.history.writer_json(writer)
        if writer == self.who.writer:
            found |= {"agent": self.who.agent, "agent_session": self.who.agent_session}
        return found


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write `data` to `path` if it still holds what the decision saw (inode and bytes). Record `seq` tells of it."""

    seq: int
    path: str
    data: bytes
    mode: int
    over: FileNow  # kind "missing": create, must not exist
    text: Text | None = None  # of `data`, where the decision has it: with its line hashes, worth keeping
    withheld: bool = False  # the journal is not to have `data`


class Remove(msgspec.Struct, frozen=True):
    """Remove `path` if it still holds what the decision saw."""

    seq: int
    path: str
    over: FileNow


class Move(msgspec.Struct, frozen=True):
    """Rename `path` to `to`, which must not exist, if `path` still holds what the decision saw."""

    seq: int
    path: str
    to: str
    over: FileNow


class Make(msgspec.Struct, frozen=True):
    """Make a link or an empty folder at the unused name `path`."""

    seq: int
    path: str
    entry: int  # events.LINK or FOLDER
    target: bytes  # where the link leads
    mode: int
    over: FileNow  # of kind "missing"


class Clear(msgspec.Struct, frozen=True):
    """Remove the empty folder at `path`, whose name a file takes."""

    seq: int  # of the record that tells of its end; of a folder that the journal does not know, that of the file
    path: str
    over: FileNow  # of kind "folder"


Write = Put | Remove | Move | Make | Clear


def names(write: Write) -> tuple[str, ...]:
    """The paths that a write touches."""
    return (write.path, write.to) if isinstance(write, Move) else (write.path,)


class Decision(msgspec.Struct, frozen=True):
    """The consequences of a request.

    `events` get the seqs `World.next_seq`, +1, … in order. With `writes`, the events are synced before the writes, and
    the writes before the reply. `blobs` are bytes that the events name and that the journal may lack.
    """

    reply: dict[str, Any]
    events: Sequence[Event] = ()
    writes: Sequence[Write] = ()
    blobs: Sequence[bytes] = ()
    announced: AnnouncedCall | None = None  # a call of an agent's own tool that may go on from now on


class Tool(msgspec.Struct, Generic[P], frozen=True):
    """A tool: its arguments, the paths it needs to see, and the decision. The table is in `tools/table.py`."""

    name: str
    params: type[P]
    paths: Callable[[P], Sequence[str]]  # as the caller wrote them; the app puts each in `World.files`
    decide: Callable[[P, World], Decision]
    writes: bool = False  # a writing tool: refusals are journaled, protected paths refused, ops remembered
    of_past: bool = False  # it asks what the journal knows: an ignored file that is not in there does not come in
    shows_folders: bool = False  # of a folder it needs to see what is in it
    catch_up: bool = False  # the watcher must have caught up with the disk first
    all_noted: bool = False  # what calls before this one noted is committed first, so that it is told of, too
    of_tree: bool = False  # it answers by what the journal knows of the tree: what nobody sees is told with it
    settle_s: float = 0.0  # how much longer than others it waits while what the watcher told of is looked at
    implies: Callable[[P, History, Who], ImpliedFiles] | None = None  # more paths, which only the journal knows
    asks: Sequence[str] = ()  # arguments with files, folders or globs that the journal is asked about, not the disk
    needs_health: bool = False  # `World.health` is filled in
    needs_coverage: bool = False  # its `coverage` is
    needs_presence: bool = False  # `World.present` is filled in
    long: bool = False  # it may think for longer than others are to wait (`long_decisions`)
    journals: bool = False  # notes events though it writes nothing: its caller has to be a writer in the journal
    reply: type[msgspec.Struct] = Reply  # the shape of a success; a refusal is a `RefusalReply`
    reads: Callable[[P], bool] | None = None  # do these arguments only read, though the tool writes?

    def called_with(self, params: P) -> Tool[P]:
        """The tool, adapted to a call with these arguments."""
        if self.reads is None or not self.reads(params):
            return self
        return msgspec.structs.replace(self, writes=False, journals=True)


def refused_reply(refused: Refusal, params: object) -> dict[str, Any]:
    """The reply to a refused call; for a plan or dry run it says so."""
    dry = {"dry_run": True, "valid": False} if getattr(params, "dry_run", False) else {}
    return refused.reply() | dry


def no_paths(params: object) -> Sequence[str]:
    """The paths of a tool without files."""
    return ()
