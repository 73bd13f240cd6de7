"""What others do to the tree: the watcher's hints and the scans' differences, looked at and journaled.

The watcher is a hint, the scan is the truth. Both only name paths; `Gather.reconcile` looks at each and notes
what differs. A turn of the loop spends a bounded time here, so that a `git checkout` of thousands of files does
not hold up an edit. A path that is held open for writing is looked at again until it has been closed; when that
takes too long, what is there is recorded as unfinished, and looked at again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from quire_daemon.ahead import Ahead
from quire_daemon.config import WORKSPACE_FILE
from quire_daemon.crawl import crawl
from quire_daemon.gather import RETRY_S, Gather, HeldOpen, Observation
from quire_daemon.ignore import Ignore
from quire_daemon.reconcile import Seen, compare, with_moves
from quire_daemon.recorder import Recorder
from quire_daemon.watcher import Watcher
from quire_daemon.workspace import Signature
from quire_journal.events import FOLDER, Event, OutsideMoved, OutsideWritten, WatchLost, WorkspaceScanned
from quire_journal.history import History
from quire_journal.ids import disk_path, journal_path
from quire_journal.log import Damaged, StoreFailed
from quire_journal.path_names import PathNames
from quire_journal.refusals import Refused
from quire_journal.views.files import Version

SLICE_S = 0.006  # of one turn, spent on looking while callers wait
IDLE_SLICE_S = 0.04  # and while nobody does: fewer, larger commits
COMMIT_EVERY = 512  # outside versions in one transaction
AHEAD_EVERY = 2048  # the same, of files that were read ahead
HURRIED_AHEAD = 48  # and while callers wait
UNFINISHED_S = 0.25  # after which a file that stays open is recorded as it is
BARE_S = 0.015  # before an empty folder is recorded: mostly something is just put into it, or it is going as well
FIRST_S = 0.1  # before the first scan: who waited for the daemon to start is answered meanwhile
AGAIN_S = 1.0  # and how often it is looked at from then on; until then `RETRY_S`


class Outside:
    """Paths to look at, in the order in which they are due."""

    def __init__(
        self,
        gather: Gather,
        recorder: Recorder,
        watcher: Watcher,
        ignore: Ignore,
        root: Path,
        start_job: Callable[..., None],  # `Jobs.start`
        reload: Callable[[], None],
    ) -> None:
        self._gather, self._recorder, self._watcher, self._ignore, self._root = gather, recorder, watcher, ignore, root
        self._start_job = start_job
        self._reload = reload  # the settings file changed
        self._due: list[tuple[float, int, str]] = []  # (monotonic s, tie, path)
        self._dirty: dict[str, tuple[float, str]] = {}  # path → (first named, evidence)
        self._tie = 0
        self._scanning = ""  # the reason of the scan under way
        self._scan_asked = ""
        self._scan_total = 0
        self._scan_left: set[str] = set()
        self._scan_files = -1  # -1: the crawl has not come back
        self._scan_changed = 0
        self._captured = False  # the first scan is over
        self._first_scan_s = 0.0  # when it is due; 0: it has begun, or nobody asked for it
        self._missed = False  # what happened before the start, to files that are known, has not been looked at
        self._next_scan_s = 0.0
        self._failed: Damaged | StoreFailed | None = None  # of a scan; the next look raises it
        self._stopped = False
        self._moves: list[tuple[str, str]] = []  # hints whose ends are not both looked at
        self._crawling: set[object] = set()  # crawls of folders that have not come back
        self._ahead = Ahead(gather.read_ahead, start_job, lambda path: self.name(path, "captured", self._now()))

    # ── naming paths ──

    def name(self, path: str, evidence: str, now: float, at: float | None = None) -> None:
        """Look at `path` soon."""
        self._ahead.forget(path)
        if path not in self._dirty:
            self._dirty[path] = (now, evidence)
        self._tie += 1
        heapq.heappush(self._due, (now if at is None else at, self._tie, path))

    def landed(self, path: str, signature: Signature | None, blob: bytes) -> None:
        """A write of ours stands at `path`: what the watcher will tell of it is known already."""
        if signature is None or not blob:
            self._recorder.seen.tell({path: None})
            return
        s = signature
        now_ns = self._recorder.clock.now_ns()
        self._recorder.seen.tell({path: Seen(s.dev, s.ino, s.size, s.mtime_ns, s.ctime_ns, s.mode, blob, now_ns)})

    def idle(self) -> bool:
        """Has everything been looked at that the watcher told of, or that happened while nobody watched?

        A first capture does not count: it may take minutes, and replies say that it goes on.
        """
        if self._missed or self._crawling or self._watcher.has_news():
            return False
        return not self._dirty or (bool(self._scan_left) and len(self._dirty) == len(self._scan_left))

    def next_look_s(self, now: float) -> float:
        """When the loop should come here again, at the latest."""
        if self._ahead.ready:
            return now
        periodic = self._next_scan_s if self._gather.settings.capture.scan_minutes > 0 else 0.0
        at = self._first_scan_s or periodic or now + 60
        return min(at, self._due[0][0]) if self._due else at

    # ── looking ──

    def look(self, now: float, hurried: bool) -> None:
        """Take the watcher's hints and look at what is due, for one slice of time. `hurried`: callers wait."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed
        self._take_hints(now)
        end = now + (SLICE_S if hurried else IDLE_SLICE_S)
        observed: list[Observation] = []
        while self._due and self._due[0][0] <= now:
            _, _, path = heapq.heappop(self._due)
            if path in self._dirty:
                observed += self._look_at(path, now)
            if len(observed) >= COMMIT_EVERY or self._now() > end:
                break
        try:
            self._record(observed)
        except StoreFailed:
            self._name_again([one.path for one in observed], now)
            raise
        self._record_ahead(now, HURRIED_AHEAD if hurried else AHEAD_EVERY)
        self._finish_scan()
        if self._first_scan_s and now >= self._first_scan_s:
            self.scan("start")
        minutes = self._gather.settings.capture.scan_minutes
        if self._captured and minutes > 0 and now >= self._next_scan_s:
            for folder in self._ignore.recheck():
                self._watcher.rewatch(folder)
            self.scan("periodic")

    def _look_at(self, path: str, now: float) -> list[Observation]:
        """Look at one path; empty when it has to wait, or is not ours to look at."""
        since, evidence = self._dirty[path]
        patient = now - since < UNFINISHED_S
        named_ns = self._recorder.clock.now_ns() - int((now - since) * 1e9) if evidence != "scanned" else 0
        try:
            observation = self._gather.observe(path, evidence, not patient, named_ns)
        except HeldOpen:
            self.name(path, evidence, now, now + (RETRY_S if patient else AGAIN_S))
            return []
        except Refused:
            self._looked(path, False)  # it leads out through a link, or into .git: not part of the workspace
            return []
        if now - since < BARE_S and evidence == "watched" and _is_bare_folder(observation.event):
            self.name(path, evidence, now, since + BARE_S)
            return []
        self._looked(path, observation.event is not None)
        parent = path.rpartition("/")[0]
        if observation.sighting.disk.kind == "missing" and parent:
            self.name(parent, evidence, now)  # it may be empty now, or gone as well
        if observation.sighting.disk.unfinished:
            self.name(path, evidence, now, now + AGAIN_S)  # until it has been closed
        return [observation]

    def _record_ahead(self, now: float, most: int) -> None:
        """Commit new files that the workers have read."""
        found = self._ahead.take(most) if self._ahead.ready else []
        if not found:
            return
        left = set(self._gather.note_ahead(found, "captured"))
        for one in found:
            if one.path in left:
                self.name(one.path, "captured", now)
            else:
                self._looked(one.path, True)
        try:
            self._recorder.commit()
        except StoreFailed:
            self._name_again([one.path for one in found], now)
            raise
        if self._ahead.over:
            self._gather.end_reading()

    def _name_again(self, paths: Sequence[str], now: float) -> None:
        """The store took nothing of what was seen there: it is looked at again."""
        for path in paths:
            self.name(path, "scanned", now, now + AGAIN_S)

    def _looked(self, path: str, changed: bool) -> None:
        del self._dirty[path]
        if path in self._scan_left:
            self._scan_left.discard(path)
            self._scan_changed += changed

    def _record(self, observed: list[Observation]) -> None:
        """Commit what was found; two ends that the watcher's hints connect become one move."""
        if not observed:
            if not self._dirty:
                self._moves.clear()
            return
        events = [o.event for o in observed if o.event is not None]
        if events and self._moves:
            heads = {journal_path(o.path): o.head for o in observed if o.head is not None}
            by_path = {
                getattr(e, "to", None) or getattr(e, "path", ""): e for e in with_moves(events, heads, self._moves)
            }
        else:
            by_path = {_at(e): e for e in events}
        for observation in observed:
            self._gather.note(observation, by_path.get(journal_path(observation.path)))
        if events:
            self._recorder.commit()
        if not self._dirty:
            self._moves.clear()

    def _take_hints(self, now: float) -> None:
        """Name what the watcher told of.

        Of a write of ours it tells that a name went and came. Where the file stands there that we put there, as we put
        it, that is all there was: whoever has it open since, and stores something, is told of by an event of the file.
        """
        if not self._watcher.has_news():
            return
        batch = self._watcher.drain()
        settings = False
        for path in batch.dirty:
            governed = self._ignore.governs(path)
            if governed is not None:
                self._ignore.forget(governed)
                self._watcher.rewatch(governed)
                self.scan("rules")
            settings |= path == WORKSPACE_FILE
            if path in batch.touched or not self._gather.stands(path):
                self.name(path, "watched", now)
        self._moves += [(journal_path(a), journal_path(b)) for a, b in batch.moved]
        for pair in batch.moved:
            for path in pair:
                self.name(path, "watched", now)
        for folder in batch.folders:
            self._crawl_folder(folder, now, "scanned" if folder in batch.unseen else "watched")
        if batch.overflowed:
            self._recorder.note(WatchLost("overflow"))
            self.scan("overflow")
        if settings:
            self._reload()  # when all that was told is named: whatever stands in the file, no hint is lost by it

    def _crawl_folder(self, folder: str, now: float, evidence: str) -> None:
        """A folder came into being: everything in it may have been written before it was watched.

        Only what came with it, or after it, is known to be as young as that (`evidence` "watched").
        """
        with self._recorder.history() as history:  # by the names on disk: an escaped one begins with no folder
            inside = ((p, disk_path(p)) for _, p in history.path_list())
            heads = [
                disk for p, disk in inside if not folder or disk.startswith(folder + "/") if _stands(history.file(p))
            ]
        for path in (folder, *heads) if folder else heads:
            self.name(path, evidence, now)

        crawling = object()
        self._crawling.add(crawling)

        def work() -> Callable[[], None]:
            try:
                entries = list(crawl(self._root, self._ignore, folder, lambda: self._stopped))
                self._watcher.cover([e.path for e in entries if e.kind == "folder"])
            except Exception:
                self._crawling.discard(crawling)  # there is nothing to wait for
                raise
            inhabited = {e.path.rpartition("/")[0] for e in entries}
            found = [e.path for e in entries if e.kind != "folder" or e.path not in inhabited]

            def then() -> None:
                mono = self._recorder.clock.mono_s()
                for path in found:
                    self.name(path, evidence, mono)
                self._crawling.discard(crawling)

            return then

        self._start_job(work)

    # ── scanning ──

    def open(self) -> None:
        """Compare the tree with the journal for the first time, soon. What happens to it from now on is watched.

        At once where the journal knows of no file: who makes a checkpoint of a tree that Quire has just been shown
        means what is there.
        """
        with self._recorder.history() as history:
            self._missed = next(history.path_list(), None) is not None
        if self._missed:
            self._first_scan_s = self._now() + FIRST_S
            self._start_job(self._read_names)
        else:
            self.scan("start")

    def hurry(self) -> None:
        """Somebody waits for what happened before the start: begin to look now, if that has not begun."""
        if self._first_scan_s:
            self.scan("start")

    def _read_names(self) -> Callable[[], None]:
        """On a worker thread: all names, so that the first question about many paths need not read them."""
        names = PathNames()
        try:
            with self._recorder.journal.store.reading() as reading:
                names.all(reading)
        except (Damaged, StoreFailed) as error:
            return partial(self._fail, error)
        return partial(self._recorder.know_names, names)

    def scan(self, reason: str) -> None:
        """Compare the whole tree with the journal, on a worker thread."""
        if self._scanning:
            self._scan_asked = reason
            return
        if self._first_scan_s:
            self._first_scan_s, reason = 0.0, "start"
        self._scanning = reason
        self._next_scan_s = self._recorder.clock.mono_s() + max(self._gather.settings.capture.scan_minutes, 0) * 60
        saved, store = self._recorder.seen.all(), self._recorder.journal.store

        def work() -> Callable[[], None]:
            names = PathNames()
            try:
                with store.reading() as reading:
                    seen = saved(reading, names)
                    standing = {disk_path(path): head for path, head in History(reading).paths() if not head.gone}
            except (Damaged, StoreFailed) as error:
                return partial(self._not_read, error)
            heads = standing.keys()
            entries = list(crawl(self._root, self._ignore, "", lambda: self._stopped))
            result = compare(seen, entries)
            self._watcher.cover(result.folders)
            present = {e.path for e in entries}
            lost = [path for path in heads if path not in seen and path not in present]  # the cache may lack them
            unread = [path for path in heads & present if path not in seen]
            bare = [folder for folder in result.bare if folder not in standing]
            look_at = dict.fromkeys([*result.changed, *result.vanished, *lost, *unread, *bare])
            new = {e.path: e.size for e in entries if e.kind == "file" and e.path not in standing}

            def then() -> None:
                self._recorder.know_names(names)
                self._scanned(list(look_at), new, result.files)

            return then

        self._start_job(work, "scan", self._not_compared)

    def _not_read(self, error: Damaged | StoreFailed) -> None:
        """The journal could not be read for a scan. One that fails at the start ends the daemon, and it is checked."""
        if not self._captured:
            raise error
        self._scanning = ""
        self._fail(error)

    def _fail(self, error: Damaged | StoreFailed) -> None:
        """What a thread could not read is told by the next look."""
        self._failed = error

    def _not_compared(self, fault: object) -> None:
        """The comparison itself broke off, and is logged: another is tried soon."""
        self._scanning = ""
        soon = self._now() + AGAIN_S
        if self._captured:
            self._next_scan_s = soon
        else:
            self._first_scan_s = soon

    def _scanned(self, look_at: list[str], new: Mapping[str, int], files: int) -> None:
        """The crawl came back: look at `look_at`. Of the files `new`, with their sizes, the journal knows nothing."""
        now = self._now()
        evidence = "captured" if self._scanning == "start" and not self._captured else "scanned"
        ahead: dict[str, int] = {}
        if evidence == "captured":
            ahead = {path: new[path] for path in look_at if path in new and path not in self._dirty}
            self._dirty.update(dict.fromkeys(ahead, (now, evidence)))
        for path in look_at:
            if path not in self._dirty:
                self.name(path, evidence, now)
        self._gather.begin_reading(len(ahead))
        self._ahead.begin(ahead)
        self._scan_left = set(look_at)
        self._scan_total = len(self._scan_left)
        self._scan_files = files
        self._scan_changed = 0
        self._finish_scan()

    def _finish_scan(self) -> None:
        """When all that a scan named has been looked at, say so in the log."""
        if not self._scanning or self._scan_files < 0 or self._scan_left:
            return
        self._recorder.note(WorkspaceScanned(self._scanning, self._scan_files, self._scan_changed))
        self._captured, self._missed = True, False
        self._scanning, self._scan_total = "", 0
        self._scan_files = -1
        asked, self._scan_asked = self._scan_asked, ""
        if asked:
            self.scan(asked)

    # ── telling ──

    def progress(self) -> dict[str, Any]:
        """How far the scan under way is."""
        return {
            "finished": self._captured and not self._scanning,
            "captured": self._captured,
            "total": self._scan_total,
            "done": self._scan_total - len(self._scan_left),
        }

    def coverage(self) -> dict[str, Any]:
        """Does the journal see everything? With the reasons where it does not."""
        health = self._watcher.health()
        reasons = list(health.reasons)
        if not self._captured:
            reasons.append("the first capture of the tree is under way")
        return {"state": "degraded" if reasons else "full", "reasons": reasons}

    def _now(self) -> float:
        return self._recorder.clock.mono_s()

    def stop(self) -> None:
        """Let crawls, and what is read ahead, end early."""
        self._stopped = True
        self._gather.end_reading()


def _is_bare_folder(event: Event | None) -> bool:
    return isinstance(event, OutsideWritten) and event.entry == FOLDER


def _stands(head: Version | None) -> bool:
    return head is not None and not head.gone


def _at(event: Event) -> str:
    """The path that an event is told at: of a move, the new one."""
    if isinstance(event, OutsideMoved):
        return event.to
    path: str = getattr(event, "path")  # noqa: B009  every other event of this module has one
    return path
