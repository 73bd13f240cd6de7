"""A story, its parts, and the query and the page of stories."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from quire_journal.history import History
from quire_journal.model import OUTSIDE, BatchUndone, Record
from quire_journal.views import Version, standing

TURN: Final = "turn"
RUN: Final = "run"
GIT: Final = "git"
SAVES: Final = "saves"
CROWD: Final = "crowd"
PERSON: Final = "person"
UNDO: Final = "undo"
CHECKPOINT: Final = "checkpoint"
CAPTURE: Final = "capture"
FORMS: Final = (TURN, RUN, GIT, SAVES, CROWD, PERSON, UNDO, CHECKPOINT, CAPTURE)
"""Forms of stories. CROWD: many files that a program wrote at once; PERSON: a person's use of Quire's tools."""

SECOND: Final = 1_000_000_000

WORK: Final = 1000

Key = tuple[str, ...]
"""Form of a story, and values that separate it from others of that form."""


class FileRun(msgspec.Struct):
    """Versions of a file within one story, each made from the version before."""

    path: str  # after the newest version
    last: int  # seq of the newest version
    first: int  # seq of the oldest version
    base: int  # seq of the version before `first`; 0: none
    base_path: str
    last_kind: str = ""


class StoryCall(msgspec.Struct):
    number: int  # seq of its burst if `native`, else its batch
    at_ns: int
    label: str = ""
    command: str = ""
    native: bool = False  # the call of a tool of the agent itself, not of Quire
    status: int | None = None  # exit status of `quire run`
    writes: int = 0
    paths: dict[str, None] = {}


class Story(msgspec.Struct):
    """Group of records shown as one entry, extended by the fold towards the past."""

    key: Key
    newest: int
    oldest: int
    began_ns: int
    ended_ns: int
    place: int  # record at which the story stands; a git command may be recorded long after its end
    writer: int = OUTSIDE  # the newest writer that is known
    writes: int = 0
    seqs: list[int] = []  # of the writes
    runs: list[FileRun] = []
    sample: dict[str, None] = {}  # some paths of unread writes
    unread: int = 0  # writes counted without reading
    probable: int = 0  # writes whose writer is not proved
    calls: dict[int, StoryCall] = {}
    refused: list[tuple[str, str]] = []  # (path, code)
    commands: list[str] = []  # git commands, the newest first; or the command of a run
    heads: tuple[str, str] = ("", "")  # HEAD before and after git
    keeps_tree: bool = False  # of a git command that changed no file
    paths: set[str] = set()  # of git's writes that were read
    wrote_ns: int = 0  # time of the oldest write that shows git, or 0
    started_ns: int = 0  # earliest time at which git's command may have written, or 0
    failed: bool = False  # the newest git command failed
    status: int | None = None  # exit status of a run; None: killed, or still running
    by_others: int = 0  # files that other writers changed, or may have changed, during a run
    hint: str = ""
    candidates: tuple[int, ...] = ()  # bursts that may have made the writes
    prompt: str = ""
    transcript: str = ""
    undoing: BatchUndone | None = None
    name: str = ""  # of a checkpoint
    note: str = ""
    files: int = 0  # number of files of the first capture
    closed: bool = False  # its first record was found

    @property
    def form(self) -> str:
        return self.key[0]


class Straddler(msgspec.Struct, frozen=True):
    """Story that an earlier page shows with its records down to seq `reached`. Later pages skip these records, and show
    the older records.
    """

    key: int  # `key_hash` of the story's key
    reached: int
    began_ns: int  # of the oldest shown record; an earlier git command that is recorded late is not skipped


class StoryQuery(msgspec.Struct, frozen=True):
    after: int
    upto: int
    limit: int
    wanted: Sequence[Sequence[bytes]] = ()  # terms of the records, for `History.with_terms`
    admits: Callable[[Record], bool | None] | None = None  # record filter; None: all
    fits: Callable[[str], object] | None = None  # path filter; None: all
    numbers: Sequence[int] | None = None  # only these paths, if few
    forms: frozenset[str] = frozenset(FORMS)
    straddlers: Sequence[Straddler] = ()
    work: int = WORK  # maximum number of records read
    joint: bool = False  # only writes by other programs, each of them read


class StoryPage(msgspec.Struct, frozen=True):
    """Stories, newest first, and the record at which the next page begins (None: no next page)."""

    stories: list[Story]
    following: int | None
    straddlers: tuple[Straddler, ...] = ()


def first_of(runs: Sequence[FileRun], most: int) -> list[FileRun]:
    """Return the runs of the first `most` files, grouped by file."""
    by_path: dict[str, deque[FileRun]] = {}
    for run in runs:
        by_path.setdefault(run.path, deque()).append(run)
    return [run for path in list(by_path)[:most] for run in by_path[path]]


def folders_of(paths: Sequence[str], most: int = 3) -> list[str]:
    """Return the `most` top-level folders with the most paths, as `name/`; "./" is the root. Empty if all paths are in
    the root.
    """
    count: dict[str, int] = {}
    for path in paths:
        top = f"{path.partition('/')[0]}/" if "/" in path else "./"
        count[top] = count.get(top, 0) + 1
    return sorted(count, key=lambda top: -count[top])[:most] if count.keys() - {"./"} else []


def net_of(run: FileRun, history: History) -> tuple[Version | None, Version] | None:
    """Return the versions before (None: no file) and after a run; None without a net change."""
    new = history.version(run.path, run.last)
    old = standing(history.version(run.base_path, run.base)) if run.base else None
    if new is None or (old is None and new.gone):
        return None
    same = old is not None and not new.gone and (old.blob, old.mode, old.entry) == (new.blob, new.mode, new.entry)
    return None if same and run.path == run.base_path else (old, new)
