"""Reconciliation of the journal with the disk: pure functions from versions and file states to events."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final, Literal, Protocol

import msgspec

from quire_journal.model import (
    FOLDER,
    LINK,
    NOT_A_FILE,
    REGULAR,
    CaptureFailed,
    Event,
    OutsideDeleted,
    OutsideModeChanged,
    OutsideMoved,
    OutsideWritten,
    above,
)
from quire_journal.views import Version, standing

Kind = Literal["file", "link", "folder", "special", "unreadable"]


class StatEntry(msgspec.Struct, frozen=True, gc=False):
    """The lstat of a path: relative to the workspace, with undecodable bytes escaped."""

    path: str
    kind: Kind
    dev: int = 0
    ino: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    mode: int = 0  # the whole st_mode


MOST_RENAMES: Final = 100_000

GRANULARITY_NS: Final = 20_000_000
"""Coarsest timestamps of a file system: two ticks of the slowest kernel clock (HZ=100)."""


# ── the stat cache ───────────────────────────────────────────────────────────


class Stamp(Protocol):
    """A stat of a file: `StatEntry` from a crawl of the tree, or `Signature` from an open file."""

    @property
    def dev(self) -> int: ...
    @property
    def ino(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def ctime_ns(self) -> int: ...
    @property
    def mode(self) -> int: ...


class SeenStat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Stat of a path when its bytes were read. A later stat that is equal means equal bytes, unless this one is
    racy.
    """

    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int  # the whole st_mode
    blob: bytes  # sha256 of the bytes that were read, whether the journal holds them or not
    taken_ns: int  # wall clock before the bytes were read

    @classmethod
    def of(cls, stamp: Stamp, blob: bytes, taken_ns: int) -> SeenStat:
        """Return the stat of a file whose `stamp` was equal before and after the read, which began after `taken_ns`."""
        s = stamp
        return cls(s.dev, s.ino, s.size, s.mtime_ns, s.ctime_ns, s.mode, bytes(blob), taken_ns)

    def matches(self, stamp: Stamp) -> bool:
        return (
            self.ino == stamp.ino
            and self.ctime_ns == stamp.ctime_ns
            and self.mtime_ns == stamp.mtime_ns
            and self.size == stamp.size
            and self.mode == stamp.mode
            and self.dev == stamp.dev
        )

    def racy(self) -> bool:
        """True if a write after the read could have left the stat unchanged (git's "racy" entries): the ctime or mtime
        is as recent as the read, or the ctime is in the future. A future mtime was set by hand.
        """
        youngest_safe = self.taken_ns - GRANULARITY_NS
        return self.ctime_ns >= youngest_safe or youngest_safe <= self.mtime_ns <= self.taken_ns + GRANULARITY_NS


def settled_ns(ctime_ns: int) -> int:
    """Return the earliest time, in ns, of a read whose stat is not racy, for a file whose mtime is not after its
    ctime.
    """
    return ctime_ns + GRANULARITY_NS + 1


class Comparison(msgspec.Struct):
    """Paths that differ between a crawl of the tree and the stat cache (the stats of the last reads)."""

    changed: list[str] = msgspec.field(default_factory=list)
    """New, different, racy, or unreadable paths."""
    vanished: list[str] = msgspec.field(default_factory=list)
    """Paths that the crawl did not find: deleted, or ignored now."""
    folders: list[str] = msgspec.field(default_factory=list)
    """Folders in crawl order, for `Watcher.cover`."""
    bare: list[str] = msgspec.field(default_factory=list)
    files: int = 0
    """Number of files and links in the crawl."""


def compare(known: Mapping[str, SeenStat], entries: Iterable[StatEntry]) -> Comparison:
    """Return how a complete crawl of the tree differs from the stat cache.

    Cached paths below an unreadable folder do not count as vanished. An exception from `entries` (a cancelled crawl)
    passes through: a partial crawl proves no absence.
    """
    result = Comparison()
    met: set[str] = set()
    hidden: set[str] = set()
    inhabited: set[str] = set()
    for entry in entries:
        met.add(entry.path)
        inhabited.add(entry.path.rpartition("/")[0])
        if entry.kind == "folder":
            result.folders.append(entry.path)
            if entry.path in known:
                result.changed.append(entry.path)  # it was a file
            continue
        if entry.kind == "unreadable":
            hidden.add(entry.path)
            result.changed.append(entry.path)
            continue
        if entry.kind != "special":
            result.files += 1
        before = known.get(entry.path)
        if before is None or not before.matches(entry) or before.racy():
            result.changed.append(entry.path)
    result.bare = [folder for folder in result.folders if folder not in inhabited and folder not in hidden]
    result.vanished = [p for p in known if p not in met and not _below_any(p, hidden)]
    return result


def _below_any(path: str, folders: set[str]) -> bool:
    if not folders:
        return False
    at = path.find("/")
    while at >= 0:
        if path[:at] in folders:
            return True
        at = path.find("/", at + 1)
    return False


# ── one path ─────────────────────────────────────────────────────────────────


class OnDisk(msgspec.Struct, frozen=True, gc=False):
    """Content of a path on disk.

    `why`: reason why a file's bytes cannot be in the journal (`quire_journal.model.uncaptured`), or "".
    """

    kind: str  # "missing", "file", "link", "folder", "special"
    blob: bytes = b""  # sha256 of a file's bytes or of a link's target, where it could be computed
    size: int = 0
    mode: int = 0  # permission bits
    entry: int = REGULAR  # REGULAR, LINK; FOLDER for a folder that is to be recorded (an empty one)
    why: str = ""
    unfinished: bool = False  # another program had it open for writing


def difference(path: str, known: Version | None, disk: OnDisk, evidence: str) -> Event | None:
    """Return the event that changes the newest version `known` to the disk's state; None if they agree.

    Only an empty folder is recorded (`entry` FOLDER); any other folder means that a file at its path was deleted.
    """
    head = standing(known)
    if disk.kind == "missing":
        return OutsideDeleted(path, evidence, head.seq) if head is not None else None
    if disk.kind == "folder" and disk.entry != FOLDER:
        is_news = head is not None and head.entry != FOLDER
        return OutsideDeleted(path, evidence, head.seq) if head is not None and is_news else None
    why = NOT_A_FILE if disk.kind == "special" else disk.why
    if why:
        return _withheld(path, head, disk, why, evidence)
    if head is not None and _same_bytes(head, disk):
        return _mode_change(path, head, disk, evidence)
    return OutsideWritten(
        path,
        disk.blob,
        disk.size,
        disk.mode,
        evidence,
        base=head.seq if head is not None else 0,
        entry=disk.entry,
        unfinished=disk.unfinished,
    )


def _withheld(path: str, head: Version | None, disk: OnDisk, why: str, evidence: str) -> CaptureFailed | None:
    if head is not None and (head.uncaptured, head.size, head.mode) == (why, disk.size, disk.mode):
        # Hashes count if both are known: a file that was too large to read may have none.
        same = not head.blob or not disk.blob or head.blob == disk.blob
    else:
        same = False
    return None if same else CaptureFailed(path, why, disk.size, disk.blob, disk.mode, evidence)


def _same_bytes(head: Version, disk: OnDisk) -> bool:
    return not head.uncaptured and head.entry == disk.entry and head.blob == disk.blob


def _mode_change(path: str, head: Version, disk: OnDisk, evidence: str) -> Event | None:
    # A link has no mode of its own; lstat's value for it differs between systems.
    if disk.entry == LINK or head.mode == disk.mode:
        return None
    return OutsideModeChanged(path, disk.blob, disk.size, disk.mode, evidence, head.seq)


# ── renames ──────────────────────────────────────────────────────────────────


class Renames:
    """Renames that the watcher reported, in order: hints, as some may be missing."""

    def __init__(self, told: Iterable[tuple[str, str]] = ()) -> None:
        self._count = 0
        self._from: dict[str, list[tuple[int, str]]] = {}  # old name → (position, new name), in order
        self.add(told)

    def __bool__(self) -> bool:
        return bool(self._count)

    def add(self, told: Iterable[tuple[str, str]]) -> None:
        """Add renames; beyond `MOST_RENAMES`, older ones are dropped."""
        for source, target in told:
            if self._count >= MOST_RENAMES:
                self.clear()
            self._from.setdefault(source, []).append((self._count, target))
            self._count += 1

    def clear(self) -> None:
        self._count = 0
        self._from.clear()

    def followed(self, path: str) -> str:
        """Return the path to which the renames, in order, moved the file at `path`; `path` if none did."""
        step = self._next(path, -1)
        while step is not None:
            at, path = step
            step = self._next(path, at)
        return path

    def _next(self, path: str, at: int) -> tuple[int, str] | None:
        found: tuple[int, str] | None = None
        for source in (path, *above(path)):
            steps = self._from.get(source, ())
            behind = bisect_right(steps, at, key=itemgetter(0))
            if behind < len(steps) and (found is None or steps[behind][0] < found[0]):
                number, target = steps[behind]
                found = number, target + path[len(source) :]
        return found


def with_moves(events: Sequence[Event], heads: Mapping[str, Version], renames: Renames) -> list[Event]:
    """Return the events of one batch, where a deletion and a new file that `renames` connect become one `OutsideMoved`.

    `heads` are the versions before. The new name must have been free: a rename onto an existing file is an editor's
    save. A changed file moves with its new bytes, so that its lines keep their authors. The move takes the place of the
    new file, after the events that freed its name.
    """
    gone = {event.path: event for event in events if isinstance(event, OutsideDeleted)}
    new = {event.path: event for event in events if isinstance(event, OutsideWritten) and not event.base}
    moves: dict[str, OutsideMoved] = {}  # by the new name
    sources: set[str] = set()
    for path in gone:
        to = renames.followed(path)
        head, written = heads.get(path), new.get(to)
        if head is None or written is None or to in moves or not _may_have_moved(head, written):
            continue
        moves[to] = OutsideMoved(
            path, to, written.blob, written.size, written.mode, written.evidence, head.seq, written.entry
        )
        sources.add(path)
    return [
        moves.get(event.path, event) if isinstance(event, OutsideWritten) else event
        for event in events
        if not (isinstance(event, OutsideDeleted) and event.path in sources)
    ]


def _may_have_moved(head: Version, written: OutsideWritten) -> bool:
    if head.gone or head.uncaptured or head.entry != written.entry:
        return False
    return head.entry == REGULAR or (head.entry != FOLDER and head.blob == written.blob)
