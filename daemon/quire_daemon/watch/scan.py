"""Scans: comparisons of the whole tree with the journal, at the start, periodically, and after file events were lost.

A worker thread lists the paths that differ; the scan ends when the main loop (`watch.outside`) has looked at each. A
scan that fails is repeated. A known file that is now ignored is marked as unwatched, unless a tool wrote it or a call
read it (`ignored_files`).
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
    """Result of a comparison. Paths are as on disk."""

    look_at: list[str]
    new: dict[str, int]  # files unknown to the journal → bytes
    files: int  # files found
    folders: list[str]  # folders found
    names: PathNames  # all names of the log, for later queries
    ignored: list[str]  # known files that exist and are no longer watched
    unwatched: list[str]  # known files that are ignored and still looked at


class RootUnmounted(Exception):
    """The root is empty and on another disk than all its files were, so its disk is probably not mounted.

    The files do not count as deleted; the reason is reported until a file appears.
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
    """Compare the tree with the journal. Raises `RootUnmounted`, and the errors of `crawl` and of the store.

    `saved` reads the stat cache. `could_keep`: True if the settings now allow the bytes of this uncaptured version.
    `cancelled`: True ends the comparison (`Cancellation`).
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
    lost = [path for path in standing if path not in seen and path not in present]  # missing from the stat cache
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
    disk = os.stat(root).st_dev
    return bool(seen) and all(one.dev != disk for one in seen.values()) and not {*os.listdir(root)} - {HOME}


def _ends(path: str, head: Version, history: History) -> bool:
    """True if a file that is now ignored is to be marked as unwatched: only other programs wrote it."""
    if head.uncaptured == IGNORED:
        return True
    if head.entry == FOLDER or not (head.evidence in (CAPTURED, SCANNED, WATCHED) or history.is_setup(head.writer)):
        return False
    return history.continuity(journal_path(path), "outside") == "clean"


# number of names read before any call is answered, in 25 ms; more are read on a worker thread
NAMES_AT_ONCE: Final = 50_000
FIRST_S: Final = 0.1  # before the first scan: waiting callers are answered first
TRY_AGAIN_S: Final = 1.0  # after a scan that failed; doubled after each further failure
LONGEST_S: Final = 60.0  # longest such delay


class _Scan(NamedTuple):
    at_s: float  # when it is due, monotonic
    reason: str  # as in `WorkspaceScanned`
    awaited: bool = False  # for unwatched changes (no daemon, other rules, lost hints): callers wait
    tries: int = 0  # number of failures
    rewatch: bool = False  # the watches must be renewed

    def instead_of(self, other: _Scan | None) -> _Scan:
        if other is None:
            return self
        return self._replace(awaited=self.awaited or other.awaited, rewatch=self.rewatch or other.rewatch)


_PERIODIC: Final = _Scan(0.0, "periodic")
RULES: Final = "rules"  # the rules changed
OVERFLOW: Final = "overflow"  # hints were lost


class Scanner:
    """Runs scans, and plans the next one."""

    def __init__(
        self, observer: Observer, watcher: Watcher, start_job: StartJob, found: Callable[[TreeComparison], None]
    ) -> None:
        self._observer, self._recorder, self._ignore = observer, observer.recorder, observer.ignore
        self._root, self._watcher, self._start_job, self._found = observer.workspace.root, watcher, start_job, found
        self.head: Callable[[], str] = str  # branch and commit of git's HEAD
        self._next: _Scan | None = None  # only one: each scan compares everything
        self._in_flight: _Scan | None = None
        self._total = 0
        self._left: set[str] = set()  # paths of the running scan that have not been looked at
        self._files = -1  # files found by the running scan; -1: the crawl is running
        self._changed = 0
        self.captured = False  # the first scan is over
        self.is_first = False  # this run makes the first capture
        self.evidence = CAPTURED  # a later scan finds files that were not there when the journal began
        self._broke_off = ""  # why the last comparison failed
        self._not_mounted = ""  # why missing files do not count as deleted
        self._stopped = False

    # ── when ──

    def open(self) -> None:
        """Plan the first scan. It begins at once if the first capture never ended or the journal has no file, so that
        even an early checkpoint contains the tree.
        """
        with self._recorder.history() as history:
            captured = history.first_scan() is not None
            known = captured and next(history.path_list(), None) is not None
            named = history.read_names(NAMES_AT_ONCE)
        self.is_first = not captured
        if captured:
            self.evidence = SCANNED
        if known:
            self._next = _Scan(self._now() + FIRST_S, "start", awaited=True)
            if not named:
                self._start_job(self._read_names, "names")
        else:
            self._begin(_Scan(self._now(), "start"))

    def scan(self, reason: str) -> None:
        """Scan now, or right after the running scan. If `reason` is changed ignore rules, folders are watched anew
        first.
        """
        pending, rewatch = self._next, reason == RULES
        awaited = reason != _PERIODIC.reason and self.captured
        scan = _Scan(self._now(), reason, awaited=awaited, rewatch=rewatch)
        if pending is not None and pending.reason in ("start", RULES):  # these keep their reason
            scan, pending = pending, scan
        scan = scan.instead_of(pending)
        if self._in_flight is None:
            self._begin(scan)
        else:
            self._next = scan

    def hurry(self) -> None:
        """Start the first scan now if it has not begun, because a caller waits."""
        scan = self._next
        if scan is not None and scan.awaited and not scan.tries and self._in_flight is None:
            self._begin(scan)

    def retime(self) -> None:
        if self.captured and self._in_flight is None and (self._next or _PERIODIC).reason == _PERIODIC.reason:
            self._next = self._periodic()

    def _periodic(self) -> _Scan | None:
        minutes = self._observer.settings.capture.scan_minutes
        return _PERIODIC._replace(at_s=self._now() + minutes * 60) if minutes > 0 else None

    @property
    def next_s(self) -> float:
        """Monotonic time when the next scan is due; infinity while one runs."""
        return self._next.at_s if self._next is not None and self._in_flight is None else math.inf

    def look(self, now: float) -> None:
        """Finish the running scan if all its paths have been looked at; begin the next scan if it is due at `now`
        (monotonic).
        """
        if self._in_flight is not None:
            self._finish()
        if self._next is not None and self._in_flight is None and now >= self._next.at_s:
            self._begin(self._next)

    def stop(self) -> None:
        self._stopped = True

    # ── its way ──

    def _begin(self, scan: _Scan) -> None:
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
        """Plan a failed scan again soon. Damage to the journal during the first scan is raised as damage to the whole
        store: the daemon ends, and the next start checks the journal.
        """
        wait_s = min(TRY_AGAIN_S * 2**scan.tries, LONGEST_S)
        again = scan._replace(at_s=self._now() + wait_s, tries=min(scan.tries + 1, 10))
        self._next = again.instead_of(self._next)
        self._in_flight, self._files, self._total = None, -1, 0
        self._left.clear()
        if isinstance(error, RootUnmounted):
            self._not_mounted = str(error)
            self._next = self._next._replace(awaited=False)  # no caller waits for a disk
            return
        self._broke_off = str(error)
        if isinstance(error, JournalDamaged) and not self.captured:
            raise JournalDamaged(str(error), everywhere=True) from error
        raise error

    def _compared(self, compared: TreeComparison) -> None:
        self._not_mounted = self._broke_off = ""
        self._recorder.know_names(compared.names)
        self._found(compared)
        self._left = set(compared.look_at)
        self._total = len(self._left)
        self._files = compared.files
        self._changed = 0
        self._finish()

    def looked(self, path: str, changed: bool) -> None:
        if path in self._left:
            self._left.discard(path)
            self._changed += changed

    def _finish(self) -> None:
        scan = self._in_flight
        if scan is None or self._files < 0 or self._left:
            return
        self._recorder.note(WorkspaceScanned(scan.reason, self._files, self._changed, head=self.head()))
        self.captured, self.evidence = True, SCANNED
        self._in_flight, self._total = None, 0
        self._files = -1
        self._next = self._next or self._periodic()

    def _read_names(self) -> Callable[[], None]:
        names = PathNames()
        with self._recorder.journal.store.reading() as reading:
            names.all(reading)
        return partial(self._recorder.know_names, names)

    # ── telling ──

    @property
    def awaited(self) -> bool:
        """True if a scan for which callers wait, as it may find unwatched changes, is planned or running."""
        return any(scan is not None and scan.awaited for scan in (self._next, self._in_flight))

    @property
    def left(self) -> int:
        return len(self._left)

    def progress(self) -> dict[str, Any]:
        return {
            "finished": self.captured and self._in_flight is None,
            "captured": self.captured,
            "total": self._total,
            "done": self._total - len(self._left),
            "waits_for": self._not_mounted or self._broke_off,
        }

    def reasons(self) -> list[str]:
        """Return why the journal may not match the disk, apart from pending events; empty if it does."""
        found = []
        if self._not_mounted:
            found.append(self._not_mounted)
        elif not self.captured:
            found.append("the first capture of the tree is under way")
        if self._broke_off:
            found.append(f"the comparison of tree and journal failed and is repeated: {self._broke_off}")
        return found

    def _now(self) -> float:
        return self._recorder.clock.mono_s()
