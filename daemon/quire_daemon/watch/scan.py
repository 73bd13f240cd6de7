"""Scans: the whole tree is compared with the journal, at the start, now and then, and when hints were lost.

A scan runs on a worker thread (`scan`) and only names paths: it has ended when each of them has been looked at
(`outside`), which the log is told. One that breaks off is made again soon.

The comparison of the whole tree with the journal, on a worker thread: which paths have to be looked at.

The crawl tells what there is by stat alone, the cache of the disk (`stat_cache`) what there was when it was read, and
the journal what it holds. Nothing is concluded from what a crawl does not meet: the loop looks at that, too. Of a known
file that is there and ignored by now the journal is told once that nobody watches it; one that a tool wrote, or that a
call met where it was ignored, is looked at as ever (`ignored_files`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from quire_daemon.core import SeenStat, compare
from quire_daemon.watch.crawl import crawl
from quire_daemon.watch.ignore import Ignore
from quire_daemon.watch.observe import Observer
from quire_daemon.watch.watcher import Watcher
from quire_daemon.workers import StartJob
from quire_daemon.workspace import HOME
from quire_journal.history import History, PathNames
from quire_journal.model import (
    CAPTURED,
    FOLDER,
    IGNORED,
    SCANNED,
    WATCHED,
    JournalDamaged,
    WorkspaceScanned,
    disk_path,
    journal_path,
)
from quire_journal.storage import ReadTransaction, Store
from quire_journal.views import Version


class TreeComparison(NamedTuple):
    """What came of it. Paths are as on disk."""

    look_at: list[str]
    new: dict[str, int]  # files of which the journal knows nothing → bytes
    files: int  # that were met
    folders: list[str]  # that were met
    names: PathNames  # all that the log names, for who asks next
    ignored: list[str]  # known files that are there, and that nobody watches from now on
    unwatched: list[str]  # known files that are ignored and looked at all the same


class RootUnmounted(Exception):
    """The root is empty and on another disk than all that was seen in it: its own disk is probably not mounted.

    That says nothing about the files. But somebody may have removed them before another disk came there, so it is told
    for as long as it is so; the first file that is made there ends it.
    """

    def __init__(self) -> None:
        super().__init__(
            "the checkout is empty and on another disk than before, as where a disk is not mounted: its files are not "
            "taken for deleted until something is in it"
        )


def compare_all(
    store: Store,
    saved: Callable[[ReadTransaction, PathNames], Mapping[str, SeenStat]],
    root: Path,
    ignore: Ignore,
    could_keep: Callable[[str, Version], bool],
    cancelled: Callable[[], bool],
) -> TreeComparison:
    """Compare. `saved` reads the cache of the disk. Raises `RootUnmounted`, as `crawl`, and as a store that is read.

    `could_keep`: would the settings have the bytes kept now of a head (and its path) whose bytes are not?
    """
    names = PathNames()
    with store.reading() as reading:
        seen = saved(reading, names)
        heads = {disk_path(path): head for path, head in History(reading).paths() if not head.gone}
        standing = {path: bool(head.uncaptured) and could_keep(path, head) for path, head in heads.items()}
    entries = list(crawl(root, ignore, "", cancelled))
    if not entries and _is_bare_of_another_disk(root, seen):
        raise RootUnmounted
    result = compare(seen, entries)
    present = {e.path for e in entries}
    lost = [path for path in standing if path not in seen and path not in present]  # the cache may lack them
    missing = (*result.vanished, *lost)
    hidden = {path for path in missing if ignore.ignored(path, False) and os.path.lexists(root / path)}
    with store.reading() as reading:
        history = History(reading)
        ended = {path for path in hidden if path in heads and _ends(path, heads[path], history)}
    unwatched = {path for path in hidden if path in heads and path not in ended}
    ignored = sorted(path for path in ended if heads[path].uncaptured != IGNORED)
    gone = [path for path in missing if path not in hidden or path in unwatched]
    unread = [path for path, to_keep in standing.items() if path in present and (to_keep or path not in seen)]
    bare = [folder for folder in result.bare if folder not in standing]
    look_at = dict.fromkeys([*result.changed, *gone, *unread, *bare])
    new = {e.path: e.size for e in entries if e.kind == "file" and e.path not in standing}
    return TreeComparison(list(look_at), new, result.files, result.folders, names, ignored, [*unwatched])


def _is_bare_of_another_disk(root: Path, seen: Mapping[str, SeenStat]) -> bool:
    """Is there nothing in the root but our own folder, and was all that is known of it seen on another disk?"""
    disk = os.stat(root).st_dev
    return bool(seen) and all(one.dev != disk for one in seen.values()) and not {*os.listdir(root)} - {HOME}


def _ends(path: str, head: Version, history: History) -> bool:
    """Is it over with a file that is ignored by now? Nobody but other programs ever wrote it, or met it there."""
    if head.uncaptured == IGNORED:
        return True
    if head.entry == FOLDER or head.evidence not in (CAPTURED, SCANNED, WATCHED):
        return False
    return history.continuity(journal_path(path), "outside") == "clean"


NAMES_AT_ONCE: Final = 50_000  # paths whose names are read before anything is answered, in 25 ms; of more, beside it
FIRST_S: Final = 0.1  # before the first scan: who waited for the daemon to start is answered meanwhile
TRY_AGAIN_S: Final = 1.0  # after a scan that broke off; twice as long after each further one
LONGEST_S: Final = 60.0  # but no longer


class _Scan(NamedTuple):
    """A comparison of the whole tree with the journal, to come or under way."""

    at_s: float  # when it is due, monotonic
    reason: str  # as `WorkspaceScanned` tells it
    awaited: bool = False  # it tells of what nobody told of (no daemon, other rules, lost hints): who asks waits
    tries: int = 0  # that broke off
    rewatch: bool = False  # other folders than before may have to be watched

    def instead_of(self, other: _Scan | None) -> _Scan:
        """This one, made for what the other was to come for, too."""
        if other is None:
            return self
        return self._replace(awaited=self.awaited or other.awaited, rewatch=self.rewatch or other.rewatch)


_PERIODIC: Final = _Scan(0.0, "periodic")
RULES: Final = "rules"  # other files than before are ignored, or kept
OVERFLOW: Final = "overflow"  # hints of the watcher were lost


class Scanner:
    """The scan under way, and the next one."""

    def __init__(
        self, observer: Observer, watcher: Watcher, start_job: StartJob, found: Callable[[TreeComparison], None]
    ) -> None:
        """`found`: has everything looked at that a comparison names; `looked` tells of each."""
        self._observer, self._recorder, self._ignore = observer, observer.recorder, observer.ignore
        self._root, self._watcher, self._start_job, self._found = observer.workspace.root, watcher, start_job, found
        self.head: Callable[[], str] = str  # branch and commit at which git's HEAD is
        self._next: _Scan | None = None  # a single one: whatever is asked for meanwhile, it compares everything
        self._in_flight: _Scan | None = None
        self._total = 0
        self._left: set[str] = set()  # paths that it named and that have not been looked at
        self._files = -1  # that it met; -1: the crawl has not come back
        self._changed = 0
        self.captured = False  # the first scan is over
        self.evidence = CAPTURED  # of what a scan finds; what it finds later was not there when the journal began
        self._broke_off = ""  # why the last comparison did
        self._not_mounted = ""  # why no file is taken for deleted; "": the last comparison met some, or the same disk
        self._stopped = False

    # ── when ──

    def open(self) -> None:
        """Compare the tree with the journal for the first time, soon. What happens to it from now on is watched.

        At once where that never came to its end, or the journal knows of no file: who makes a checkpoint of a tree that
        Quire has just been shown means what is there.
        """
        with self._recorder.history() as history:
            captured = history.first_scan() is not None
            known = captured and next(history.path_list(), None) is not None
            named = history.read_names(NAMES_AT_ONCE)
        if captured:
            self.evidence = SCANNED
        if known:
            self._next = _Scan(self._now() + FIRST_S, "start", awaited=True)
            if not named:
                self._start_job(self._read_names, "names")
        else:
            self._begin(_Scan(self._now(), "start"))

    def scan(self, reason: str) -> None:
        """Compare the whole tree with the journal: now, or as soon as the comparison under way has ended.

        After a change of the rules what is not ignored any more is watched before that, and the rest let go.
        """
        pending, rewatch = self._next, reason == RULES
        awaited = reason != _PERIODIC.reason and self.captured
        scan = _Scan(self._now(), reason, awaited=awaited, rewatch=rewatch)
        if pending is not None and pending.reason in ("start", RULES):  # these stay what they are
            scan, pending = pending, scan
        scan = scan.instead_of(pending)
        if self._in_flight is None:
            self._begin(scan)
        else:
            self._next = scan

    def hurry(self) -> None:
        """Somebody waits for what happened before the start: begin to look now, if that has not begun."""
        scan = self._next
        if scan is not None and scan.awaited and not scan.tries and self._in_flight is None:
            self._begin(scan)

    def retime(self) -> None:
        """The settings were read again: they say how often the tree is compared."""
        if self.captured and self._in_flight is None and (self._next or _PERIODIC).reason == _PERIODIC.reason:
            self._next = self._periodic()

    def _periodic(self) -> _Scan | None:
        """The comparison that follows by itself on one that has ended; None: the settings want none."""
        minutes = self._observer.settings.capture.scan_minutes
        return _PERIODIC._replace(at_s=self._now() + minutes * 60) if minutes > 0 else None

    @property
    def next_s(self) -> float:
        """When `look` has something to begin. One that is under way comes to its end by a job."""
        return self._next.at_s if self._next is not None and self._in_flight is None else math.inf

    def look(self, now: float) -> None:
        """Finish the scan whose paths have all been looked at, and begin the one that is due."""
        self._finish()
        if self._next is not None and self._in_flight is None and now >= self._next.at_s:
            self._begin(self._next)

    def stop(self) -> None:
        """Let the comparison end early."""
        self._stopped = True

    # ── its way ──

    def _begin(self, scan: _Scan) -> None:
        """Compare, on a worker thread."""
        self._in_flight, self._next = scan, None
        saved, store = self._recorder.seen.all(), self._recorder.journal.store

        def work() -> Callable[[], None]:
            if scan.rewatch or (scan.reason == _PERIODIC.reason and self._ignore.recheck()):
                self._watcher.rewatch()
            could_keep = self._observer.capture_policy.could_keep
            compared = compare_all(store, saved, self._root, self._ignore, could_keep, lambda: self._stopped)
            self._watcher.cover(compared.folders)
            self._ignore.keep({*compared.folders})
            return partial(self._compared, compared)

        self._start_job(work, "scan", partial(self._not_compared, scan))

    def _not_compared(self, scan: _Scan, error: Exception) -> None:
        """The comparison broke off: it is made again soon, whatever the settings say of others.

        A journal of which the first one cannot be made is of no use: the daemon ends, and the next start checks it.
        """
        wait_s = min(TRY_AGAIN_S * 2**scan.tries, LONGEST_S)
        again = scan._replace(at_s=self._now() + wait_s, tries=min(scan.tries + 1, 10))
        self._next = again.instead_of(self._next)
        self._in_flight, self._files, self._total = None, -1, 0
        self._left.clear()
        if isinstance(error, RootUnmounted):
            self._not_mounted = str(error)
            self._next = self._next._replace(awaited=False)  # nobody waits for a disk
            return
        self._broke_off = str(error)
        if isinstance(error, JournalDamaged) and not self.captured:
            raise JournalDamaged(str(error), everywhere=True) from error
        raise error

    def _compared(self, compared: TreeComparison) -> None:
        """The comparison came back: have looked at what it names."""
        self._not_mounted = self._broke_off = ""
        self._recorder.know_names(compared.names)
        self._found(compared)
        self._left = set(compared.look_at)
        self._total = len(self._left)
        self._files = compared.files
        self._changed = 0
        self._finish()

    def looked(self, path: str, changed: bool) -> None:
        """It has been looked at, or cannot be."""
        if path in self._left:
            self._left.discard(path)
            self._changed += changed

    def _finish(self) -> None:
        """When all that a scan named has been looked at, say so in the log."""
        scan = self._in_flight
        if scan is None or self._files < 0 or self._left:
            return
        self._recorder.note(WorkspaceScanned(scan.reason, self._files, self._changed, head=self.head()))
        self.captured, self.evidence = True, SCANNED
        self._in_flight, self._total = None, 0
        self._files = -1
        self._next = self._next or self._periodic()

    def _read_names(self) -> Callable[[], None]:
        """On a worker thread: all names, so that a question about many paths need not read them."""
        names = PathNames()
        with self._recorder.journal.store.reading() as reading:
            names.all(reading)
        return partial(self._recorder.know_names, names)

    # ── telling ──

    @property
    def awaited(self) -> bool:
        """Does a scan tell of what happened while nobody watched? It is to come, or under way."""
        return any(scan is not None and scan.awaited for scan in (self._next, self._in_flight))

    @property
    def left(self) -> int:
        """How many of the paths that the scan under way named have not been looked at."""
        return len(self._left)

    def progress(self) -> dict[str, Any]:
        """How far the scan under way is."""
        return {
            "finished": self.captured and self._in_flight is None,
            "captured": self.captured,
            "total": self._total,
            "done": self._total - len(self._left),
            "waits_for": self._not_mounted or self._broke_off,
        }

    def reasons(self) -> list[str]:
        """Why what stands in the journal may not be what is there; empty: it is, but for what is watched."""
        found = []
        if self._not_mounted:
            found.append(self._not_mounted)
        elif not self.captured:
            found.append("the first capture of the tree is under way")
        if self._broke_off:
            found.append(f"the comparison of tree and journal broke off, and is tried again: {self._broke_off}")
        return found

    def _now(self) -> float:
        return self._recorder.clock.mono_s()
